#pragma once
#include "base/error.hpp"
#include "engine/timing.hpp"
#include "job/job.hpp"

namespace plimsoll::engine {

/// Exit codes of plimsoll-engine, as those of plimsoll.
enum class Outcome : int { done = 0, does_not_fit = 1, bad_input = 2, machine_lacks = 3, internal = 4 };

/// Does what a job asks and answers as it goes. Never throws: what the library throws becomes the answer
/// "does-not-fit" or "error".
[[nodiscard]] Outcome run(const job::Job& job, const Emit& emit);

/// Tells an error as an answer, and gives its exit code.
[[nodiscard]] Outcome tell(const Error& error, const Emit& emit);

}  // namespace plimsoll::engine
