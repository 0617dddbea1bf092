#include "forward/mlflow_remote.hpp"

#include <nlohmann/json.hpp>

#include "base/percent.hpp"
#include "base/printable.hpp"
#include "base/utf8.hpp"
#include "forward/mlflow_text.hpp"
#include "store/mlflow_limits.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::forward {
namespace {

namespace limits = store::mlflow_limits;

RemoteRun run_of(const Json& run) {
  const Json &info = part_of(run, "info"), &data = part_of(run, "data");
  RemoteRun out{.id = text_of(info, "run_id"),
                .experiment_id = text_of(info, "experiment_id"),
                .deleted = text_of(info, "lifecycle_stage") == "deleted",
                .params = pairs_of(part_of(data, "params")),
                .tags = pairs_of(part_of(data, "tags"))};
  for (const Json& metric : list_of(data, "metrics"))
    out.metrics.insert_or_assign(
        text_of(metric, "key"),
        RemoteRun::Latest{.timestamp = integer_of(metric, "timestamp"), .step = integer_of(metric, "step")});
  out.artifact_uri = text_of(info, "artifact_uri");
  const Json &inputs = part_of(run, "inputs"), &outputs = part_of(run, "outputs");
  for (const Json& input : list_of(inputs, "dataset_inputs")) {
    const Json& dataset = part_of(input, "dataset");
    out.datasets.emplace(text_of(dataset, "name"), text_of(dataset, "digest"));
  }
  for (const Json& input : list_of(inputs, "model_inputs"))
    out.model_inputs.insert(text_of(input, "model_id"));
  for (const Json& output : list_of(outputs, "model_outputs"))
    out.model_outputs.insert(text_of(output, "model_id"));
  return out;
}

}  // namespace

Result<std::optional<std::string>> MlflowRemote::experiment_named(const std::string& name) {
  const Result<Json> answer = server_.ask("experiments/get-by-name?experiment_name=" + percent_encode(name));
  if (!answer && answer.error().kind == Error::Kind::not_found) return std::optional<std::string>();
  if (!answer) return std::unexpected(answer.error());
  const Json& experiment = part_of(*answer, "experiment");
  if (text_of(experiment, "lifecycle_stage") == "deleted")
    return std::unexpected(Error{fmt::format("its experiment {} was deleted", quote(name)), server_.shown(),
                                 "Restore it there, or send runs of another experiment."});
  std::string id = text_of(experiment, "experiment_id");
  if (id.empty()) return std::unexpected(server_.not_mlflow());
  return id;
}

Result<std::string> MlflowRemote::experiment(const std::string& name) {
  const Result<std::optional<std::string>> found = experiment_named(name);
  if (!found) return std::unexpected(found.error());
  if (*found) return **found;
  const Result<Json> made =
      server_.ask("experiments/create", fmt::format(R"({{"name":{}}})", json_text(name)));
  if (!made && made.error().kind != Error::Kind::exists_already) return std::unexpected(made.error());
  if (made) {
    if (std::string id = text_of(*made, "experiment_id"); !id.empty()) return id;
    return std::unexpected(server_.not_mlflow());
  }
  // Another client was quicker.
  const Result<std::optional<std::string>> theirs = experiment_named(name);
  if (!theirs) return std::unexpected(theirs.error());
  if (!*theirs) return std::unexpected(made.error());
  return **theirs;
}

Result<std::optional<RemoteRun>> MlflowRemote::run(const std::string& id) {
  const Result<Json> answer = server_.ask("runs/get?run_id=" + percent_encode(id));
  if (!answer && answer.error().kind == Error::Kind::not_found) return std::optional<RemoteRun>();
  if (!answer) return std::unexpected(answer.error());
  RemoteRun out = run_of(part_of(*answer, "run"));
  if (out.id.empty()) return std::unexpected(server_.not_mlflow());
  return out;
}

Result<std::optional<RemoteRun>> MlflowRemote::run_tagged(const std::string& experiment_id,
                                                          const std::string& tag, const std::string& value) {
  const std::string filter = fmt::format("tags.`{}` = '{}'", tag, value);
  const Result<Json> answer =
      server_.ask("runs/search", fmt::format(R"({{"experiment_ids":[{}],"filter":{},"max_results":1}})",
                                             json_text(experiment_id), json_text(filter)));
  if (!answer) return std::unexpected(answer.error());
  const Json& runs = part_of(*answer, "runs");
  if (!runs.is_array() || runs.empty()) return std::optional<RemoteRun>();
  RemoteRun out = run_of(runs.front());
  if (out.id.empty()) return std::unexpected(server_.not_mlflow());
  return out;
}

Result<RemoteRun> MlflowRemote::create(const NewRemoteRun& run) {
  const Result<Json> answer = server_.ask(
      "runs/create",
      fmt::format(R"({{"experiment_id":{},"start_time":{},"tags":{}{}{}}})", json_text(run.experiment_id),
                  store::milliseconds(run.start), pairs_json(run.tags),
                  run.name.empty()
                      ? ""
                      : R"(,"run_name":)" + json_text(first_characters(run.name, limits::kLongestTag)),
                  run.user.empty() ? "" : R"(,"user_id":)" + json_text(run.user)));
  if (!answer) return std::unexpected(answer.error());
  RemoteRun out = run_of(part_of(*answer, "run"));
  if (out.id.empty()) return std::unexpected(server_.not_mlflow());
  return out;
}

Status MlflowRemote::change(const std::string& id, const RemoteChange& change) {
  const Result<Json> answer = server_.ask(
      "runs/update",
      fmt::format(R"({{"run_id":{},"status":"{}"{}{}}})", json_text(id), store::name(change.status),
                  change.end ? fmt::format(R"(,"end_time":{})", store::milliseconds(*change.end)) : "",
                  change.name.empty()
                      ? ""
                      : R"(,"run_name":)" + json_text(first_characters(change.name, limits::kLongestTag))));
  if (!answer) return std::unexpected(answer.error());
  return {};
}

Result<std::optional<Error>> MlflowRemote::log(const std::string& id, const LogBatch& batch) {
  const std::string call = "runs/log-batch";
  const Result<Answer> answer = server_.exchange({.path = path_of(call), .body = batch.body(id)});
  if (!answer) return std::unexpected(answer.error());
  if (answer->status == 200) return std::optional<Error>();
  Error error = server_.error_of(*answer, call);
  if (answer->status == 400) return error;
  return std::unexpected(std::move(error));
}

}  // namespace plimsoll::forward
