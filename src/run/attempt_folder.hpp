#pragma once
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/units.hpp"
#include "run/attempt.hpp"
#include "run/lease.hpp"
#include "run/session.hpp"

namespace plimsoll::running {

// The files of an attempt's folder; docs/queue.md has their form. The folder is the job's user's, so that
// root's daemon reads what a user may have put there: no link is followed, nothing but a plain file is read,
// and no more than its bound.

/// `began`: written before the command is started.
struct Began {
  std::string run;
  std::filesystem::path socket;  ///< the supervisor's control socket
  std::string supervisor;        ///< ProcessIdentity's text
  friend bool operator==(const Began&, const Began&) = default;
};

/// `saved`: what the command last said that it has saved.
struct Saved {
  std::string text;  ///< "step 400"
  Seconds at;        ///< since 1970
  Seconds boottime;  ///< CLOCK_BOOTTIME
  friend bool operator==(const Saved&, const Saved&) = default;
};

/// The supervisor's side: the folder, with its lock held as long as the object lives. May be used by any
/// thread, by one at a time for each file.
class AttemptFolder {
 public:
  /// The folder, not locked yet: opened while this process may still come there. It has to be the owner's
  /// alone.
  [[nodiscard]] static Result<AttemptFolder> open(const std::filesystem::path& folder, uid_t owner);
  /// exists_already where another holds it, where the attempt has begun or ended once, or is undone: no
  /// attempt is begun twice. A daemon that only looks holds it for a moment, which is waited for.
  [[nodiscard]] Status lock(std::chrono::milliseconds patience = std::chrono::seconds(2));

  // Each is on the disk when the call comes back.
  [[nodiscard]] Status write(const Began& began) const;
  [[nodiscard]] Status write(const Saved& saved) const;
  [[nodiscard]] Status write(const Ended& ended) const;
  [[nodiscard]] std::optional<Lease> lease() const;  ///< nothing where it cannot be read
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  AttemptFolder(FileDescriptor folder, std::filesystem::path path)
      : folder_(std::move(folder)), path_(std::move(path)) {}
  FileDescriptor folder_;
  FileDescriptor lock_;
  std::filesystem::path path_;
};

/// What a supervisor has in hand that tries a job for the queue.
struct HeldAttempt {
  Attempt attempt;
  AttemptFolder folder;
  BootClock clock = BootClock::of_machine();
};

/// What a folder tells a daemon.
struct AttemptFacts {
  bool supervised = false;  ///< a supervisor lives; else what is told is final
  bool undone = false;      ///< nothing will ever be started here
  std::optional<Began> began = {};
  std::optional<Saved> saved = {};
  std::optional<Ended> ended = {};
};
/// Without waiting. An error: the folder or a file in it cannot be read, so that nothing is known.
[[nodiscard]] Result<AttemptFacts> look_at_attempt(const std::filesystem::path& path);

/// Sees to it that nothing is ever started here, also by a supervisor that is on its way. False where the
/// attempt has begun, or a supervisor lives.
[[nodiscard]] Result<bool> undo_attempt(const std::filesystem::path& path);

/// Writes `lease` into the folder, readable by the folder's user; on the disk when the call comes back.
[[nodiscard]] Status write_lease(const std::filesystem::path& path, const Lease& lease);

}  // namespace plimsoll::running
