#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "estimate/profile/activity.hpp"
#include "network/network.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// A Profile, ready to be shown. A view.
struct KernelReport {
  const network::Network* network = nullptr;
  const program::Program* program = nullptr;
  const estimate::Profile* profile = nullptr;
  const estimate::ProfileDemand* demand = nullptr;  ///< null: of a device that is no GPU
  bool captured = true;                             ///< as a graph; else launched one by one
};

/// The operator, "loss", "sum of gradients" or "optimizer"; safe to print.
[[nodiscard]] std::string kernel_layer(const KernelReport& report, const program::Launch& launch);
/// "forward"; "backward, again" of what is recomputed; "forward, 7 times" of passes that are alike.
[[nodiscard]] std::string phase_words(const program::Launch& launch);
/// "convolution 32x64x56x56 64 3x3", as far as it tells kernels apart.
[[nodiscard]] std::string kernel_words(const hardware::OperatorCase& what);

/// How busy the GPU is, in a line; then a row per kernel, in the order in which they run.
[[nodiscard]] std::string kernels_text(const KernelReport& report, const TextStyle& style);
[[nodiscard]] Table kernels_table(const KernelReport& report);

/// One object per kernel, and `activity`: means over the pass.
[[nodiscard]] nlohmann::ordered_json kernels_json(const KernelReport& report);
[[nodiscard]] nlohmann::ordered_json activity_json(const KernelReport& report);

}  // namespace plimsoll::report
