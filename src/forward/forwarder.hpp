#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "forward/left_out.hpp"
#include "forward/log_batch.hpp"
#include "forward/mlflow_remote.hpp"
#include "store/store.hpp"

namespace plimsoll::forward {

/// On the server's run: the id that it has here.
inline constexpr const char* kLocalRunTag = "plimsoll.run";
/// On the run here: where it was sent, as which run, and how many points it had when all of it was there.
/// They stay here.
inline constexpr const char* kServerTag = "plimsoll.mlflow_uri";
inline constexpr const char* kRemoteRunTag = "plimsoll.mlflow_run";
inline constexpr const char* kPointsTag = "plimsoll.mlflow_points";

/// Brings one run to an MLflow server, a batch at a time, and remembers how far it is. A run that is there
/// already, by its tags here or there, is gone on with. Store and server outlive it; one thread at a time.
class Forwarder {
 public:
  /// `url`: the server's, without credentials. `run`: its whole id.
  Forwarder(store::Store& store, MlflowRemote& remote, std::string url, std::string run)
      : store_(&store), remote_(&remote), url_(std::move(url)), id_(std::move(run)) {}

  /// Sends one batch at most. False: the server has what the store has; of a run that has ended, its end too.
  /// `goes_on`: more will come, whatever the run's status says, so its end is not sent yet. After an error
  /// nothing is lost: the next call goes on.
  [[nodiscard]] Result<bool> send_some(bool goes_on = false);

  /// The run has ended, and the server has all of it.
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] const std::string& run() const { return id_; }
  /// As the server names it; null before it has it.
  [[nodiscard]] const RemoteRun* remote_run() const { return there_ ? &*there_ : nullptr; }
  [[nodiscard]] bool created() const { return created_; }
  /// Params and tags.
  using Refused = LeftOut;
  /// In the order in which they were refused first.
  [[nodiscard]] const std::vector<Refused>& refused() const { return refused_; }
  [[nodiscard]] std::int64_t points_sent() const { return points_sent_; }
  [[nodiscard]] std::int64_t points_known() const { return points_known_; }  ///< that the store has

 private:
  /// How far a metric is: all up to `last` was sent.
  struct Cursor {
    std::string key = {};    ///< its name there
    std::string token = {};  ///< of the page that `last` is in
    std::optional<store::Point> last = {};
    std::int64_t sent = 0;
    std::int64_t settled = -1;            ///< where the store's count is this, there is nothing behind `last`
    bool counted = false, again = false;  ///< late points were looked for; all was sent once more for them
  };
  /// What will hold once the server has taken the batch.
  struct Prepared {
    LogBatch batch = {};
    std::map<std::string, Cursor> cursors = {};
    std::map<std::string, std::string> params = {}, tags = {};
  };

  Status settle(const store::Run& run);
  Result<std::optional<RemoteRun>> known_there(const store::Run& run);
  Status begin(const store::Run& run, RemoteRun there);
  void trust_what_was_sent(const store::Run& run);
  Result<std::map<std::string, std::string>> tags_of(const store::Run& run) const;
  Status send_singly(const Prepared& prepared);
  Status send_known_points(const LogBatch& batch, const Error& why);
  Status prepare_points(const store::Run& run, Prepared& out);
  Status read_points(const std::string& name, const store::Metric& metric, Cursor& cursor, LogBatch& batch);
  Result<bool> find_late_points(const store::Run& run);
  Result<std::int64_t> count_points(const std::string& name) const;
  Status finish(const store::Run& run);
  Cursor& cursor_of(const std::string& metric);

  store::Store* store_;
  MlflowRemote* remote_;
  std::string url_, id_;
  std::optional<RemoteRun> there_ = {};  ///< params and tags: as far as they were taken, or refused
  std::vector<Refused> refused_ = {};
  std::map<std::string, Cursor> cursors_ = {};
  std::set<std::string> keys_ = {};  ///< of metrics
  std::optional<RemoteChange> end_ = {};
  std::int64_t points_sent_ = 0, points_known_ = 0;
  bool created_ = false, complete_ = false;
};

}  // namespace plimsoll::forward
