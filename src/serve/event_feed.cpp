#include "serve/event_feed.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "serve/mlflow/entities.hpp"

namespace plimsoll::serve {
namespace {

constexpr std::chrono::seconds kInterval{1};
constexpr std::size_t kMostRuns = 100, kMostListeners = 256;

}  // namespace

EventFeed::EventFeed(store::Store& store) : store_(store), thread_([this] { work(); }) {}

EventFeed::~EventFeed() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    for (const Listener& listener : listeners_) listener.queue->close();
  }
  news_.notify_one();
  thread_.join();
}

bool EventFeed::add(std::shared_ptr<EventQueue> listener, std::string run) {
  {
    const std::scoped_lock lock(mutex_);
    if (count_ == kMostListeners) return false;
    ++count_;
    fresh_ = true;
    listeners_.push_back({std::move(listener), std::move(run), {}});
  }
  news_.notify_one();
  return true;
}

std::string EventFeed::text_of(const store::Run& run) {
  mlflow::JsonWriter out;
  mlflow::write(out, run, fmt::format("mlflow-artifacts:/{}", run.experiment_id));
  return out.take();
}

Result<std::map<std::string, std::string>> EventFeed::look() {
  const Result<std::vector<store::Run>> runs =
      store_.search({.filter = "attributes.status = 'RUNNING'", .limit = kMostRuns});
  if (!runs) return std::unexpected(runs.error());
  std::map<std::string, std::string> out;
  for (const store::Run& run : *runs) out.emplace(run.id, text_of(run));
  return out;
}

bool EventFeed::tell(Listener& listener, const std::map<std::string, std::string>& runs) {
  std::map<std::string, std::string> now;
  for (const auto& [id, text] : runs)
    if (listener.run.empty() || listener.run == id) now.emplace(id, text);
  for (auto& [id, text] : listener.told) {
    if (stopping_) return true;
    if (runs.contains(id)) continue;
    const Result<store::Run> run = store_.find(id);
    if (!run && run.error().may_pass())
      now.emplace(id, std::move(text));  // the store is locked or away: asked again a second later
    else if (run && !listener.queue->send("run", text_of(*run)))  // it has ended
      return false;
  }
  for (const auto& [id, text] : now) {
    const auto before = listener.told.find(id);
    const bool is_news = before == listener.told.end() || (runs.contains(id) && before->second != text);
    if (is_news && !listener.queue->send("run", text)) return false;
  }
  listener.told = std::move(now);
  return !listener.queue->closed();
}

void EventFeed::work() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (listeners_.empty()) {
      news_.wait(lock, [&] { return stopping_ || !listeners_.empty(); });
      continue;
    }
    std::vector<Listener> listeners = std::exchange(listeners_, {});
    fresh_ = false;
    lock.unlock();
    // A store that is locked or away is asked again a second later; until then nothing is known to have
    // ended.
    const Result<std::map<std::string, std::string>> runs = look();
    const std::size_t gone = std::erase_if(listeners, [&](Listener& listener) {
      return runs ? !tell(listener, *runs) : listener.queue->closed();
    });
    lock.lock();
    count_ -= gone;
    for (Listener& listener : listeners) listeners_.push_back(std::move(listener));
    if (stopping_)
      for (const Listener& listener : listeners_) listener.queue->close();
    else
      news_.wait_for(lock, kInterval, [&] { return stopping_ || fresh_; });
  }
}

}  // namespace plimsoll::serve
