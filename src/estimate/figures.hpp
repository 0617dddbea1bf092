#pragma once
#include <vector>

#include "base/figure.hpp"
#include "estimate/memory/memory.hpp"
#include "estimate/time/time.hpp"

/// What an estimate says, each with its name, unit, interval and provenance.
namespace plimsoll::estimate {

[[nodiscard]] Figure time_figure(const TimeEstimate& estimate);    ///< "seconds"
[[nodiscard]] Figure eager_figure(const TimeEstimate& estimate);   ///< "eager_seconds"
[[nodiscard]] Figure energy_figure(const TimeEstimate& estimate);  ///< "joules"
[[nodiscard]] Figure power_figure(const TimeEstimate& estimate);   ///< "watts", on average

[[nodiscard]] Figure peak_allocated_figure(const MemoryEstimate& estimate);
[[nodiscard]] Figure device_used_figure(const MemoryEstimate& estimate);
[[nodiscard]] Figure minimum_device_figure(const MemoryEstimate& estimate);
/// Weights, peak allocated, and the others of a run's memory, in the order in which they are told.
[[nodiscard]] std::vector<Figure> memory_figures(const MemoryEstimate& estimate);

/// Some bytes of a simulated run, for those who keep no whole estimate: "peak allocated", "device used", …
[[nodiscard]] Figure memory_figure(std::string name, const std::optional<Bytes>& bytes);

}  // namespace plimsoll::estimate
