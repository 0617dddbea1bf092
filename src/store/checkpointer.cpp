#include "store/checkpointer.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/signals_held_back.hpp"

namespace plimsoll::store {
namespace {

/// Pages in the log, as many as SQLite's own limit, that are worth a visit to the disk.
constexpr int kWorthMoving = 1000;

/// SQLite waits for the place of a reader in the log even after a reader of today's state has taken it, for
/// ever where one follows the other without a pause. So it is asked anew after this long.
constexpr std::chrono::milliseconds kTurn{50};

/// Everything in the log into the file, and no reader left in it, so that the next commit begins it anew. A
/// log that is merely moved goes on: whoever writes or reads meanwhile keeps it.
bool have_begun_anew(sqlite3* writer, const char* name, Patience& patience) {
  const auto most = patience.most;
  const auto until = std::chrono::steady_clock::now() + most;
  patience.most = std::min(most, kTurn);
  int code = SQLITE_BUSY;
  for (;;) {
    code = sqlite3_wal_checkpoint_v2(writer, name, SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
    if (code != SQLITE_BUSY || std::chrono::steady_clock::now() >= until) break;
    // Where another process moves the log at this moment, SQLite does not wait at all.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  patience.most = most;
  return code == SQLITE_OK;
}

}  // namespace

Checkpointer::~Checkpointer() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  news_.notify_one();
  thread_.join();
}

void Checkpointer::watch(sqlite3* writer, Patience& patience) {
  patience_ = &patience;
  begin_counting();
  sqlite3_wal_hook(writer, &Checkpointer::committed, this);
}

void Checkpointer::begin_counting() {
  due_ = kWorthMoving;
  shorten_at_ = wait_at_ = kLongestLog;
}

int Checkpointer::committed(void* self, sqlite3* writer, const char* name, int pages) {
  auto& to = *static_cast<Checkpointer*>(self);
  if (pages <= to.pages_) to.begin_counting();  // it has begun anew
  to.pages_ = pages;
  if (pages >= to.shorten_at_)
    to.shorten(writer, name, pages);
  else if (pages >= to.due_)
    to.wake(pages);
  return SQLITE_OK;
}

void Checkpointer::shorten(sqlite3* writer, const char* name, int pages) {
  // The thread waits for nobody but the disk; while it moves, the log could only grow.
  const std::scoped_lock turn(moving_);
  // Other processes wait for this as for any commit: a part of their patience, not all of it. A reader that
  // stays longer keeps the log; it is asked again after some pages, and waited for again after many.
  const bool waits = pages >= wait_at_;
  const auto most =
      std::exchange(patience_->most, waits ? patience_->most / 4 : std::chrono::milliseconds(0));
  const bool anew = have_begun_anew(writer, name, *patience_);
  patience_->most = most;
  if (anew) return;
  shorten_at_ = pages + kWorthMoving;
  if (waits) wait_at_ = pages + kLongestLog;
}

void Checkpointer::wake(int pages) {
  due_ = pages + kWorthMoving;
  if (!thread_.joinable()) {
    const SignalsHeldBack held;
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
      return;  // the writer does it
    }
  }
  {
    const std::scoped_lock lock(mutex_);
    wanted_ = true;
  }
  news_.notify_one();
}

void Checkpointer::work() {
  sqlite3* database = nullptr;
  const int opened =
      sqlite3_open_v2(path_.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  // As safe as any: each piece that is moved is on the disk before the log can begin anew.
  sqlite3_exec(database, "PRAGMA synchronous = NORMAL", nullptr, nullptr, nullptr);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    news_.wait(lock, [this] { return wanted_ || stopping_; });
    if (!std::exchange(wanted_, false) || stopping_ || opened != SQLITE_OK) continue;
    lock.unlock();
    {
      const std::scoped_lock turn(moving_);
      // It waits for nobody. What it cannot do now is done by the next.
      sqlite3_wal_checkpoint_v2(database, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    }
    lock.lock();
  }
  sqlite3_close(database);
}

}  // namespace plimsoll::store
