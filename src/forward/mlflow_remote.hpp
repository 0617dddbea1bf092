#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "forward/log_batch.hpp"
#include "forward/mlflow_server.hpp"
#include "store/run.hpp"

namespace plimsoll::forward {

/// A run as the server has it.
struct RemoteRun {
  /// A metric's latest point.
  struct Latest {
    std::int64_t timestamp = 0, step = 0;
    friend bool operator==(const Latest&, const Latest&) = default;
  };
  std::string id;
  std::string experiment_id;
  bool deleted = false;
  std::map<std::string, std::string> params = {};
  std::map<std::string, std::string> tags = {};
  std::map<std::string, Latest> metrics = {};
  std::string artifact_uri = {};
  std::set<std::pair<std::string, std::string>> datasets = {};  ///< names and digests of what it has read
  std::set<std::string> model_inputs = {}, model_outputs = {};  ///< ids of logged models
};

struct NewRemoteRun {
  std::string experiment_id;
  std::string name = {};
  std::string user = {};
  store::Time start = 0;
  std::map<std::string, std::string> tags = {};
};

struct RemoteChange {
  store::RunStatus status = store::RunStatus::running;
  std::optional<store::Time> end = {};
  std::string name = {};  ///< empty: as it is
  friend bool operator==(const RemoteChange&, const RemoteChange&) = default;
};

/// The calls of MLflow's REST API that bring a run to a server; errors are MlflowServer's.
class MlflowRemote {
 public:
  /// `shown`: the server for people, in messages.
  MlflowRemote(Exchange exchange, std::string shown) : server_(std::move(exchange), std::move(shown)) {}

  /// The id of the experiment of this name, which is made where there is none.
  [[nodiscard]] Result<std::string> experiment(const std::string& name);
  [[nodiscard]] Result<std::optional<RemoteRun>> run(const std::string& id);
  /// One that is not deleted and has this tag.
  [[nodiscard]] Result<std::optional<RemoteRun>> run_tagged(const std::string& experiment_id,
                                                            const std::string& tag, const std::string& value);
  [[nodiscard]] Result<RemoteRun> create(const NewRemoteRun& run);
  [[nodiscard]] Status change(const std::string& id, const RemoteChange& change);
  /// For other calls.
  [[nodiscard]] MlflowServer& server() { return server_; }
  /// What the server finds wrong with the batch, of which it then takes nothing; nothing where it took it.
  [[nodiscard]] Result<std::optional<Error>> log(const std::string& id, const LogBatch& batch);

 private:
  Result<std::optional<std::string>> experiment_named(const std::string& name);
  MlflowServer server_;
};

}  // namespace plimsoll::forward
