#pragma once
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "serve/http/events.hpp"
#include "store/store.hpp"

namespace plimsoll::serve {

/// What a page is told of a run under way; of it only what has changed is said again.
struct LiveRun {
  std::string name, experiment, status, user;
  std::int64_t experiment_id = 0, start = 0;  ///< milliseconds
  std::optional<std::int64_t> end = {};
  std::map<std::string, std::string> params = {};
  std::map<std::string, store::Point> metrics = {};  ///< its own; of hardware the sums below
  std::map<std::string, double> hardware = {};       ///< energy, sm_activity, gpu_memory, cpu
};
[[nodiscard]] LiveRun live_run(const store::Run& run);
/// {"id": …} with all of it; with what differs from `before`, where that is given; empty where nothing does.
[[nodiscard]] std::string live_json(const std::string& id, const LiveRun& run, const LiveRun* before);

/// Tells pages of the runs under way what changes, once a second: first an event "snapshot" {"runs": […]},
/// then "change" {"runs": […], "gone": [ID…]}. The store is asked once for all who listen, and a change is
/// written once for all of them, so that many runs before many pages cost little.
class DeltaFeed {
 public:
  explicit DeltaFeed(store::Store& store);  ///< outlives the feed
  ~DeltaFeed();
  DeltaFeed(const DeltaFeed&) = delete;
  DeltaFeed& operator=(const DeltaFeed&) = delete;

  /// `run`: of this one alone; empty: of all. False where there are too many listeners already.
  [[nodiscard]] bool add(std::shared_ptr<EventQueue> listener, std::string run);

 private:
  struct Listener {
    std::shared_ptr<EventQueue> queue;
    std::string run;
    bool is_new = true;
  };
  struct Kept {
    std::int64_t version = 0;
    LiveRun run;
  };
  /// What one look at the store has found, as it is told.
  struct News {
    std::map<std::string, std::string> changed;  ///< by the run's id
    std::vector<std::string> gone;
  };
  void work();
  [[nodiscard]] std::optional<News> look();
  void tell(std::vector<Listener>& listeners, const News& news);

  store::Store& store_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<Listener> listeners_;
  std::size_t count_ = 0;  // of listeners, also while they are being told
  std::atomic<bool> stopping_ = false;
  bool fresh_ = false;
  std::map<std::string, Kept> runs_;  // the thread's own
  std::thread thread_;
};

}  // namespace plimsoll::serve
