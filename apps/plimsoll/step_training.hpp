#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "command_line.hpp"
#include "estimate/parallel.hpp"
#include "estimate/training.hpp"
#include "report/table.hpp"
#include "trained_model.hpp"

namespace plimsoll {

/// A training told by its step on one device, alone or over several: the part of `plimsoll training` that
/// asks for steps.
struct StepTraining {
  std::string step_time, gradients, link, link_latency, tensor_sums, between_stages;
  std::string communication = "ring", overlap = "none", scaling = "strong", devices = "1";
  double backward_share = 2.0 / 3, batch = 1, sequence = 1, dataset = 0, tokens = 0, epochs = 1;
  estimate::Split split;
  std::int64_t servers = 1;

  void add_to(CommandLine& command);
  [[nodiscard]] bool asked() const { return !step_time.empty(); }
  /// The device that --step-time tells of.
  [[nodiscard]] Result<OneDevice> measured() const;
  [[nodiscard]] Result<int> print(const OneDevice& device, bool json, const report::TextStyle& style) const;

 private:
  [[nodiscard]] Result<estimate::ParallelSetting> setting(const OneDevice& device, bool several) const;
  [[nodiscard]] Result<std::vector<std::int64_t>> counts() const;
};

}  // namespace plimsoll
