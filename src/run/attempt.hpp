#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/units.hpp"
#include "job/fields.hpp"
#include "run/job.hpp"

namespace plimsoll::running {

/// What a supervisor is told beside its order where the queue's daemon starts it: one attempt to run one job.
/// It outlives the daemon; what it leaves in the folder (run/attempt_folder.hpp) tells a later one all.
struct Attempt {
  /// Who the supervisor becomes before all else; only root's daemon says so.
  struct User {
    uid_t user = 0;
    gid_t group = 0;
    std::vector<gid_t> groups = {};  ///< all of them
    friend bool operator==(const User&, const User&) = default;
  };

  std::filesystem::path folder = {};  ///< absolute; made by the daemon, 0700, of the job's user
  bool leased = false;                ///< it ends its command before the folder's `lease` runs out
  /// A lease that cannot be read runs out so long after the start.
  Seconds lease_patience{60};
  std::optional<User> user = {};
  std::optional<Variables> environment = {};  ///< all of it, instead of the daemon's own
  mode_t umask = 022;
  std::string shared_as = "alone";  ///< for the record: alone, naive, mps
  friend bool operator==(const Attempt&, const Attempt&) = default;
};

[[nodiscard]] job::Json attempt_json(const Attempt& attempt);
[[nodiscard]] Result<Attempt> read_attempt(const job::Json& message);

/// Makes this process the user's, for good: groups, ids, no way back. Before any thread is started.
[[nodiscard]] Status become(const Attempt::User& user);
/// Nothing of this process's own environment is left. Before any thread is started.
[[nodiscard]] Status replace_environment(const Variables& environment);

}  // namespace plimsoll::running
