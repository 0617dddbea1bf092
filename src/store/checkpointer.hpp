#pragma once
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include <sqlite3.h>

namespace plimsoll::store {

/// Moves what a write-ahead log holds into its file, on a thread and a connection of its own. Left alone,
/// SQLite has the commit that makes the log long do so, which then waits for the disk several times.
class Checkpointer {
 public:
  explicit Checkpointer(std::filesystem::path path) : path_(std::move(path)) {}
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;
  ~Checkpointer();  ///< after the writer's connection is closed

  /// From now on it is told how long the log is after each commit of this connection, the only one to write.
  void watch(sqlite3* writer);

 private:
  static int committed(void* self, sqlite3* writer, const char* name, int frames);
  void wake(int frames);
  void work();

  std::filesystem::path path_;
  int due_ = 0;  ///< the writer's: how long the log is when the thread is woken next
  std::mutex mutex_;
  std::condition_variable news_;
  bool wanted_ = false, stopping_ = false;
  std::thread thread_;  ///< since the log was long for the first time
};

}  // namespace plimsoll::store
