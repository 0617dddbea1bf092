#include <algorithm>

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

constexpr Field kRegisteredName[] = {{"name", Type::text, true}};

Response registered_response(const store::RegisteredModel& model) {
  JsonWriter out;
  out.begin_object().key("registered_model");
  write(out, model);
  out.end_object();
  return json_response(out.take());
}

Outcome<store::RegisteredModel> find_registered(Api& api, const std::string& name) {
  PLIMSOLL_TRY(check_registered_name(name));
  Result<store::RegisteredModel> model = api.store().registry().model(name);
  if (!model) return std::unexpected(no_registered_model(model.error(), name));
  return std::move(*model);
}

Outcome<store::RegisteredModel> change_registered(Api& api, const std::string& name,
                                                  const store::RegisteredModelChange& change) {
  PLIMSOLL_TRY(check_registered_name(name));
  Result<store::RegisteredModel> model = api.store().registry().change(name, change);
  if (model) return std::move(*model);
  if (change.name && model.error().kind == Error::Kind::exists_already)
    return refuse(Code::resource_already_exists, "Registered Model (name={}) already exists.",
                  printable(*change.name));
  return std::unexpected(no_registered_model(model.error(), name));
}

}  // namespace

Outcome<Response> create_registered_model(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"name", Type::text, true}, {"tags", Type::list}, {"description"}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  store::NewRegisteredModel fresh{.name = message.text("name"), .description = message.text("description")};
  PLIMSOLL_TRY(check_registered_name(fresh.name));
  PLIMSOLL_TAKE(tags, message.pairs("tags"));
  PLIMSOLL_TRY(check_registry_tags(tags));
  fresh.tags = std::move(tags);
  const Result<store::RegisteredModel> model = api.store().registry().create(fresh);
  if (!model && model.error().kind == Error::Kind::exists_already)
    return refuse(Code::resource_already_exists, "Registered Model (name={}) already exists.",
                  printable(fresh.name));
  if (!model) return std::unexpected(fault_of(model.error()));
  return registered_response(*model);
}

Outcome<Response> get_registered_model(Api& api, Call& call) {
  PLIMSOLL_TAKE(document, Document::read(call.request, kRegisteredName));
  PLIMSOLL_TAKE(model, find_registered(api, document.message().text("name")));
  return registered_response(model);
}

Outcome<Response> rename_registered_model(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"name", Type::text, true}, {"new_name", Type::text, true}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const std::string name = document.message().text("new_name");
  PLIMSOLL_TRY(check_registered_name(name, "new_name"));
  PLIMSOLL_TAKE(model, change_registered(api, document.message().text("name"), {.name = name}));
  return registered_response(model);
}

Outcome<Response> update_registered_model(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"name", Type::text, true}, {"description"}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  PLIMSOLL_TAKE(model, change_registered(api, document.message().text("name"),
                                         {.description = document.message().text("description")}));
  return registered_response(model);
}

Outcome<Response> delete_registered_model(Api& api, Call& call) {
  PLIMSOLL_TAKE(document, Document::read(call.request, kRegisteredName));
  const std::string name = document.message().text("name");
  PLIMSOLL_TRY(check_registered_name(name));
  if (const Status removed = api.store().registry().remove(name); !removed)
    return std::unexpected(no_registered_model(removed.error(), name));
  return empty_response();
}

Outcome<Response> search_registered_models(Api& api, Call& call) {
  static constexpr Field kFields[] = {
      {"filter"}, {"max_results", Type::integer}, {"order_by", Type::texts}, {"page_token"}};
  constexpr std::size_t kUsualModels = 100, kMostModels = 1000;
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  PLIMSOLL_TAKE(paging, paging_of(message, kUsualModels, kMostModels));
  PLIMSOLL_TAKE(models, api.store().registry().search({.filter = message.text("filter"),
                                                       .order_by = message.texts("order_by"),
                                                       .limit = paging.limit + 1,
                                                       .offset = paging.offset}));
  JsonWriter out;
  out.begin_object().key("registered_models").begin_array();
  for (std::size_t i = 0; i < std::min(models.size(), paging.limit); ++i) write(out, models[i]);
  out.end_array();
  if (models.size() > paging.limit) out.member("next_page_token", page_token(paging.offset + paging.limit));
  out.end_object();
  return json_response(out.take());
}

Outcome<Response> get_latest_versions(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"name", Type::text, true}, {"stages", Type::texts}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  PLIMSOLL_TAKE(model, find_registered(api, document.message().text("name")));
  std::vector<store::ModelStage> stages;
  for (const std::string& text : document.message().texts("stages")) {
    PLIMSOLL_TAKE(stage, stage_of(text));
    stages.push_back(stage);
  }
  JsonWriter out;
  out.begin_object().key("model_versions").begin_array();
  for (const store::ModelVersion& version : model.latest)
    if (stages.empty() || std::ranges::find(stages, version.stage) != stages.end()) write(out, version);
  out.end_array().end_object();
  return json_response(out.take());
}

Outcome<Response> set_registered_model_tag(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"name", Type::text, true}, {"key", Type::text, true}, {"value"}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  PLIMSOLL_TRY(check_registry_tag(message.text("key"), message.text("value")));
  PLIMSOLL_TRY(
      change_registered(api, message.text("name"), {.tags = {{message.text("key"), message.text("value")}}}));
  return empty_response();
}

Outcome<Response> delete_registered_model_tag(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"name", Type::text, true}, {"key", Type::text, true}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  PLIMSOLL_TRY(check_registry_tag(message.text("key"), {}));
  PLIMSOLL_TRY(change_registered(api, message.text("name"), {.tags_removed = {message.text("key")}}));
  return empty_response();
}

Outcome<Response> set_model_alias(Api& api, Call& call) {
  static constexpr Field kFields[] = {
      {"name", Type::text, true}, {"alias", Type::text, true}, {"version", Type::text, true}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  const std::string name = message.text("name"), alias = message.text("alias");
  PLIMSOLL_TRY(check_registered_name(name));
  PLIMSOLL_TRY(check_alias(alias));
  PLIMSOLL_TRY(check_alias_is_free(alias));
  PLIMSOLL_TAKE(version, version_of(message.text("version")));
  const auto changed = api.store().registry().change(name, {.aliases = {{alias, version}}});
  if (!changed) return std::unexpected(no_model_version(changed.error(), name, version));
  return empty_response();
}

Outcome<Response> delete_model_alias(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"name", Type::text, true}, {"alias", Type::text, true}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  PLIMSOLL_TRY(check_alias(message.text("alias")));
  PLIMSOLL_TRY(change_registered(api, message.text("name"), {.aliases_removed = {message.text("alias")}}));
  return empty_response();
}

}  // namespace plimsoll::serve::mlflow
