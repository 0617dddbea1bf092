#include "forward/content_sender.hpp"

#include <set>
#include <tuple>

#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "forward/again.hpp"
#include "forward/mlflow_text.hpp"

namespace plimsoll::forward {
namespace {

/// What MLflow 2's log_model and log_table note on the run about its files.
constexpr const char* kModelsTag = "mlflow.log-model.history";
constexpr const char* kTablesTag = "mlflow.loggedArtifacts";

std::string dataset_json(const store::Input& input) {
  const store::Dataset& set = input.dataset;
  return fmt::format(
      R"({{"tags":{},"dataset":{{"name":{},"digest":{},"source_type":{},"source":{},"schema":{},"profile":{}}}}})",
      pairs_json(input.tags), json_text(set.name), json_text(set.digest), json_text(set.source_type),
      json_text(set.source), json_text(set.schema), json_text(set.profile));
}

}  // namespace

Status ContentSender::ask(const std::string& call, const std::string& body, const std::string& what) {
  const Result<Json> answer = again([&] { return remote_->server().ask(call, body); });
  if (answer) return {};
  if (answer.error().may_pass()) return std::unexpected(answer.error());
  left_out_->push_back({what, answer.error().message});
  return {};
}

Status ContentSender::send(const std::string& run, const std::string& remote_run) {
  const Result<store::Run> here = store_->find(run);
  if (!here) return std::unexpected(here.error());
  const Result<std::optional<RemoteRun>> there = again([&] { return remote_->run(remote_run); });
  if (!there) return std::unexpected(there.error());
  if (!*there)
    return std::unexpected(
        Error{fmt::format("run {} is no longer there", printable(remote_run)), remote_->server().shown()});
  PLIMSOLL_TRY(send_datasets(*here, **there));
  PLIMSOLL_TRY(send_models(*here, **there));
  const Result<std::filesystem::path> files = store_->artifacts(run);
  if (!files) return std::unexpected(files.error());
  PLIMSOLL_TRY(artifacts_->send(*files, place_of((*there)->artifact_uri, (*there)->id)));
  return send_described_models(*here, **there);
}

Status ContentSender::send_datasets(const store::Run& run, const RemoteRun& there) {
  for (const store::Input& input : run.inputs) {
    if (there.datasets.contains({input.dataset.name, input.dataset.digest})) continue;
    const std::size_t before = left_out_->size();
    PLIMSOLL_TRY(
        ask("runs/log-inputs",
            fmt::format(R"({{"run_id":{},"datasets":[{}]}})", json_text(there.id), dataset_json(input)),
            fmt::format("dataset {}", quote(input.dataset.name))));
    if (left_out_->size() == before) ++datasets_;
  }
  return {};
}

/// Its own and those that it names; then that it names them.
Status ContentSender::send_models(const store::Run& run, const RemoteRun& there) {
  constexpr std::size_t kMostModels = 10'000;
  const Result<std::vector<store::LoggedModel>> own =
      store_->search_models({.filter = fmt::format("source_run_id = '{}'", run.id), .limit = kMostModels});
  if (!own) return std::unexpected(own.error());
  for (const store::LoggedModel& model : *own) PLIMSOLL_TRY(models_->send(model.id));
  const auto link = [&](const std::vector<store::ModelLink>& links, const std::set<std::string>& known,
                        const char* call, bool with_step) -> Status {
    for (const store::ModelLink& each : links) {
      const auto sent = models_->send(each.model);
      if (!sent) return std::unexpected(sent.error());
      if (!*sent || (*sent)->remote.empty() || known.contains((*sent)->remote)) continue;
      PLIMSOLL_TRY(ask(
          call,
          fmt::format(R"({{"run_id":{},"models":[{{"model_id":{}{}}}]}})", json_text(there.id),
                      json_text((*sent)->remote), with_step ? fmt::format(R"(,"step":{})", each.step) : ""),
          fmt::format("the link to model {}", each.model)));
    }
    return {};
  };
  PLIMSOLL_TRY(link(run.model_inputs, there.model_inputs, "runs/log-inputs", false));
  return link(run.model_outputs, there.model_outputs, "runs/outputs", true);
}

/// The notes come after the files that they are about.
Status ContentSender::send_described_models(const store::Run& run, const RemoteRun& there) {
  if (const std::string tables = text_at(run.tags, kTablesTag);
      !tables.empty() && text_at(there.tags, kTablesTag) != tables)
    PLIMSOLL_TRY(ask("runs/set-tag",
                     fmt::format(R"({{"run_id":{},"key":"{}","value":{}}})", json_text(there.id), kTablesTag,
                                 json_text(tables)),
                     fmt::format("tag '{}'", kTablesTag)));
  const Json here = Json::parse(text_at(run.tags, kModelsTag), nullptr, false);
  const Json known = Json::parse(text_at(there.tags, kModelsTag), nullptr, false);
  if (!here.is_array()) return {};
  using Identity = std::tuple<std::string, std::string, std::string>;
  const auto identity = [](const Json& model) {
    return Identity(text_of(model, "model_uuid"), text_of(model, "artifact_path"),
                    text_of(model, "utc_time_created"));
  };
  std::set<Identity> noted;
  if (known.is_array())
    for (const Json& model : known) noted.insert(identity(model));
  for (Json model : here) {
    if (!model.is_object() || noted.contains(identity(model))) continue;
    const std::string path = text_of(model, "artifact_path");
    model["run_id"] = there.id;
    PLIMSOLL_TRY(ask("runs/log-model",
                     fmt::format(R"({{"run_id":{},"model_json":{}}})", json_text(there.id),
                                 json_text(model.dump(-1, ' ', false, Json::error_handler_t::replace))),
                     fmt::format("the note of model {}", quote(path))));
  }
  return {};
}

}  // namespace plimsoll::forward
