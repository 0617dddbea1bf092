#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "plan/schedule/planner.hpp"

/// Which jobs of a plan have to be started from one hand. Private to report.
namespace plimsoll::report {

/// GPUs whose jobs are bound to each other, because one spans them or waits for one of another.
struct GpuGroup {
  std::vector<std::size_t> gpus = {};  ///< in ascending order
  std::vector<std::size_t> jobs = {};  ///< in the order in which they start
};
/// Those that have jobs.
[[nodiscard]] std::vector<GpuGroup> gpu_groups(const plan::schedule::Plan& plan);

/// For each job, those whose end starts it: all that it must wait for, and those at whose end it is planned
/// to start, on its place where there are such. Never in a circle.
[[nodiscard]] std::vector<std::vector<std::size_t>> started_by(const plan::schedule::Plan& plan,
                                                               const GpuGroup& group);

/// When a job starts by the clock, in s: the time it is planned for where nobody's end starts it, else when
/// it arrives.
[[nodiscard]] double starts_at(const plan::schedule::Plan& plan, std::size_t job, bool started_by_others);

/// Which slice of its GPU a place is, from 0, and whether there are others.
struct PartOfGpu {
  std::size_t part = 0, parts = 1;
};
[[nodiscard]] PartOfGpu part_of_gpu(const plan::schedule::Plan& plan, std::size_t place);

/// "GPU 0", "GPUs 0, 1".
[[nodiscard]] std::string group_name(const GpuGroup& group);

}  // namespace plimsoll::report
