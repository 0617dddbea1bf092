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

std::map<std::string, std::string> EventFeed::look() {
  std::map<std::string, std::string> out;
  const Result<std::vector<store::Run>> runs =
      store_.search({.filter = "attributes.status = 'RUNNING'", .limit = kMostRuns});
  // A store that is locked or away is asked again a second later.
  if (runs)
    for (const store::Run& run : *runs) out.emplace(run.id, text_of(run));
  return out;
}

bool EventFeed::tell(Listener& listener, const std::map<std::string, std::string>& runs) {
  std::map<std::string, std::string> now;
  for (const auto& [id, text] : runs)
    if (listener.run.empty() || listener.run == id) now.emplace(id, text);
  for (const auto& [id, text] : listener.told)
    if (!now.contains(id))  // it has ended, or is deleted
      if (const Result<store::Run> run = store_.find(id); run && !listener.queue->send("run", text_of(*run)))
        return false;
  for (const auto& [id, text] : now) {
    const auto before = listener.told.find(id);
    if ((before == listener.told.end() || before->second != text) && !listener.queue->send("run", text))
      return false;
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
    const std::map<std::string, std::string> runs = look();
    const std::size_t gone =
        std::erase_if(listeners, [&](Listener& listener) { return !tell(listener, runs); });
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
