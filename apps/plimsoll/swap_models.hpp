#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/all_errors.hpp"
#include "plan/swap/weighed.hpp"
#include "swapping/requests.hpp"
#include "workload_source.hpp"

namespace plimsoll {

/// A model that takes turns in a memory, as a person gives it.
struct SwapModelRequest {
  WorkloadRequest workload;           ///< whose name tells it apart
  std::optional<double> rate = {};    ///< frames a second; else --fps
  std::optional<Seconds> limit = {};  ///< else --deadline
  std::optional<double> accuracy = {};
};

struct SwapModels {
  std::vector<SwapModelRequest> models;
  std::vector<swapping::SharedGroup> shared;
};

inline constexpr std::size_t kMostSwapModels = 64;

/// [[model]] and [[shared]] tables where `name`, which says where it comes from, ends in .toml; else the same
/// as lists "model" and "shared" in JSON. All mistakes are told at once.
[[nodiscard]] AllErrors<SwapModels> read_swap_models(std::string_view text, const std::string& name);

/// CSV with columns `seconds` and `model`: when frames come. `models` are their names.
[[nodiscard]] AllErrors<std::vector<swapping::Request>> read_swap_requests(
    std::string_view text, const std::vector<std::string>& models);

/// Times of layers on a device of which too little is known: a failure, or zero.
enum class LayerTimes : std::uint8_t { needed, if_known };

/// On a device: its layers, their weights and times, and what else it needs while it runs.
[[nodiscard]] Result<swapping::WeighedModel> weigh_swap_model(const WorkloadRequest& request,
                                                              const EstimateTarget& on, LayerTimes times);

}  // namespace plimsoll
