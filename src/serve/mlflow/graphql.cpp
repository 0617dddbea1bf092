#include <cmath>

#include "base/printable.hpp"
#include "serve/mlflow/entities.hpp"
#include "serve/mlflow/handlers.hpp"
#include "serve/mlflow/message.hpp"
#include "serve/mlflow/unserved.hpp"

/// MLflow's pages ask for an experiment and a run by GraphQL: three questions of fixed words. They are known
/// by their names, and answered with every field that is in them; there is no language here, and nobody
/// else's questions are answered.
namespace plimsoll::serve::mlflow {
namespace {

/// In GraphQL's words 64-bit integers are texts, and what is not there is null.
void write_time(JsonWriter& out, std::string_view name, store::Time time) {
  out.member(name, fmt::format("{}", milliseconds(time)));
}

void write_null(JsonWriter& out, std::string_view name) {
  out.key(name).written("null");
}

void write_text(JsonWriter& out, std::string_view name, const std::string& value) {
  if (value.empty())
    write_null(out, name);
  else
    out.member(name, value);
}

void write_experiment(JsonWriter& out, const store::Experiment& experiment) {
  out.key("experiment").begin_object();
  out.member("experimentId", fmt::format("{}", experiment.id)).member("name", experiment.name);
  out.member("artifactLocation", artifact_location(experiment));
  out.member("lifecycleStage", experiment.deleted ? "deleted" : "active");
  write_time(out, "creationTime", experiment.created);
  write_time(out, "lastUpdateTime", experiment.changed);
  write_null(out, "effectiveTraceArchivalRetention");
  write_pairs(out, "tags", experiment.tags);
  out.end_object();
}

void write_run_info(JsonWriter& out, const store::Run& run, std::string location) {
  while (location.ends_with('/')) location.pop_back();
  out.key("info").begin_object();
  out.member("runUuid", run.id).member("runName", run.name).member("status", store::name(run.status));
  out.member("experimentId", fmt::format("{}", run.experiment_id)).member("userId", run.user);
  out.member("artifactUri", fmt::format("{}/{}/artifacts", location, run.id));
  out.member("lifecycleStage", run.deleted ? "deleted" : "active");
  write_time(out, "startTime", run.start);
  if (run.end)
    write_time(out, "endTime", *run.end);
  else
    write_null(out, "endTime");
  out.end_object();
}

void write_run_data(JsonWriter& out, const store::Run& run) {
  out.key("data").begin_object();
  out.key("metrics").begin_array();
  for (const auto& [key, metric] : run.metrics) {
    out.begin_object().member("key", key).member("step", fmt::format("{}", metric.latest.step));
    write_time(out, "timestamp", metric.latest.time);
    if (std::isfinite(metric.latest.value))
      out.number_member("value", metric.latest.value);
    else
      write_null(out, "value");
    out.end_object();
  }
  out.end_array();
  write_pairs(out, "params", run.params);
  write_pairs(out, "tags", run.tags);
  out.end_object();
}

void write_inputs_and_outputs(JsonWriter& out, const store::Run& run) {
  out.key("inputs").begin_object().key("datasetInputs").begin_array();
  for (const store::Input& input : run.inputs) {
    out.begin_object().key("dataset").begin_object();
    out.member("name", input.dataset.name).member("digest", input.dataset.digest);
    out.member("source", input.dataset.source).member("sourceType", input.dataset.source_type);
    write_text(out, "schema", input.dataset.schema);
    write_text(out, "profile", input.dataset.profile);
    out.end_object();
    write_pairs(out, "tags", input.tags);
    out.end_object();
  }
  out.end_array().key("modelInputs").begin_array();
  for (const store::ModelLink& link : run.model_inputs)
    out.begin_object().member("modelId", link.model).end_object();
  out.end_array().end_object();
  out.key("outputs").begin_object().key("modelOutputs").begin_array();
  for (const store::ModelLink& link : run.model_outputs)
    out.begin_object()
        .member("modelId", link.model)
        .member("step", fmt::format("{}", link.step))
        .end_object();
  out.end_array().end_object();
}

Outcome<void> write_versions(JsonWriter& out, Api& api, const store::Run& run) {
  PLIMSOLL_TAKE(versions, api.store().registry().search_versions(
                              {.filter = fmt::format("run_id = '{}'", run.id), .limit = 1000}));
  out.key("modelVersions").begin_array();
  for (const store::ModelVersion& version : versions) {
    out.begin_object().member("name", version.model).member("version", fmt::format("{}", version.version));
    out.member("status", version.status).member("source", version.source);
    write_time(out, "creationTimestamp", version.created);
    out.end_object();
  }
  out.end_array();
  return {};
}

Outcome<void> write_run(JsonWriter& out, Api& api, const store::Run& run) {
  PLIMSOLL_TAKE(location, api.artifact_location(run.experiment_id));
  PLIMSOLL_TAKE(experiment, api.store().experiment(run.experiment_id));
  out.begin_object();
  write_run_info(out, run, location);
  write_experiment(out, experiment);
  write_run_data(out, run);
  write_inputs_and_outputs(out, run);
  PLIMSOLL_TRY(write_versions(out, api, run));
  out.end_object();
  return {};
}

void write_no_error(JsonWriter& out) {
  write_null(out, "apiError");
}

Outcome<void> get_experiment_by(JsonWriter& out, Api& api, const Message& input) {
  PLIMSOLL_TAKE(experiment, api.experiment(input.text("experiment_id")));
  write_no_error(out);
  write_experiment(out, experiment);
  return {};
}

Outcome<void> get_run_by(JsonWriter& out, Api& api, const Message& input) {
  const std::string id = input.text("run_id");
  PLIMSOLL_TAKE(run, api.run(id.empty() ? input.text("run_uuid") : id));
  write_no_error(out);
  out.key("run");
  return write_run(out, api, run);
}

Outcome<void> search_runs_by(JsonWriter& out, Api& api, const Message& input) {
  constexpr std::size_t kMostRuns = 100;
  store::Search search{.filter = input.text("filter"), .limit = kMostRuns};
  for (const std::string& id : input.texts("experiment_ids")) {
    PLIMSOLL_TAKE(number, experiment_number(id));
    search.experiment_ids.push_back(number);
  }
  std::vector<store::Run> runs;
  if (!search.experiment_ids.empty()) {  // to the store none means all of them
    PLIMSOLL_TAKE(found, api.store().search(search));
    runs = std::move(found);
  }
  write_no_error(out);
  out.key("runs").begin_array();
  for (const store::Run& run : runs) PLIMSOLL_TRY(write_run(out, api, run));
  out.end_array();
  return {};
}

struct Question {
  std::string_view name, variable, answer;
  Outcome<void> (*write)(JsonWriter& out, Api& api, const Message& input);
};

constexpr Question kQuestions[] = {
    {"MlflowGetExperimentQuery", "input", "mlflowGetExperiment", get_experiment_by},
    {"GetRun", "data", "mlflowGetRun", get_run_by},
    {"SearchRuns", "data", "mlflowSearchRuns", search_runs_by},
};

/// What cannot be answered, as the pages read it.
std::string refused(const Question& question, const Fault& fault) {
  JsonWriter out;
  out.begin_object().key("data").begin_object().key(question.answer).begin_object();
  out.key("apiError").begin_object();
  write_null(out, "helpUrl");
  out.member("code", fault.code == Code::resource_does_not_exist ? "RESOURCE_DOES_NOT_EXIST"
                                                                 : "INVALID_PARAMETER_VALUE");
  out.member("message", fault.message).end_object();
  for (const std::string_view nothing : {"run", "runs", "experiment"}) write_null(out, nothing);
  return out.end_object().end_object().end_object().take();
}

}  // namespace

Outcome<Response> answer_graphql(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"operationName"}, {"variables", Type::object}};
  static constexpr Field kInputs[] = {{"input", Type::object}, {"data", Type::object}};
  static constexpr Field kInput[] = {
      {"experiment_id"}, {"run_id"}, {"run_uuid"}, {"filter"}, {"experiment_ids", Type::texts}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  const std::string name = document.message().text("operationName");
  for (const Question& question : kQuestions) {
    if (question.name != name) continue;
    PLIMSOLL_TAKE(variables, document.message().object("variables", kInputs));
    if (!variables) return invalid("'variables' is missing");
    PLIMSOLL_TAKE(input, variables->object(question.variable, kInput));
    if (!input) return invalid("'{}' is missing in 'variables'", question.variable);
    JsonWriter out;
    out.begin_object().key("data").begin_object().key(question.answer).begin_object();
    const Outcome<void> written = question.write(out, api, *input);
    if (written) return json_response(out.end_object().end_object().end_object().take());
    if (static_cast<int>(response_of(written.error()).status) >= 500) return std::unexpected(written.error());
    return json_response(refused(question, written.error()));
  }
  return std::unexpected(no_graphql());
}

}  // namespace plimsoll::serve::mlflow
