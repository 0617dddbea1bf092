#include "serve/http/workers.hpp"

#include <utility>

namespace plimsoll::serve {

Workers::Workers(unsigned threads, std::size_t most_waiting) : most_waiting_(most_waiting) {
  try {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (...) {
    stop();  // those that have started would wait for ever
    throw;
  }
}

Workers::~Workers() {
  stop();
}

bool Workers::give(Task& task) {
  {
    const std::scoped_lock lock(mutex_);
    if (stopped_ || tasks_.size() >= most_waiting_) return false;
    tasks_.push_back(std::move(task));
  }
  news_.notify_one();
  return true;
}

std::size_t Workers::waiting() const {
  const std::scoped_lock lock(mutex_);
  return tasks_.size();
}

void Workers::stop() {
  std::deque<Task> dropped;
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    dropped.swap(tasks_);
  }
  news_.notify_all();
  threads_.clear();
}

void Workers::work() {
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      news_.wait(lock, [this] { return stopped_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    try {
      task();
    } catch (...) {  // NOLINT(bugprone-empty-catch): what the task held answers for it when it goes
    }
  }
}

}  // namespace plimsoll::serve
