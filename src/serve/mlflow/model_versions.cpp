#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "serve/mlflow/entities.hpp"
#include "serve/mlflow/handlers.hpp"
#include "serve/mlflow/message.hpp"
#include "serve/mlflow/page_token.hpp"
#include "serve/mlflow/registry_names.hpp"
#include "serve/mlflow/version_source.hpp"
#include "serve/mlflow/views.hpp"

namespace plimsoll::serve::mlflow {
namespace {

constexpr Field kNameAndVersion[] = {{"name", Type::text, true}, {"version", Type::text, true}};

/// Which version is meant.
struct Which {
  std::string name;
  std::int64_t number = 0;
};

Outcome<Which> which_of(const Message& message) {
  Which out{.name = message.text("name")};
  PLIMSOLL_TRY(check_registered_name(out.name));
  PLIMSOLL_TAKE(number, version_of(message.text("version")));
  out.number = number;
  return out;
}

Response version_response(const store::ModelVersion& version) {
  JsonWriter out;
  out.begin_object().key("model_version");
  write(out, version);
  out.end_object();
  return json_response(out.take());
}

Outcome<store::ModelVersion> find_version(Api& api, const Which& which) {
  Result<store::ModelVersion> version = api.store().registry().version(which.name, which.number);
  if (!version) return std::unexpected(no_model_version(version.error(), which.name, which.number));
  return std::move(*version);
}

Outcome<store::ModelVersion> change_version(Api& api, const Which& which,
                                            const store::ModelVersionChange& change) {
  Result<store::ModelVersion> version =
      api.store().registry().change_version(which.name, which.number, change);
  if (!version) return std::unexpected(no_model_version(version.error(), which.name, which.number));
  return std::move(*version);
}

/// The logged model's tag that lists the versions made of it, as MLflow's pages read it. The version stands
/// by itself: where this cannot be written it is left.
void note_version(Api& api, const store::ModelVersion& version) {
  constexpr const char* kTag = "mlflow.modelVersions";
  constexpr std::size_t kLongest = std::size_t{60} << 10;
  const std::scoped_lock lock(api.tag_edit());
  const Result<store::LoggedModel> model = api.store().model(version.logged_model);
  if (!model) return;
  nlohmann::json list = nlohmann::json::array();
  if (const auto before = model->tags.find(kTag); before != model->tags.end())
    list = nlohmann::json::parse(before->second, nullptr, false);
  if (!list.is_array()) return;
  const nlohmann::json entry = {{"name", version.model}, {"version", version.version}};
  if (std::ranges::find(list, entry) != list.end()) return;
  list.push_back(entry);
  std::string text;  // to the letter as MLflow writes it, for who compares
  for (const nlohmann::json& each : list) {
    const auto part = [&](const char* name) {
      const auto found = each.is_object() ? each.find(name) : each.end();
      return found == each.end() ? std::string("null")
                                 : found->dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    };
    text += fmt::format(R"({}{{"name": {}, "version": {}}})", text.empty() ? "" : ", ", part("name"),
                        part("version"));
  }
  text = "[" + text + "]";
  if (text.size() <= kLongest)
    static_cast<void>(api.store().change_model(version.logged_model, {.tags = {{kTag, text}}}));
}

}  // namespace

Outcome<Response> create_model_version(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"name", Type::text, true},
                                      {"source", Type::text, true},
                                      {"run_id"},
                                      {"tags", Type::list},
                                      {"run_link"},
                                      {"description"},
                                      {"model_id"}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  store::NewModelVersion fresh{.model = message.text("name"),
                               .description = message.text("description"),
                               .run_link = message.text("run_link")};
  PLIMSOLL_TRY(check_registered_name(fresh.model));
  PLIMSOLL_TAKE(tags, message.pairs("tags"));
  PLIMSOLL_TRY(check_registry_tags(tags));
  fresh.tags = std::move(tags);
  PLIMSOLL_TAKE(origin, origin_of(api, message.text("source"), message.find_text("run_id"),
                                  message.find_text("model_id")));
  fresh.source = std::move(origin.source);
  fresh.location = std::move(origin.location);
  fresh.run = std::move(origin.run);
  fresh.logged_model = std::move(origin.logged_model);
  const Result<store::ModelVersion> version = api.store().registry().create_version(fresh);
  if (!version) return std::unexpected(no_registered_model(version.error(), fresh.model));
  if (!version->logged_model.empty()) note_version(api, *version);
  return version_response(*version);
}

Outcome<Response> get_model_version(Api& api, Call& call) {
  PLIMSOLL_TAKE(document, Document::read(call.request, kNameAndVersion));
  PLIMSOLL_TAKE(which, which_of(document.message()));
  PLIMSOLL_TAKE(version, find_version(api, which));
  return version_response(version);
}

Outcome<Response> get_model_version_by_alias(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"name", Type::text, true}, {"alias", Type::text, true}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const std::string name = document.message().text("name"), alias = document.message().text("alias");
  PLIMSOLL_TRY(check_registered_name(name));
  PLIMSOLL_TRY(check_alias(alias));
  PLIMSOLL_TAKE(version, version_by_alias(api, name, alias));
  return version_response(version);
}

Outcome<Response> update_model_version(Api& api, Call& call) {
  static constexpr Field kFields[] = {
      {"name", Type::text, true}, {"version", Type::text, true}, {"description"}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  PLIMSOLL_TAKE(which, which_of(document.message()));
  PLIMSOLL_TAKE(version, change_version(api, which, {.description = document.message().text("description")}));
  return version_response(version);
}

Outcome<Response> transition_model_version(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"name", Type::text, true},
                                      {"version", Type::text, true},
                                      {"stage", Type::text, true},
                                      {"archive_existing_versions", Type::boolean}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  PLIMSOLL_TAKE(which, which_of(message));
  PLIMSOLL_TAKE(stage, stage_of(message.text("stage")));
  const bool archives = message.boolean("archive_existing_versions").value_or(false);
  if (archives && stage != store::ModelStage::staging && stage != store::ModelStage::production)
    return invalid(
        "Model version transition cannot archive existing model versions because '{}' is not an Active "
        "stage. Valid stages are ['Staging', 'Production']",
        printable(message.text("stage")));
  PLIMSOLL_TAKE(version, change_version(api, which, {.stage = stage, .archives_others = archives}));
  return version_response(version);
}

Outcome<Response> delete_model_version(Api& api, Call& call) {
  PLIMSOLL_TAKE(document, Document::read(call.request, kNameAndVersion));
  PLIMSOLL_TAKE(which, which_of(document.message()));
  if (const Status removed = api.store().registry().remove_version(which.name, which.number); !removed)
    return std::unexpected(no_model_version(removed.error(), which.name, which.number));
  return empty_response();
}

Outcome<Response> search_model_versions(Api& api, Call& call) {
  static constexpr Field kFields[] = {
      {"filter"}, {"max_results", Type::integer}, {"order_by", Type::texts}, {"page_token"}};
  constexpr std::size_t kUsualVersions = 10'000, kMostVersions = 200'000;
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  PLIMSOLL_TAKE(paging, paging_of(message, kUsualVersions, kMostVersions));
  PLIMSOLL_TAKE(versions, api.store().registry().search_versions({.filter = message.text("filter"),
                                                                  .order_by = message.texts("order_by"),
                                                                  .limit = paging.limit + 1,
                                                                  .offset = paging.offset}));
  JsonWriter out;
  out.begin_object().key("model_versions").begin_array();
  for (std::size_t i = 0; i < std::min(versions.size(), paging.limit); ++i) write(out, versions[i]);
  out.end_array();
  if (versions.size() > paging.limit) out.member("next_page_token", page_token(paging.offset + paging.limit));
  out.end_object();
  return json_response(out.take());
}

Outcome<Response> get_download_uri(Api& api, Call& call) {
  PLIMSOLL_TAKE(document, Document::read(call.request, kNameAndVersion));
  PLIMSOLL_TAKE(which, which_of(document.message()));
  PLIMSOLL_TAKE(version, find_version(api, which));
  JsonWriter out;
  out.begin_object().member("artifact_uri", version.location).end_object();
  return json_response(out.take());
}

Outcome<Response> set_model_version_tag(Api& api, Call& call) {
  static constexpr Field kFields[] = {
      {"name", Type::text, true}, {"version", Type::text, true}, {"key", Type::text, true}, {"value"}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  PLIMSOLL_TAKE(which, which_of(message));
  PLIMSOLL_TRY(check_registry_tag(message.text("key"), message.text("value")));
  PLIMSOLL_TRY(change_version(api, which, {.tags = {{message.text("key"), message.text("value")}}}));
  return empty_response();
}

Outcome<Response> delete_model_version_tag(Api& api, Call& call) {
  static constexpr Field kFields[] = {
      {"name", Type::text, true}, {"version", Type::text, true}, {"key", Type::text, true}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  PLIMSOLL_TAKE(which, which_of(message));
  PLIMSOLL_TRY(check_registry_tag(message.text("key"), {}));
  PLIMSOLL_TRY(change_version(api, which, {.tags_removed = {message.text("key")}}));
  return empty_response();
}

}  // namespace plimsoll::serve::mlflow
