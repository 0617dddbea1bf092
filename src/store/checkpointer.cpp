#include "store/checkpointer.hpp"

#include <system_error>
#include <utility>

#include "base/signals_held_back.hpp"

namespace plimsoll::store {
namespace {

/// Pages in the log, as many as SQLite's own limit, that are worth a visit to the disk.
constexpr int kWorthMoving = 1000;
/// A log begins anew only where all of it has been moved and nobody has written meanwhile. A writer without a
/// pause never lets it, so at this length it moves the rest itself.
constexpr int kLongest = 4 * kWorthMoving;

void move(sqlite3* database, const char* name) {
  // Nobody waits for it and it waits for nobody. What it cannot do now is done by the next.
  sqlite3_wal_checkpoint_v2(database, name, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
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

void Checkpointer::watch(sqlite3* writer) {
  due_ = kWorthMoving;
  sqlite3_wal_hook(writer, &Checkpointer::committed, this);
}

int Checkpointer::committed(void* self, sqlite3* writer, const char* name, int frames) {
  auto& to = *static_cast<Checkpointer*>(self);
  if (frames + kWorthMoving < to.due_) to.due_ = kWorthMoving;  // it has begun anew
  if (frames >= kLongest)
    move(writer, name);
  else if (frames >= to.due_)
    to.wake(frames);
  return SQLITE_OK;
}

void Checkpointer::wake(int frames) {
  due_ = frames + kWorthMoving;
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
    move(database, nullptr);
    lock.lock();
  }
  sqlite3_close(database);
}

}  // namespace plimsoll::store
