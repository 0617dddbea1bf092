#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "forward/mlflow_server.hpp"
#include "store/model.hpp"

namespace plimsoll::forward {

/// A logged model as the server has it.
struct RemoteModel {
  std::string id = {}, artifact_uri = {}, source_run = {};
  store::ModelStatus status = store::ModelStatus::unspecified;
  std::map<std::string, std::string> params = {}, tags = {};
  std::set<std::pair<std::string, std::string>> metrics =
      {};  ///< runs and names of metrics that are about it
};

/// The calls of MLflow's REST API about logged models. A server of MLflow 2 has none.
class RemoteModels {
 public:
  explicit RemoteModels(MlflowServer& server) : server_(&server) {}

  /// Whether the server has logged models at all; asks it once.
  [[nodiscard]] Result<bool> served(const std::string& experiment);
  [[nodiscard]] Result<RemoteModel> model(const std::string& id);
  [[nodiscard]] Result<std::optional<RemoteModel>> tagged(const std::string& experiment,
                                                          const std::string& tag, const std::string& value);
  /// `source_run`: as the server names it, or empty. With some params and with the tags given.
  [[nodiscard]] Result<RemoteModel> create(const std::string& experiment, const store::LoggedModel& model,
                                           const std::string& source_run,
                                           const std::map<std::string, std::string>& tags);
  [[nodiscard]] Status add_params(const std::string& id, const std::map<std::string, std::string>& params);
  [[nodiscard]] Status set_tag(const std::string& id, const std::string& key, const std::string& value);
  [[nodiscard]] Status finalize(const std::string& id, store::ModelStatus status);
  /// Says of a run's metric that it is about the model. `model`, `run`, `key`: as the server names them.
  [[nodiscard]] Status link_metric(const std::string& model, const std::string& run, const std::string& key,
                                   const store::ModelMetric& metric);

 private:
  MlflowServer* server_;
  std::optional<bool> served_ = {};
};

}  // namespace plimsoll::forward
