#pragma once
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/http/events.hpp"
#include "store/store.hpp"

namespace plimsoll::serve {

/// Tells pages of the runs under way: an event "run" with MLflow's JSON of it when it begins, whenever its
/// metrics, params, tags or status change, and once more when it has ended. The store is looked at every
/// second while anybody listens, so that runs that other processes record are seen too.
class EventFeed {
 public:
  explicit EventFeed(store::Store& store);  ///< outlives the feed
  ~EventFeed();
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  /// `run`: of this one alone; empty: of all. The first events come at once. False where there are too many
  /// listeners already.
  [[nodiscard]] bool add(std::shared_ptr<EventQueue> listener, std::string run);

 private:
  struct Listener {
    std::shared_ptr<EventQueue> queue;
    std::string run;
    std::map<std::string, std::string> told;  ///< runs and what was last said of them
  };
  void work();
  [[nodiscard]] Result<std::map<std::string, std::string>> look();
  /// False where the listener has gone.
  [[nodiscard]] bool tell(Listener& listener, const std::map<std::string, std::string>& runs);
  [[nodiscard]] std::string text_of(const store::Run& run);

  store::Store& store_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<Listener> listeners_;
  std::size_t count_ = 0;               // of listeners, also while they are being told
  bool fresh_ = false;                  // one has come since the store was looked at
  std::atomic<bool> stopping_ = false;  // set under the mutex, looked at without it too
  std::thread thread_;
};

}  // namespace plimsoll::serve
