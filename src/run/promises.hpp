#pragma once
#include <chrono>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/units.hpp"
#include "run/file_lock.hpp"
#include "run/run_processes.hpp"

namespace plimsoll::running {

/// GPU memory that a run was admitted with, and may not have taken yet.
struct Promise {
  std::string run = {};
  std::vector<std::string> devices = {};  ///< UUIDs; the need is on each of them
  Bytes need = {};
  pid_t first = 0;  ///< the run's first process; 0 until it is started
  friend bool operator==(const Promise&, const Promise&) = default;
};

/// Keeps it in the owner's runtime directory, where other supervisors of this user read it; one that is noted
/// again is replaced.
[[nodiscard]] Status note_promise(const std::filesystem::path& directory, const Promise& promise);
/// The run has ended. That none was noted is no error.
void drop_promise(const std::filesystem::path& directory, const std::string& run);
/// Of all whose owner lives, under the base of the runtime directories, by run.
[[nodiscard]] std::vector<Promise> list_promises(const std::filesystem::path& base);

/// Their runs, as look_at_host takes them.
[[nodiscard]] std::vector<KnownRun> runs_of(std::span<const Promise> promises);

/// Held from looking for room until the promise is noted, so that two supervisors do not give the same memory
/// away. Waits for another that holds it, no longer than told: then the error may pass.
class AdmissionLock {
 public:
  [[nodiscard]] static Result<AdmissionLock> take(const std::filesystem::path& base,
                                                  std::chrono::milliseconds patience);

 private:
  explicit AdmissionLock(FileLock lock) : lock_(std::move(lock)) {}
  FileLock lock_;
};

}  // namespace plimsoll::running
