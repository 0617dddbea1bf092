#pragma once
#include <chrono>
#include <functional>

#include "engine/device.hpp"
#include "engine/executor.hpp"
#include "job/answer.hpp"
#include "job/job.hpp"

namespace plimsoll::engine {

/// Where answers go, one by one, as soon as they are known.
using Emit = std::function<void(const job::Answer&)>;
/// One pass, or one training step; does not wait for the device.
using Pass = std::function<void()>;

/// On the host's clock that never jumps.
[[nodiscard]] double seconds_since(std::chrono::steady_clock::time_point begin);

/// The first pass, alone: seconds on the host's clock until the device has finished.
[[nodiscard]] double time_cold(Device& device, const Pass& pass);

/// Hot passes until the median's interval is narrow enough or the time is over. Which of the first samples
/// were warm-up is found afterwards from the samples themselves (base/statistics.hpp).
void time_hot(Device& device, const Pass& pass, const job::Protocol& protocol, const Emit& emit,
              job::Measured& measured);

/// Steady passes for so many seconds between two "window" answers.
void run_window(Device& device, const Pass& pass, double seconds, const Emit& emit);

/// Time by layer, without a barrier after each: a marker after every instruction.
[[nodiscard]] job::Layers time_layers(Device& device, const Pass& pass, Executor& executor, const Emit& emit);

/// Queries as MLPerf Inference sends them; `batch` samples are one pass.
[[nodiscard]] job::Latencies run_scenario(Device& device, const Pass& pass, const job::Protocol& protocol,
                                          std::int64_t batch, std::uint64_t seed, const Emit& emit);

}  // namespace plimsoll::engine
