#pragma once
#include <string>

#include "base/error.hpp"
#include "job/fields.hpp"
#include "store/queue.hpp"

/// Jobs of pools, from a machine where none of their daemons can be asked: by the store, in the words in
/// which a daemon would answer. Daemons find what was changed within a second or two.
namespace plimsoll::queue::slurm {

/// Whose jobs, and of which pools.
struct Afar {
  std::string user = {};   ///< by number
  std::string pools = {};  ///< the beginning of their names
};

/// `list`, `decisions`, `cancel`, `hold`, `release`, with `numbers`; anything else is refused.
[[nodiscard]] Result<job::Json> ask_store(store::Queue& queue, const Afar& afar, const job::Json& message);

}  // namespace plimsoll::queue::slurm
