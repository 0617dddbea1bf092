#include "serve/upkeep.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace plimsoll::serve {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kBetweenSlices{50}, kIdle{5000};
constexpr std::chrono::seconds kQuiet{10};
constexpr std::chrono::hours kForgotten{24};

void remove_forgotten(const fs::path& uploads) {
  std::error_code problem;
  const fs::file_time_type limit = fs::file_time_type::clock::now() - kForgotten;
  for (fs::directory_iterator entry(uploads, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    std::error_code each;
    if (entry->is_regular_file(each) && entry->last_write_time(each) < limit && !each)
      fs::remove(entry->path(), each);
  }
}

}  // namespace

Upkeep::Upkeep(store::Store& store, fs::path uploads)
    : store_(store), uploads_(std::move(uploads)), thread_([this] { work(); }) {}

Upkeep::~Upkeep() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  news_.notify_one();
  thread_.join();
}

void Upkeep::work() {
  remove_forgotten(uploads_);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    const Clock::time_point begin = Clock::now();
    // A store that is locked or away is asked again later.
    const Result<bool> more = store_.maintain(kQuiet);
    // A tenth of the time at most: there are clients that wait.
    const Clock::duration pause = std::max<Clock::duration>(kBetweenSlices, 9 * (Clock::now() - begin));
    lock.lock();
    news_.wait_for(lock, more && *more ? pause : kIdle, [&] { return stopping_; });
  }
}

}  // namespace plimsoll::serve
