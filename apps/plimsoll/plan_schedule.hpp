#pragma once
#include <memory>

#include "command.hpp"

namespace plimsoll {

/// What stands behind `plimsoll plan` itself, beside its subcommands.
struct PlanOptions {
  std::string jobs;       ///< a file
  std::string simulate;   ///< a file of jobs that arrive
  std::string devices;    ///< "h200:4"
  std::string inventory;  ///< a file, in place of that
  std::string calibration, figures, store;
  std::vector<std::string> aims;
  std::string price;
  std::int64_t cores = 0;  ///< of a machine; 0: enough
  std::string sharing;     ///< of all policies of a simulation
  std::vector<std::string> policies;
  std::string truth;
  double disturbed = 0;
  std::int64_t seed = 0, looks = 400;
  std::string html, jobs_file, mig_parted, kubernetes, sbatch;
  bool json = false;
};
void add_plan_options(CommandLine& command, PlanOptions& options);
[[nodiscard]] Result<int> run_plan(const PlanOptions& options, const report::TextStyle& style);

}  // namespace plimsoll
