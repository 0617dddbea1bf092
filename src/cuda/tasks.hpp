#pragma once
#include "cuda/answer.hpp"
#include "cuda/job.hpp"

namespace plimsoll::cuda {

/// Exit codes of plimsoll-cuda, as those of plimsoll.
enum class Outcome : int { done = 0, bad_input = 2, machine_lacks = 3, internal = 4 };

/// Does what a job asks and answers as it goes; the last answer is Done or Failure. Never throws.
[[nodiscard]] Outcome run(const Job& job, const Emit& emit);

}  // namespace plimsoll::cuda
