#include "serve/delta_feed.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "serve/mlflow/json_writer.hpp"
#include "store/host_series.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::serve {
namespace {

using mlflow::JsonWriter;

constexpr std::chrono::seconds kPace{1};
constexpr std::size_t kMostRunsTold = 2000, kMostWhoListen = 256;

void add_hardware(LiveRun& out, const std::string& metric, double value) {
  if (store::read_host_series(metric).name == "system/run/cpu") out.hardware["cpu"] += value;
  const std::string of_gpu = store::run_gpu_figure(metric);
  if (of_gpu == "energy" || of_gpu == "sm_activity") out.hardware[of_gpu] += value;
  if (of_gpu == "memory") out.hardware["gpu_memory"] += value;
}

bool same(const store::Point& a, const store::Point& b) {
  return a.time == b.time && a.step == b.step &&
         (a.value == b.value || (a.value != a.value && b.value != b.value));
}

/// One part of a run's JSON, with the comma before it.
template <class Map, class Same, class Write>
void write_differing(JsonWriter& out, std::string_view name, const Map& now, const Map* before, Same is_same,
                     Write write, bool& any) {
  bool open = false;
  for (const auto& [key, value] : now) {
    if (before != nullptr)
      if (const auto found = before->find(key); found != before->end() && is_same(found->second, value))
        continue;
    if (!std::exchange(open, true)) out.key(name).begin_array();
    out.begin_array().text(key);
    write(value);
    out.end_array();
  }
  if (open) out.end_array();
  any = any || open;
}

}  // namespace

LiveRun live_run(const store::Run& run) {
  LiveRun out{.name = run.name,
              .experiment = run.experiment,
              .status = std::string(store::name(run.status)),
              .user = run.user,
              .experiment_id = run.experiment_id,
              .start = store::milliseconds(run.start),
              .params = run.params};
  if (run.end) out.end = store::milliseconds(*run.end);
  for (const auto& [name, metric] : run.metrics) {
    if (store::is_own_metric(name))
      out.metrics.emplace(name, metric.latest);
    else
      add_hardware(out, name, metric.latest.value);
  }
  return out;
}

std::string live_json(const std::string& id, const LiveRun& run, const LiveRun* before) {
  JsonWriter out;
  out.begin_object().member("id", id);
  bool any = before == nullptr;
  if (before == nullptr) {
    out.member("experiment_id", fmt::format("{}", run.experiment_id)).member("experiment", run.experiment);
    out.member("user", run.user).integer_member("start", run.start);
  }
  const auto differs = [&](const auto& now, auto LiveRun::* part) {
    const bool yes = before == nullptr || before->*part != now;
    any = any || yes;
    return yes;
  };
  if (differs(run.name, &LiveRun::name)) out.member("name", run.name);
  if (differs(run.status, &LiveRun::status)) out.member("status", run.status);
  if (run.end && differs(run.end, &LiveRun::end)) out.integer_member("end", *run.end);
  write_differing(
      out, "params", run.params, before == nullptr ? nullptr : &before->params, std::equal_to<>(),
      [&](const std::string& value) { out.text(value); }, any);
  write_differing(
      out, "metrics", run.metrics, before == nullptr ? nullptr : &before->metrics, same,
      [&](const store::Point& point) {
        out.number(point.value).integer(point.step).integer(store::milliseconds(point.time));
      },
      any);
  write_differing(
      out, "hardware", run.hardware, before == nullptr ? nullptr : &before->hardware, std::equal_to<>(),
      [&](double value) { out.number(value); }, any);
  out.end_object();
  return any ? out.take() : std::string();
}

DeltaFeed::DeltaFeed(store::Store& store) : store_(store), thread_([this] { work(); }) {}

DeltaFeed::~DeltaFeed() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    for (const Listener& listener : listeners_) listener.queue->close();
  }
  news_.notify_one();
  thread_.join();
}

bool DeltaFeed::add(std::shared_ptr<EventQueue> listener, std::string run) {
  {
    const std::scoped_lock lock(mutex_);
    if (count_ == kMostWhoListen) return false;
    ++count_;
    fresh_ = true;
    listeners_.push_back({std::move(listener), std::move(run)});
  }
  news_.notify_one();
  return true;
}

/// Nothing where the store is locked or away: it is asked again a second later.
std::optional<DeltaFeed::News> DeltaFeed::look() {
  const auto is_known = [&](const std::string& id, std::int64_t version) {
    const auto found = runs_.find(id);
    return found != runs_.end() && found->second.version == version;
  };
  const auto found =
      store_.search({.filter = "attributes.status = 'RUNNING'", .limit = kMostRunsTold}, is_known);
  if (!found) return std::nullopt;
  News news;
  std::map<std::string, Kept> now;
  for (const store::Found& one : *found) {
    const auto before = runs_.find(one.id);
    if (!one.run) {
      if (before != runs_.end()) now.emplace(one.id, std::move(before->second));
      continue;
    }
    Kept kept{one.version, live_run(*one.run)};
    std::string json = live_json(one.id, kept.run, before == runs_.end() ? nullptr : &before->second.run);
    if (!json.empty()) news.changed.emplace(one.id, std::move(json));
    now.emplace(one.id, std::move(kept));
  }
  for (auto& [id, kept] : runs_) {
    if (now.contains(id)) continue;
    const Result<store::Run> run = store_.find(id);
    if (!run && run.error().may_pass()) {
      now.emplace(id, std::move(kept));
      continue;
    }
    if (run)
      if (std::string json = live_json(id, live_run(*run), &kept.run); !json.empty())
        news.changed.emplace(id, std::move(json));
    news.gone.push_back(id);
  }
  runs_ = std::move(now);
  return news;
}

void DeltaFeed::tell(std::vector<Listener>& listeners, const News& news) {
  // Each is written once, when the first wants it.
  EventQueue::Event change_of_all, snapshot_of_all;
  const auto change = [&](const std::string& only) {
    JsonWriter out;
    out.begin_object().key("runs").begin_array();
    for (const auto& [id, json] : news.changed)
      if (only.empty() || only == id) out.written(json);
    out.end_array().key("gone").begin_array();
    for (const std::string& id : news.gone)
      if (only.empty() || only == id) out.text(id);
    out.end_array().end_object();
    return EventQueue::event("change", out.take());
  };
  const auto snapshot = [&](const std::string& only) {
    JsonWriter out;
    out.begin_object().key("runs").begin_array();
    for (const auto& [id, kept] : runs_)
      if (only.empty() || only == id) out.written(live_json(id, kept.run, nullptr));
    out.end_array().end_object();
    return EventQueue::event("snapshot", out.take());
  };
  const bool is_news = !news.changed.empty() || !news.gone.empty();
  for (Listener& listener : listeners) {
    const std::string& only = listener.run;
    if (std::exchange(listener.is_new, false)) {
      if (only.empty() && !snapshot_of_all) snapshot_of_all = snapshot(only);
      listener.queue->send(only.empty() ? snapshot_of_all : snapshot(only));
      continue;
    }
    const bool concerns =
        only.empty() ? is_news
                     : news.changed.contains(only) || std::ranges::find(news.gone, only) != news.gone.end();
    if (!concerns) continue;
    if (only.empty() && !change_of_all) change_of_all = change(only);
    listener.queue->send(only.empty() ? change_of_all : change(only));
  }
}

void DeltaFeed::work() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (listeners_.empty()) {
      runs_.clear();
      news_.wait(lock, [&] { return stopping_ || !listeners_.empty(); });
      continue;
    }
    std::vector<Listener> listeners = std::exchange(listeners_, {});
    fresh_ = false;
    lock.unlock();
    if (const std::optional<News> news = look()) tell(listeners, *news);
    const std::size_t gone =
        std::erase_if(listeners, [](const Listener& one) { return one.queue->closed(); });
    lock.lock();
    count_ -= gone;
    for (Listener& listener : listeners) listeners_.push_back(std::move(listener));
    if (stopping_)
      for (const Listener& listener : listeners_) listener.queue->close();
    else
      news_.wait_for(lock, kPace, [&] { return stopping_ || fresh_; });
  }
}

}  // namespace plimsoll::serve
