#include <filesystem>

#include "base/printable.hpp"
#include "serve/mlflow/entities.hpp"
#include "serve/mlflow/handlers.hpp"
#include "serve/mlflow/message.hpp"
#include "serve/mlflow/page_token.hpp"
#include "serve/mlflow/validation.hpp"
#include "serve/mlflow/views.hpp"

namespace plimsoll::serve::mlflow {
namespace {

constexpr Field kId[] = {{"experiment_id", Type::text, true}};

Response experiment_response(const store::Experiment& experiment) {
  JsonWriter out;
  out.begin_object().key("experiment");
  write(out, experiment);
  out.end_object();
  return json_response(out.take());
}

/// A place without a scheme is a path on this machine, as MLflow takes it.
Outcome<std::string> resolved_location(const std::string& location) {
  if (location.empty()) return location;
  if (location.starts_with("runs:"))
    return invalid("Artifact location cannot be a runs:/ URI. Given: {}", json_text(location));
  PLIMSOLL_TRY(check_length(location, limits::kLongestLocation, "artifact_location"));
  if (location.find_first_of("?#") != std::string::npos)
    return invalid("Invalid artifact_location: {} has a query or a fragment", json_text(location));
  const std::size_t colon = location.find(':');
  const bool scheme = colon != std::string::npos && colon > 0 && colon < location.find('/');
  if (scheme || location.starts_with('/')) return location;
  std::error_code problem;
  const std::filesystem::path here = std::filesystem::current_path(problem);
  if (problem) return refuse(Code::internal_error, "the server's folder is gone");
  return (here / location).lexically_normal().string();
}

/// The experiment, where it is not deleted.
Outcome<store::Experiment> active_experiment(Api& api, std::string_view id) {
  PLIMSOLL_TAKE(experiment, api.experiment(id));
  if (experiment.deleted)
    return invalid("The experiment {} must be in the 'active' state. Current state is deleted.",
                   experiment.id);
  return std::move(experiment);
}

Outcome<Response> mark(Api& api, Call& call, bool deleted) {
  PLIMSOLL_TAKE(document, Document::read(call.request, kId));
  PLIMSOLL_TAKE(experiment, api.experiment(document.message().text("experiment_id")));
  if (experiment.deleted == deleted)
    return refuse(Code::resource_does_not_exist, "No Experiment with id={} exists that is {}", experiment.id,
                  deleted ? "active" : "deleted");
  PLIMSOLL_DO(api.store().change_experiment(experiment.id, {.deleted = deleted}));
  api.forget_all();  // its runs are marked with it
  return empty_response();
}

}  // namespace

Outcome<Response> create_experiment(Api& api, Call& call) {
  static constexpr Field kFields[] = {
      {"name", Type::text, true}, {"artifact_location"}, {"tags", Type::list}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  store::NewExperiment fresh{.name = message.text("name")};
  PLIMSOLL_TRY(check_experiment_name(fresh.name));
  PLIMSOLL_TAKE(location, resolved_location(message.text("artifact_location")));
  fresh.artifact_location = std::move(location);
  PLIMSOLL_TAKE(tags, message.pairs("tags"));
  for (const auto& [key, value] : tags) PLIMSOLL_TRY(check_experiment_tag(key, value));
  fresh.tags = std::move(tags);
  const Result<std::int64_t> id = api.store().create_experiment(fresh);
  if (!id && id.error().kind == Error::Kind::exists_already)
    return refuse(Code::resource_already_exists, "Experiment(name={}) already exists.",
                  printable(fresh.name));
  if (!id) return std::unexpected(fault_of(id.error()));
  JsonWriter out;
  out.begin_object().member("experiment_id", fmt::format("{}", *id)).end_object();
  return json_response(out.take());
}

Outcome<Response> get_experiment(Api& api, Call& call) {
  PLIMSOLL_TAKE(document, Document::read(call.request, kId));
  PLIMSOLL_TAKE(experiment, api.experiment(document.message().text("experiment_id")));
  return experiment_response(experiment);
}

Outcome<Response> get_experiment_by_name(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"experiment_name", Type::text, true}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const std::string wanted = document.message().text("experiment_name");
  PLIMSOLL_TAKE(found, api.store().experiment_named(wanted));
  if (!found)
    return refuse(Code::resource_does_not_exist, "Could not find experiment with name '{}'",
                  printable(wanted));
  return experiment_response(*found);
}

Outcome<Response> delete_experiment(Api& api, Call& call) {
  return mark(api, call, true);
}

Outcome<Response> restore_experiment(Api& api, Call& call) {
  return mark(api, call, false);
}

Outcome<Response> update_experiment(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"experiment_id", Type::text, true}, {"new_name", Type::text, true}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const std::string name = document.message().text("new_name");
  PLIMSOLL_TRY(check_experiment_name(name));
  PLIMSOLL_TAKE(experiment, api.experiment(document.message().text("experiment_id")));
  if (experiment.deleted) return refuse(Code::invalid_state, "Cannot rename a non-active experiment.");
  const Status done = api.store().change_experiment(experiment.id, {.name = name});
  if (!done && done.error().kind == Error::Kind::exists_already)
    return refuse(Code::resource_already_exists, "Experiment(name={}) already exists.", printable(name));
  if (!done) return std::unexpected(fault_of(done.error()));
  return empty_response();
}

Outcome<Response> set_experiment_tag(Api& api, Call& call) {
  static constexpr Field kFields[] = {
      {"experiment_id", Type::text, true}, {"key", Type::text, true}, {"value"}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  const std::string key = message.text("key"), value = message.text("value");
  PLIMSOLL_TRY(check_experiment_tag(key, value));
  PLIMSOLL_TAKE(experiment, active_experiment(api, message.text("experiment_id")));
  PLIMSOLL_DO(api.store().change_experiment(experiment.id, {.tags = {{key, value}}}));
  return empty_response();
}

Outcome<Response> delete_experiment_tag(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"experiment_id", Type::text, true}, {"key", Type::text, true}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const std::string key = document.message().text("key");
  PLIMSOLL_TAKE(experiment, active_experiment(api, document.message().text("experiment_id")));
  if (!experiment.tags.contains(key))
    return refuse(Code::resource_does_not_exist, "No tag with name: {} in experiment with id {}",
                  printable(key), experiment.id);
  PLIMSOLL_DO(api.store().change_experiment(experiment.id, {.tags_removed = {key}}));
  return empty_response();
}

Outcome<Response> search_experiments(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"view_type", Type::choice},
                                      {"max_results", Type::integer},
                                      {"order_by", Type::texts},
                                      {"filter"},
                                      {"page_token"}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  PLIMSOLL_TAKE(view, view_of(message, "view_type"));
  PLIMSOLL_TAKE(paging, paging_of(message, 1000, 50'000));
  PLIMSOLL_TAKE(found, api.store().search_experiments({.filter = message.text("filter"),
                                                       .order_by = message.texts("order_by"),
                                                       .view = view,
                                                       .limit = paging.limit + 1,
                                                       .offset = paging.offset}));
  JsonWriter out;
  out.begin_object().key("experiments").begin_array();
  for (std::size_t i = 0; i < std::min(found.size(), paging.limit); ++i) write(out, found[i]);
  out.end_array();
  if (found.size() > paging.limit) out.member("next_page_token", page_token(paging.offset + paging.limit));
  out.end_object();
  return json_response(out.take());
}

}  // namespace plimsoll::serve::mlflow
