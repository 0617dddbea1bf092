#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/swap_report.hpp"
#include "swap_models.hpp"

namespace plimsoll {

struct SwapOptions {
  std::string models;
  std::string memory, device = "this", calibration;
  std::vector<std::string> policies;  ///< empty: all; where they run for real, the best of them
  double fps = 30;
  std::string deadline = "100ms";
  std::int64_t frames = 3000;
  double seconds = 0;  ///< all frames until then; 0: as many as `frames` says
  std::string pattern = "steady", order = "best", late = "drop";
  std::int64_t seed = 0;
  std::string requests;
  std::string block = "2MiB";
  std::string link, latency;
  bool simulate = false, run = false, in_sequence = false, json = false;
  std::string outputs;  ///< of a run
  std::int64_t threads = 0;
};

/// All that the simulations and runs of one command share.
struct SwapGround {
  SwapModels asked;
  std::vector<swapping::WeighedModel> weighed;  ///< as asked
  swapping::Models models;                      ///< together, with what they share
  report::SwapReport report;
  swapping::Packed separate, together;
  std::vector<swapping::Stream> streams;
  std::vector<std::optional<double>> accuracies;
  std::vector<swapping::Request> requests;
  bool foreseen = true;

  [[nodiscard]] std::int64_t capacity() const { return report.for_weights.count() / report.block.count(); }
};

}  // namespace plimsoll
