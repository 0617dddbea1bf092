#pragma once
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include <sqlite3.h>

#include "store/patience.hpp"

namespace plimsoll::store {

/// Pages of a write-ahead log at which the writer itself has it begin anew: it gets no longer than this and
/// one commit, however slow the disk, the thread or the machine, unless a reader needs what is in it.
constexpr int kLongestLog = 4000;

/// Moves what a write-ahead log holds into its file, on a thread and a connection of its own. Left alone,
/// SQLite has the commit that makes the log long do so, which then waits for the disk several times.
class Checkpointer {
 public:
  explicit Checkpointer(std::filesystem::path path) : path_(std::move(path)) {}
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;
  ~Checkpointer();  ///< after the writer's connection is closed

  /// From now on it is told how long the log is after each commit of this connection, the only one of this
  /// process to write. `patience` is what the connection's busy handler obeys; both outlive the connection.
  void watch(sqlite3* writer, Patience& patience);

 private:
  static int committed(void* self, sqlite3* writer, const char* name, int pages);
  void begin_counting();
  void wake(int pages);
  void shorten(sqlite3* writer, const char* name, int pages);
  void work();

  std::filesystem::path path_;
  Patience* patience_ = nullptr;
  // The writer's: how long the log was, and is when the thread is woken, the writer shortens it, and the
  // writer waits for readers to do so.
  int pages_ = 0, due_ = 0, shorten_at_ = 0, wait_at_ = 0;
  std::mutex moving_;  ///< held while the thread moves
  std::mutex mutex_;
  std::condition_variable news_;
  bool wanted_ = false, stopping_ = false;
  std::thread thread_;  ///< since the log was long for the first time
};

}  // namespace plimsoll::store
