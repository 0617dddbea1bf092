#pragma once
#include <span>
#include <string>

#include "base/error.hpp"
#include "batches.hpp"
#include "command_line.hpp"
#include "estimate/memory/memory.hpp"
#include "estimate_target.hpp"
#include "report/table.hpp"

namespace plimsoll {

/// `plimsoll estimate --sweep`: many batches on several devices.
struct SweepOptions {
  std::string what;  ///< "batch=1..256"; empty: no sweep
  std::string html, svg;

  /// After the command's other options: those of one batch alone exclude it.
  void add_to(CommandLine& command);
};

struct SweepOutput {
  bool max_batch = false;  ///< search for each device's largest batch, too
  bool json = false;
  report::TextStyle style = {};
};

[[nodiscard]] Result<int> run_sweep(const SweepOptions& options, const Batches& batches,
                                    const network::Setting& setting, std::span<const EstimateTarget> targets,
                                    const std::string& model, const SweepOutput& output);

}  // namespace plimsoll
