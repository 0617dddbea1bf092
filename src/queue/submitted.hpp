#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "job/fields.hpp"
#include "run/attempt.hpp"
#include "store/queue.hpp"

namespace plimsoll::queue {

/// What a client submits: what is to be kept of each of its jobs.
struct Submitted {
  std::vector<store::NewQueueJob> jobs = {};
  std::string token = {};                   ///< by which a submission that comes again is known
  [[nodiscard]] std::size_t bytes() const;  ///< of all their texts
};
/// Strict: what is not known, or cannot be, is refused. `token` is of a submission that is to be kept alone.
[[nodiscard]] Result<Submitted> read_submitted(const job::Json& message, uid_t user, const std::string& pool,
                                               bool kept);

/// Pairs of names and values, as a submission has them and as the store keeps them.
[[nodiscard]] Result<running::Variables> read_environment(std::string_view text);

}  // namespace plimsoll::queue
