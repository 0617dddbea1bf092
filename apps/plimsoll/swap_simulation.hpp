#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "report/swap_report.hpp"

namespace plimsoll {

struct SwapOptions {
  std::string models;
  std::string memory, device = "this", calibration;
  std::vector<std::string> policies{"all"};
  double fps = 30;
  std::string deadline = "100ms";
  std::int64_t frames = 3000;
  std::string pattern = "steady", order = "best", late = "drop";
  std::int64_t seed = 0;
  std::string requests;
  std::string block = "2MiB";
  std::string link, latency;
  bool simulate = false, json = false;
};

/// Reads, weighs the models on the device and simulates every policy.
[[nodiscard]] Result<report::SwapReport> simulate_swapping(const SwapOptions& options);

}  // namespace plimsoll
