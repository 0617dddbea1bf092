#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "store/run.hpp"

/// Who may do what, among processes that share a store: the queue of a host, a job. A claim is held for a
/// while and renewed; who does not renew it loses it to whoever asks next.
namespace plimsoll::store {

struct Claim {
  std::string name;    ///< "queue/node7", "job/ID"
  std::string holder;  ///< one process in one life of it: two that call themselves alike are one
  Time until = 0;      ///< by the store's clock
  /// Grows with every change of holder and never falls: who shows a smaller one to anybody is no longer
  /// meant.
  std::int64_t term = 0;
  std::string note = {};
  bool expired = false;  ///< by the store's clock when it answered: whoever asks next may have it
  friend bool operator==(const Claim&, const Claim&) = default;
};

struct ClaimWish {
  std::string name;    ///< 1 to 250 printable characters of ASCII, without blanks
  std::string holder;  ///< 1 to 250 characters
  std::chrono::milliseconds lease;
  std::string note = {};  ///< up to 64 KiB
};

struct ClaimAnswer {
  bool held = false;  ///< by who asked; else `claim` says by whom, without a holder where it is free
  Claim claim;
};

/// Leases have 1 ms to 30 days.
inline constexpr std::chrono::milliseconds kLongestLease = std::chrono::days(30);

/// The claims of a store. Each call is one transaction, durable as all of a store's, and compares before it
/// sets: of any number that ask at once, on any machine, one gets it. A call that failed as unavailable may
/// have been done; it can be repeated. Time is one clock's: a PostgreSQL server's, or of a file that of the
/// machine (docs/store.md says what a clock that jumps can do).
class Claims {
 public:
  virtual ~Claims() = default;

  /// Takes it where it is free or expired, with a new term; renews it where the wish is its holder's own.
  [[nodiscard]] virtual Result<ClaimAnswer> take(const ClaimWish& wish) = 0;
  /// For `lease` from now on, with the note that `held` has. Only where holder and term are still those; also
  /// where it is expired and nobody has asked since.
  [[nodiscard]] virtual Result<ClaimAnswer> renew(const Claim& held, std::chrono::milliseconds lease) = 0;
  /// Makes it free. False: it is not the holder's any more, or another term's, and stays as it is.
  [[nodiscard]] virtual Result<bool> release(const Claim& held) = 0;
  /// Nothing where nobody holds it.
  [[nodiscard]] virtual Result<std::optional<Claim>> held(std::string_view name) = 0;
  /// Those that are held, expired ones included, whose names begin so; in the order of names.
  [[nodiscard]] virtual Result<std::vector<Claim>> all_held(std::string_view prefix) = 0;

 protected:
  Claims() = default;
  Claims(const Claims&) = default;
  Claims& operator=(const Claims&) = default;
};

}  // namespace plimsoll::store
