#include "engine/swapping/planned_runs.hpp"

#include <algorithm>

namespace plimsoll::engine {

constexpr std::chrono::milliseconds kPatience{500};

std::shared_ptr<PlannedRun> PlannedRuns::next(bool& more) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kPatience, [&] { return failed_ || ended_ || !waiting_.empty(); });
  more = !failed_ && !(ended_ && waiting_.empty());
  if (failed_ || waiting_.empty()) return nullptr;
  std::shared_ptr<PlannedRun> run = std::move(waiting_.front());
  waiting_.pop_front();
  return run;
}

void PlannedRuns::add(std::shared_ptr<PlannedRun> run) {
  tell([&] { waiting_.push_back(std::move(run)); });
}

void PlannedRuns::end() {
  tell([&] { ended_ = true; });
}

void PlannedRuns::bring(PlannedRun& run, std::unique_ptr<Fence> fence) {
  tell([&] { run.copied[run.there++] = std::move(fence); });
}

bool PlannedRuns::wait_there(const PlannedRun& run, std::size_t layer) {
  return wait([&] { return run.there > layer; });
}

void PlannedRuns::begin(PlannedRun& run, Seconds at) {
  tell([&] { run.began = at; });
}

void PlannedRuns::finish(PlannedRun& run, Seconds at) {
  tell([&] { run.finished = at; });
}

Seconds PlannedRuns::lateness(const PlannedRun& run) {
  const std::scoped_lock lock(mutex_);
  return run.finished ? std::max(Seconds(), *run.finished - run.of.finish()) : Seconds();
}

void PlannedRuns::compute(PlannedRun& run, std::unique_ptr<Fence> fence) {
  tell([&] { run.computed[run.computed_layers++] = std::move(fence); });
}

bool PlannedRuns::wait_computed(const PlannedRun& run, std::size_t layer) {
  return wait([&] { return run.computed_layers > layer; });
}

bool PlannedRuns::wait_begun(const PlannedRun& run) {
  return wait([&] { return run.began.has_value(); });
}

void PlannedRuns::fail(std::exception_ptr why) {
  tell([&] {
    if (!failed_) why_ = std::move(why);
    failed_ = true;
  });
}

void PlannedRuns::rethrow() {
  const std::scoped_lock lock(mutex_);
  if (why_) std::rethrow_exception(why_);
}

bool PlannedRuns::sleep_until(std::chrono::steady_clock::time_point moment) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, moment, [&] { return failed_; });
  return !failed_;
}

}  // namespace plimsoll::engine
