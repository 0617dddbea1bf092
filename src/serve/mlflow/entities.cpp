#include "serve/mlflow/entities.hpp"

#include <fmt/format.h>

#include "serve/mlflow/api.hpp"

namespace plimsoll::serve::mlflow {
namespace {

std::string_view stage(bool deleted) {
  return deleted ? "deleted" : "active";
}

std::string_view status_name(store::ModelStatus status) {
  switch (status) {
    case store::ModelStatus::unspecified: return "LOGGED_MODEL_STATUS_UNSPECIFIED";
    case store::ModelStatus::pending: return "LOGGED_MODEL_PENDING";
    case store::ModelStatus::ready: return "LOGGED_MODEL_READY";
    case store::ModelStatus::failed: return "LOGGED_MODEL_UPLOAD_FAILED";
  }
  return "LOGGED_MODEL_STATUS_UNSPECIFIED";
}

void write_data(JsonWriter& out, const store::Run& run) {
  out.key("data").begin_object();
  out.key("metrics").begin_array();
  for (const auto& [key, metric] : run.metrics) {
    out.begin_object();
    write_metric(out, key, metric.latest);
    out.end_object();
  }
  out.end_array();
  write_pairs(out, "params", run.params);
  write_pairs(out, "tags", run.tags);
  out.end_object();
}

void write_input(JsonWriter& out, const store::Input& input) {
  const store::Dataset& dataset = input.dataset;
  out.begin_object();
  write_pairs(out, "tags", input.tags);
  out.key("dataset").begin_object();
  out.member("name", dataset.name).member("digest", dataset.digest);
  out.member("source_type", dataset.source_type).member("source", dataset.source);
  if (!dataset.schema.empty()) out.member("schema", dataset.schema);
  if (!dataset.profile.empty()) out.member("profile", dataset.profile);
  out.end_object().end_object();
}

void write_links(JsonWriter& out, const store::Run& run) {
  // What is empty is left out, as MLflow's server does.
  out.key("inputs").begin_object();
  if (!run.inputs.empty()) {
    out.key("dataset_inputs").begin_array();
    for (const store::Input& input : run.inputs) write_input(out, input);
    out.end_array();
  }
  if (!run.model_inputs.empty()) {
    out.key("model_inputs").begin_array();
    for (const store::ModelLink& link : run.model_inputs)
      out.begin_object().member("model_id", link.model).end_object();
    out.end_array();
  }
  out.end_object();
  out.key("outputs").begin_object();
  if (!run.model_outputs.empty()) {
    out.key("model_outputs").begin_array();
    for (const store::ModelLink& link : run.model_outputs)
      out.begin_object().member("model_id", link.model).integer_member("step", link.step).end_object();
    out.end_array();
  }
  out.end_object();
}

}  // namespace

void write_pairs(JsonWriter& out, std::string_view name, const std::map<std::string, std::string>& pairs) {
  out.key(name).begin_array();
  for (const auto& [key, value] : pairs)
    out.begin_object().member("key", key).member("value", value).end_object();
  out.end_array();
}

void write(JsonWriter& out, const store::Experiment& experiment) {
  out.begin_object();
  out.member("experiment_id", fmt::format("{}", experiment.id)).member("name", experiment.name);
  out.member("artifact_location", artifact_location(experiment));
  out.member("lifecycle_stage", stage(experiment.deleted));
  out.integer_member("last_update_time", milliseconds(experiment.changed));
  out.integer_member("creation_time", milliseconds(experiment.created));
  write_pairs(out, "tags", experiment.tags);
  out.end_object();
}

void write_info(JsonWriter& out, const store::Run& run, std::string_view location) {
  out.begin_object();
  out.member("run_id", run.id).member("run_uuid", run.id).member("run_name", run.name);
  out.member("experiment_id", fmt::format("{}", run.experiment_id)).member("user_id", run.user);
  out.member("status", store::name(run.status)).integer_member("start_time", milliseconds(run.start));
  if (run.end) out.integer_member("end_time", milliseconds(*run.end));
  const bool slash = !location.ends_with('/');
  out.member("artifact_uri", fmt::format("{}{}{}/artifacts", location, slash ? "/" : "", run.id));
  out.member("lifecycle_stage", stage(run.deleted));
  out.end_object();
}

void write(JsonWriter& out, const store::Run& run, std::string_view location) {
  out.begin_object();
  out.key("info");
  write_info(out, run, location);
  write_data(out, run);
  write_links(out, run);
  out.end_object();
}

void write_metric(JsonWriter& out, std::string_view key, const store::Point& point) {
  out.member("key", key).number_member("value", point.value);
  out.integer_member("timestamp", milliseconds(point.time)).integer_member("step", point.step);
}

void write(JsonWriter& out, const store::LoggedModel& model) {
  out.begin_object();
  out.key("info").begin_object();
  out.member("model_id", model.id).member("experiment_id", fmt::format("{}", model.experiment_id));
  out.member("name", model.name).member("artifact_uri", model.artifact_uri);
  out.integer_member("creation_timestamp_ms", milliseconds(model.created));
  out.integer_member("last_updated_timestamp_ms", milliseconds(model.changed));
  out.member("status", status_name(model.status)).member("model_type", model.type);
  out.member("source_run_id", model.source_run);
  write_pairs(out, "tags", model.tags);
  out.end_object();
  out.key("data").begin_object();
  write_pairs(out, "params", model.params);
  out.key("metrics").begin_array();
  for (const store::ModelMetric& metric : model.metrics) {
    out.begin_object();
    write_metric(out, metric.metric, metric.latest);
    if (!metric.dataset_name.empty()) out.member("dataset_name", metric.dataset_name);
    if (!metric.dataset_digest.empty()) out.member("dataset_digest", metric.dataset_digest);
    out.member("model_id", model.id).member("run_id", metric.run).end_object();
  }
  out.end_array().end_object().end_object();
}

void write(JsonWriter& out, const store::ModelVersion& version) {
  out.begin_object();
  out.member("name", version.model).member("version", fmt::format("{}", version.version));
  out.integer_member("creation_timestamp", milliseconds(version.created));
  out.integer_member("last_updated_timestamp", milliseconds(version.changed));
  if (!version.user.empty()) out.member("user_id", version.user);
  out.member("current_stage", store::name(version.stage)).member("description", version.description);
  out.member("source", version.source).member("run_id", version.run).member("status", version.status);
  if (!version.status_message.empty()) out.member("status_message", version.status_message);
  write_pairs(out, "tags", version.tags);
  out.member("run_link", version.run_link);
  out.key("aliases").begin_array();
  for (const std::string& alias : version.aliases) out.text(alias);
  out.end_array();
  if (!version.logged_model.empty()) out.member("model_id", version.logged_model);
  out.end_object();
}

void write(JsonWriter& out, const store::RegisteredModel& model) {
  out.begin_object().member("name", model.name);
  out.integer_member("creation_timestamp", milliseconds(model.created));
  out.integer_member("last_updated_timestamp", milliseconds(model.changed));
  out.member("description", model.description);
  out.key("latest_versions").begin_array();
  for (const store::ModelVersion& version : model.latest) write(out, version);
  out.end_array();
  write_pairs(out, "tags", model.tags);
  out.key("aliases").begin_array();
  for (const auto& [alias, version] : model.aliases)
    out.begin_object().member("alias", alias).member("version", fmt::format("{}", version)).end_object();
  out.end_array().end_object();
}

}  // namespace plimsoll::serve::mlflow
