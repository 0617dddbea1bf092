#pragma once
#include <memory>
#include <span>
#include <vector>

#include "engine/swapping/swapped_model.hpp"
#include "engine/timing.hpp"
#include "swapping/link.hpp"
#include "swapping/policy.hpp"
#include "swapping/requests.hpp"

namespace plimsoll::engine {

/// Models that take turns: weights lie in `memory`, as `packed` has them.
struct TurnsQuestion {
  const swapping::Packed& packed;
  const swapping::Policy& policy;
  swapping::HostLink link;  ///< as measured, to tell what would be late
  const job::Swapping& asked;
  std::span<const swapping::Request> requests;  ///< as asked.frames
};

/// Answers the frames. One thread decides, maps and copies, a run ahead of the caller's, which computes:
/// layer by layer, each as soon as its weights are there. `outputs`: what each model's last run gave, on the
/// host.
[[nodiscard]] job::Swapped take_turns(const TurnsQuestion& question,
                                      std::span<const std::unique_ptr<SwappedModel>> models,
                                      BlockMemory& memory, const Emit& emit,
                                      std::vector<std::vector<at::Tensor>>& outputs);

}  // namespace plimsoll::engine
