#pragma once
#include <vector>

#include "hardware/device.hpp"
#include "plan/schedule/planner.hpp"

namespace plimsoll {

/// GPUs alike, with every way in which they can be set up; without MPS inside slices where what is to carry
/// the plan out has no such way.
[[nodiscard]] plan::schedule::Fleet fleet_of(const hardware::Device& device, std::size_t gpus, double price,
                                             bool clients_in_slices = true);

/// Several at once in each of a layout's slices, as clients of MPS there; what there is already is taken.
[[nodiscard]] plan::schedule::Layout with_clients(const plan::schedule::Layout& layout,
                                                  std::vector<plan::schedule::Setup>& setups);

}  // namespace plimsoll
