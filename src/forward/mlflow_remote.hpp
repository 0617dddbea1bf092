#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "forward/http_client.hpp"
#include "forward/log_batch.hpp"
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

/// The calls of MLflow's REST API that bring a run to a server. Errors: unavailable where the same may
/// succeed later (no answer, 5xx, 429), others are for good: not_found and exists_already where MLflow says
/// so.
class MlflowRemote {
 public:
  /// `shown`: the server for people, in messages.
  MlflowRemote(Exchange exchange, std::string shown)
      : exchange_(std::move(exchange)), shown_(std::move(shown)) {}

  /// The id of the experiment of this name, which is made where there is none.
  [[nodiscard]] Result<std::string> experiment(const std::string& name);
  [[nodiscard]] Result<std::optional<RemoteRun>> run(const std::string& id);
  /// One that is not deleted and has this tag.
  [[nodiscard]] Result<std::optional<RemoteRun>> run_tagged(const std::string& experiment_id,
                                                            const std::string& tag, const std::string& value);
  [[nodiscard]] Result<RemoteRun> create(const NewRemoteRun& run);
  [[nodiscard]] Status change(const std::string& id, const RemoteChange& change);
  /// What the server finds wrong with the batch, of which it then takes nothing; nothing where it took it.
  [[nodiscard]] Result<std::optional<Error>> log(const std::string& id, const LogBatch& batch);

 private:
  Result<std::string> ask(const std::string& call, const std::string& body = {});
  Result<std::optional<std::string>> experiment_named(const std::string& name);
  Exchange exchange_;
  std::string shown_;
};

}  // namespace plimsoll::forward
