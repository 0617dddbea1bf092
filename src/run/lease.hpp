#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace plimsoll::running {

/// A clock that counts while the machine sleeps and that nobody sets, and which start of the machine it
/// counts from. Tests put theirs in place.
struct BootClock {
  std::function<Seconds()> now = {};       ///< CLOCK_BOOTTIME
  std::function<std::string()> boot = {};  ///< the kernel's boot_id; empty where it cannot be read
  [[nodiscard]] static BootClock of_machine(const std::filesystem::path& root = "/");
};

/// Until when an attempt may run: "BOOT_ID SECONDS" of CLOCK_BOOTTIME, one line.
struct Lease {
  std::string boot;
  Seconds until;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] static std::optional<Lease> parse(std::string_view text);
  friend bool operator==(const Lease&, const Lease&) = default;
};

/// When a command has to be asked to end, so that it is gone before its lease is over.
class LeaseWatch {
 public:
  /// `grace`: between asking to end and ending. `patience`: a lease that was never read ends so long after
  /// now.
  LeaseWatch(BootClock clock, Seconds patience, std::chrono::milliseconds grace);

  /// What was found; nothing where it could not be read: what was known before holds. One of another start of
  /// the machine is none. A lease may be made shorter as well.
  void note(const std::optional<Lease>& lease);
  /// The command has to be asked to end now.
  [[nodiscard]] bool is_over() const;
  /// What is left of the grace then; 0 where the lease itself has ended, as after a sleep.
  [[nodiscard]] std::chrono::milliseconds grace_left() const;
  /// When the lease should be read again: before it ends, and every other second.
  [[nodiscard]] std::chrono::milliseconds next_look() const;
  [[nodiscard]] Seconds until() const { return until_; }

 private:
  [[nodiscard]] Seconds ask_at() const;
  BootClock clock_;
  std::string boot_;
  Seconds until_;
  std::chrono::milliseconds grace_;
};

}  // namespace plimsoll::running
