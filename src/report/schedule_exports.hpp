#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "hardware/mig.hpp"
#include "plan/schedule/planner.hpp"
#include "report/plan_layouts_report.hpp"

/// A plan of jobs as files that others run.
namespace plimsoll::report {

/// What is started for a job of the plan; in the plan's order.
struct ExportedJob {
  std::vector<std::string> command = {};
  std::vector<std::string> estimate = {};     ///< arguments of `plimsoll estimate`
  std::optional<std::string> directory = {};  ///< to run in
};

/// A jobs file for `plimsoll run`: a workload for each GPU; GPUs that a job spans, or whose jobs wait for
/// each other, are one. A job starts when those end at whose end it is planned to, else at its time. Fails
/// where a job has no command, or words that TOML cannot hold; all such jobs are told.
[[nodiscard]] Result<std::string> run_jobs_toml(const plan::schedule::Plan& plan,
                                                std::span<const ExportedJob> jobs,
                                                std::string_view experiment);

/// A configuration of NVIDIA's device plugin for Kubernetes: as many replicas of a GPU as jobs are on one at
/// once, at most.
[[nodiscard]] std::string kubernetes_sharing(const plan::schedule::Plan& plan);

/// What the plan cuts GPUs into, for mig_parted_text(); nothing where it cuts none, or into what the table
/// does not know.
[[nodiscard]] std::optional<MigConfiguration> mig_configuration(const plan::schedule::Plan& plan,
                                                                const hardware::MigTable& table,
                                                                std::string name);

/// Batch scripts for Slurm, by file name: each holds a GPU, or several as above, and starts its jobs inside
/// as planned, under MPS where the plan says so. Fails where a job has no command; all such jobs are told.
[[nodiscard]] Result<std::vector<std::pair<std::string, std::string>>> sbatch_scripts(
    const plan::schedule::Plan& plan, std::span<const ExportedJob> jobs);

}  // namespace plimsoll::report
