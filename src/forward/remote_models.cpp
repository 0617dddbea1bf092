#include "forward/remote_models.hpp"

#include <nlohmann/json.hpp>

#include "base/percent.hpp"
#include "forward/mlflow_text.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::forward {
namespace {

constexpr std::string_view kStatus = "LOGGED_MODEL_";

store::ModelStatus status_of(std::string text) {
  if (text.starts_with(kStatus)) text = text.substr(kStatus.size());
  if (text == "UPLOAD_FAILED") return store::ModelStatus::failed;
  return store::model_status_named(text).value_or(store::ModelStatus::unspecified);
}

RemoteModel model_of(const Json& model) {
  const Json &info = part_of(model, "info"), &data = part_of(model, "data");
  RemoteModel out{.id = text_of(info, "model_id"),
                  .artifact_uri = text_of(info, "artifact_uri"),
                  .source_run = text_of(info, "source_run_id"),
                  .status = status_of(text_of(info, "status")),
                  .params = pairs_of(part_of(data, "params")),
                  .tags = pairs_of(part_of(info, "tags"))};
  for (const Json& metric : list_of(data, "metrics"))
    out.metrics.emplace(text_of(metric, "run_id"), text_of(metric, "key"));
  return out;
}

std::string search_body(const std::string& experiment, const std::string& filter) {
  return fmt::format(R"({{"experiment_ids":[{}],"filter":{},"max_results":1}})", json_text(experiment),
                     json_text(filter));
}

std::string path_of_model(const std::string& id, std::string_view rest = {}) {
  return fmt::format("logged-models/{}{}", percent_encode(id), rest);
}

}  // namespace

Result<bool> RemoteModels::served(const std::string& experiment) {
  if (served_) return *served_;
  const Result<Answer> answer =
      server_->exchange({.path = path_of("logged-models/search"), .body = search_body(experiment, "")});
  if (!answer) return std::unexpected(answer.error());
  const bool unknown = answer->status == 404 || answer->status == 405;
  if (answer->status != 200 && !unknown)
    return std::unexpected(server_->error_of(*answer, "logged-models/search"));
  served_ = !unknown;
  return *served_;
}

Result<std::optional<RemoteModel>> RemoteModels::tagged(const std::string& experiment, const std::string& tag,
                                                        const std::string& value) {
  const Result<Json> answer = server_->ask(
      "logged-models/search", search_body(experiment, fmt::format("tags.`{}` = '{}'", tag, value)));
  if (!answer) return std::unexpected(answer.error());
  const Json& models = list_of(*answer, "models");
  if (models.empty()) return std::optional<RemoteModel>();
  RemoteModel out = model_of(models.front());
  if (out.id.empty()) return std::unexpected(server_->not_mlflow());
  return out;
}

Result<RemoteModel> RemoteModels::model(const std::string& id) {
  const Result<Json> answer = server_->ask(path_of_model(id));
  if (!answer) return std::unexpected(answer.error());
  RemoteModel out = model_of(part_of(*answer, "model"));
  if (out.id.empty()) return std::unexpected(server_->not_mlflow());
  return out;
}

Result<RemoteModel> RemoteModels::create(const std::string& experiment, const store::LoggedModel& model,
                                         const std::string& source_run,
                                         const std::map<std::string, std::string>& tags) {
  const std::string body =
      fmt::format(R"({{"experiment_id":{},"name":{},"model_type":{}{},"tags":{}}})", json_text(experiment),
                  json_text(model.name), json_text(model.type),
                  source_run.empty() ? "" : R"(,"source_run_id":)" + json_text(source_run), pairs_json(tags));
  const Result<Json> answer = server_->ask("logged-models", body);
  if (!answer) return std::unexpected(answer.error());
  RemoteModel out = model_of(part_of(*answer, "model"));
  if (out.id.empty()) return std::unexpected(server_->not_mlflow());
  return out;
}

Status RemoteModels::add_params(const std::string& id, const std::map<std::string, std::string>& params) {
  return server_->tell(path_of_model(id, "/params"),
                       fmt::format(R"({{"model_id":{},"params":{}}})", json_text(id), pairs_json(params)));
}

Status RemoteModels::set_tag(const std::string& id, const std::string& key, const std::string& value) {
  return server_->tell(
      path_of_model(id, "/tags"),
      fmt::format(R"({{"model_id":{},"tags":{}}})", json_text(id), pairs_json({{key, value}})), "PATCH");
}

Status RemoteModels::finalize(const std::string& id, store::ModelStatus status) {
  const std::string_view name =
      status == store::ModelStatus::failed ? std::string_view("UPLOAD_FAILED") : store::name(status);
  return server_->tell(path_of_model(id),
                       fmt::format(R"({{"model_id":{},"status":"{}{}"}})", json_text(id), kStatus, name),
                       "PATCH");
}

Status RemoteModels::link_metric(const std::string& model, const std::string& run, const std::string& key,
                                 const store::ModelMetric& metric) {
  std::string dataset;
  if (!metric.dataset_name.empty())
    dataset = fmt::format(R"(,"dataset_name":{},"dataset_digest":{})", json_text(metric.dataset_name),
                          json_text(metric.dataset_digest));
  return server_->tell(
      "runs/log-batch",
      fmt::format(
          R"({{"run_id":{},"metrics":[{{"key":{},"value":{},"timestamp":{},"step":{},"model_id":{}{}}}]}})",
          json_text(run), json_text(key), json_number(metric.latest.value),
          store::milliseconds(metric.latest.time), metric.latest.step, json_text(model), dataset));
}

}  // namespace plimsoll::forward
