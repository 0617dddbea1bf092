#include "estimate/figures.hpp"

namespace plimsoll::estimate {
namespace {

std::optional<double> number(const std::optional<Joules>& joules) {
  return joules ? std::optional(joules->value()) : std::nullopt;
}

}  // namespace

Figure time_figure(const TimeEstimate& e) {
  return {.value = e.seconds.value(),
          .unit = Unit::seconds,
          .low = e.low.value(),
          .high = e.high.value(),
          .provenance = e.provenance,
          .source = "kernels, one after the other"};
}

Figure eager_figure(const TimeEstimate& e) {
  return {.name = "eager",
          .value = e.eager.value(),
          .unit = Unit::seconds,
          .provenance = e.eager_launch ? std::max(e.provenance, e.eager_launch->provenance) : e.provenance,
          .source = "kernels, launched one by one"};
}

Figure energy_figure(const TimeEstimate& e) {
  return {.value = number(e.joules),
          .unit = Unit::joules,
          .low = number(e.low_joules),
          .high = number(e.high_joules),
          .provenance = e.provenance,
          .source = "idle power, and more with what kernels reach"};
}

Figure power_figure(const TimeEstimate& e) {
  Figure out{.unit = Unit::watts, .provenance = e.provenance, .source = "energy over time"};
  if (e.joules && e.seconds > Seconds()) out.value = (*e.joules / e.seconds).value();
  return out;
}

Figure memory_figure(std::string name, const std::optional<Bytes>& bytes) {
  Figure out{
      .name = std::move(name), .unit = Unit::bytes, .source = "the framework's allocations, simulated"};
  if (bytes) out.value = static_cast<double>(bytes->count());
  return out;
}

Figure peak_allocated_figure(const MemoryEstimate& e) {
  Figure out = memory_figure("peak allocated", e.peak_allocated);
  out.low = static_cast<double>(e.low.count());
  out.high = static_cast<double>(e.high.count());
  return out;
}

Figure device_used_figure(const MemoryEstimate& e) {
  return memory_figure("device used", e.device_used());
}

Figure minimum_device_figure(const MemoryEstimate& e) {
  return memory_figure("minimum device", e.minimum_device());
}

std::vector<Figure> memory_figures(const MemoryEstimate& e) {
  return {memory_figure("weights", e.weights),
          peak_allocated_figure(e),
          memory_figure("peak reserved", e.peak_reserved),
          device_used_figure(e),
          memory_figure("minimum reserved", e.minimum_reserved),
          minimum_device_figure(e),
          memory_figure("context", e.context),
          memory_figure("capacity", e.capacity)};
}

}  // namespace plimsoll::estimate
