#include "base/printable.hpp"
#include "serve/mlflow/entities.hpp"
#include "serve/mlflow/handlers.hpp"
#include "serve/mlflow/message.hpp"
#include "serve/mlflow/page_token.hpp"
#include "serve/mlflow/run_names.hpp"
#include "serve/mlflow/validation.hpp"
#include "serve/mlflow/views.hpp"

namespace plimsoll::serve::mlflow {
namespace {

Outcome<store::LoggedModel> find_model(Api& api, const std::string& id, bool deleted_too = false) {
  Result<store::LoggedModel> model = api.store().model(id);
  const bool absent = model ? model->deleted && !deleted_too : model.error().kind == Error::Kind::not_found;
  if (absent)
    return refuse(Code::resource_does_not_exist, "Logged model with ID '{}' not found.", printable(id, 100));
  if (!model) return std::unexpected(fault_of(model.error()));
  return std::move(*model);
}

std::string_view without_slash(std::string_view location) {
  return location.substr(0, location.find_last_not_of('/') + 1);
}

Outcome<Response> model_response(Api& api, const std::string& id, bool deleted_too = false) {
  PLIMSOLL_TAKE(model, find_model(api, id, deleted_too));
  JsonWriter out;
  out.begin_object().key("model");
  write(out, model);
  out.end_object();
  return json_response(out.take());
}

Outcome<std::map<std::string, std::string>> checked_tags(const Message& message) {
  PLIMSOLL_TAKE(tags, message.pairs("tags"));
  for (const auto& [key, value] : tags) PLIMSOLL_TRY(check_tag(key, value));
  return std::move(tags);
}

Outcome<std::map<std::string, std::string>> checked_params(const Message& message) {
  PLIMSOLL_TAKE(params, message.pairs("params"));
  for (const auto& [key, value] : params) PLIMSOLL_TRY(check_param(key, value));
  return std::move(params);
}

/// "metrics.loss ASC" from {"field_name": "metrics.loss", "ascending": true}.
Outcome<std::vector<std::string>> orders_of(const Message& message) {
  static constexpr Field kOrder[] = {
      {"field_name", Type::text, true}, {"ascending", Type::boolean}, {"dataset_name"}, {"dataset_digest"}};
  PLIMSOLL_TAKE(entries, message.list("order_by", kOrder));
  std::vector<std::string> out;
  for (const Message& entry : entries)
    out.push_back(fmt::format("{} {}", entry.text("field_name"),
                              entry.boolean("ascending").value_or(true) ? "ASC" : "DESC"));
  return out;
}

struct DatasetFilter {
  std::string name, digest;
};

Outcome<std::vector<DatasetFilter>> datasets_of(const Message& message) {
  static constexpr Field kLoggedDataset[] = {{"dataset_name"}, {"dataset_digest"}};
  PLIMSOLL_TAKE(entries, message.list("datasets", kLoggedDataset));
  std::vector<DatasetFilter> out;
  for (const Message& entry : entries) {
    if (entry.text("dataset_name").empty())
      return invalid("`dataset_name` in the `datasets` clause must be specified.");
    out.push_back({entry.text("dataset_name"), entry.text("dataset_digest")});
  }
  return out;
}

/// Whether a metric of the model was got with one of the data.
bool fits(const store::LoggedModel& model, const std::vector<DatasetFilter>& datasets) {
  if (datasets.empty()) return true;
  for (const store::ModelMetric& metric : model.metrics)
    for (const DatasetFilter& dataset : datasets)
      if (metric.dataset_name == dataset.name &&
          (dataset.digest.empty() || metric.dataset_digest == dataset.digest))
        return true;
  return false;
}

}  // namespace

Outcome<Response> create_logged_model(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"experiment_id", Type::text, true},
                                      {"name"},
                                      {"model_type"},
                                      {"source_run_id"},
                                      {"params", Type::list},
                                      {"tags", Type::list}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  PLIMSOLL_TAKE(experiment, api.experiment(message.text("experiment_id")));
  if (experiment.deleted)
    return invalid("The experiment {} must be in the 'active' state. Current state is deleted.",
                   experiment.id);
  store::NewModel fresh{.experiment_id = experiment.id, .name = message.text("name")};
  if (fresh.name.empty())
    fresh.name = made_up_name();
  else
    PLIMSOLL_TRY(check_model_name(fresh.name));
  fresh.type = message.text("model_type");
  fresh.source_run = message.text("source_run_id");
  PLIMSOLL_TAKE(tags, checked_tags(message));
  fresh.tags = std::move(tags);
  PLIMSOLL_TAKE(params, checked_params(message));
  fresh.params = std::move(params);
  PLIMSOLL_TAKE(id, api.store().create_model(fresh));
  // Its place is known by its id, which the store gives.
  const std::string place =
      fmt::format("{}/models/{}/artifacts", without_slash(artifact_location(experiment)), id);
  PLIMSOLL_DO(api.store().change_model(id, {.artifact_uri = place}));
  return model_response(api, id);
}

Outcome<Response> get_logged_model(Api& api, Call& call) {
  const std::string* deleted = call.request.query.find("allow_deleted");
  return model_response(api, call.parameter("id"),
                        deleted != nullptr && (*deleted == "true" || *deleted == "True"));
}

Outcome<Response> finalize_logged_model(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"status", Type::choice, true}};
  static constexpr std::pair<std::string_view, std::int64_t> kStatuses[] = {
      {"LOGGED_MODEL_PENDING", 1}, {"LOGGED_MODEL_READY", 2}, {"LOGGED_MODEL_UPLOAD_FAILED", 3}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  PLIMSOLL_TAKE(number, document.message().choice("status", kStatuses));
  const store::ModelStatus status = number == 2   ? store::ModelStatus::ready
                                    : number == 3 ? store::ModelStatus::failed
                                                  : store::ModelStatus::pending;
  const std::string id = call.parameter("id");
  PLIMSOLL_DO(find_model(api, id));
  PLIMSOLL_DO(api.store().change_model(id, {.status = status}));
  return model_response(api, id);
}

Outcome<Response> delete_logged_model(Api& api, Call& call) {
  const std::string id = call.parameter("id");
  PLIMSOLL_DO(find_model(api, id));
  PLIMSOLL_DO(api.store().change_model(id, {.deleted = true}));
  return empty_response();
}

Outcome<Response> set_logged_model_tags(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"tags", Type::list}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  PLIMSOLL_TAKE(tags, checked_tags(document.message()));
  const std::string id = call.parameter("id");
  PLIMSOLL_DO(find_model(api, id));
  PLIMSOLL_DO(api.store().change_model(id, {.tags = tags}));
  return empty_response();
}

Outcome<Response> delete_logged_model_tag(Api& api, Call& call) {
  const std::string id = call.parameter("id"), key = call.parameter("key");
  PLIMSOLL_TAKE(model, find_model(api, id));
  if (!model.tags.contains(key))
    return refuse(Code::resource_does_not_exist, "No tag with key '{}' found for model with ID '{}'.",
                  printable(key), id);
  PLIMSOLL_DO(api.store().change_model(id, {.tags_removed = {key}}));
  return empty_response();
}

Outcome<Response> log_logged_model_params(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"params", Type::list}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  PLIMSOLL_TAKE(params, checked_params(document.message()));
  const std::string id = call.parameter("id");
  PLIMSOLL_DO(find_model(api, id));
  PLIMSOLL_DO(api.store().change_model(id, {.params = params}));
  return empty_response();
}

Outcome<Response> search_logged_models(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"experiment_ids", Type::texts}, {"filter"},
                                      {"datasets", Type::list},        {"max_results", Type::integer},
                                      {"order_by", Type::list},        {"page_token"}};
  constexpr std::size_t kUsual = 100, kMost = 50'000;
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const Message message = document.message();
  PLIMSOLL_TAKE(paging, paging_of(message, kUsual, kMost));
  PLIMSOLL_TAKE(orders, orders_of(message));
  PLIMSOLL_TAKE(datasets, datasets_of(message));
  store::ModelSearch search{.filter = message.text("filter"), .order_by = orders};
  for (const std::string& id : message.texts("experiment_ids")) {
    PLIMSOLL_TAKE(number, experiment_number(id));
    search.experiment_ids.push_back(number);
  }
  if (search.experiment_ids.empty()) return invalid("Missing value for required parameter 'experiment_ids'.");
  // What the data are is not in the store's language: then all that fits otherwise is looked at.
  search.limit = datasets.empty() ? paging.limit + 1 : kMost;
  search.offset = datasets.empty() ? paging.offset : 0;
  PLIMSOLL_TAKE(models, api.store().search_models(search));
  std::erase_if(models, [&](const store::LoggedModel& model) { return !fits(model, datasets); });
  const std::size_t first = datasets.empty() ? 0 : std::min(paging.offset, models.size());
  const std::size_t last = std::min(models.size(), first + paging.limit);
  JsonWriter out;
  out.begin_object().key("models").begin_array();
  for (std::size_t i = first; i < last; ++i) write(out, models[i]);
  out.end_array();
  if (models.size() > last) out.member("next_page_token", page_token(paging.offset + paging.limit));
  out.end_object();
  return json_response(out.take());
}

}  // namespace plimsoll::serve::mlflow
