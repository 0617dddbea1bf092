#pragma once
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "run/jobs_file.hpp"

namespace plimsoll::running {

/// Names that the jobs of one file may wait for, all together.
inline constexpr std::size_t kMostAwaited = 100'000;
inline constexpr std::string_view kTooManyAwaited = "the jobs wait for more than 100,000 names";

/// All that is wrong with what jobs wait for: a name that no other job of the same experiment and workload
/// has, or that several have, and jobs that wait for each other in a circle.
[[nodiscard]] std::vector<Error> turn_mistakes(const std::vector<JobRow>& rows);

/// For each of the jobs, which of them must have ended before it starts, by their places. A name that none
/// has is one that was left out because it ended before.
[[nodiscard]] std::vector<std::vector<std::size_t>> awaited_by(const std::vector<JobSpec>& jobs);

/// Whether it may have to wait for its turn.
[[nodiscard]] bool waits_for_turn(const JobSpec& job);
/// Tells a job that waits apart from those of other directories and stores, for a second start of its file.
[[nodiscard]] std::string turn_mark(const JobSpec& job, const std::string& store);

}  // namespace plimsoll::running
