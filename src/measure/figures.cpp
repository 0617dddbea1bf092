#include "measure/figures.hpp"

#include <array>

#include "estimate/figures.hpp"

namespace plimsoll::measure {
namespace {

constexpr std::array<const char*, 6> kMemoryNames = {"peak allocated", "peak reserved", "device used",
                                                     "peak requested", "peak resident", "context"};

Figure measured_bytes(MemoryFigure which, const std::optional<std::int64_t>& bytes) {
  Figure out{.name = kMemoryNames[static_cast<std::size_t>(which)],
             .unit = Unit::bytes,
             .provenance = Provenance::measured,
             .source = "Plimsoll's engine"};
  if (bytes) out.value = static_cast<double>(*bytes);
  return out;
}

}  // namespace

Figure seconds_figure(const Row& row) {
  Figure out{.unit = Unit::seconds, .provenance = Provenance::measured, .source = "Plimsoll's engine"};
  if (!row.seconds) return out;
  out.value = row.seconds->value;
  out.low = row.seconds->low;
  out.high = row.seconds->high;
  return out;
}

Figure joules_figure(const Row& row) {
  Figure out{.unit = Unit::joules, .provenance = Provenance::measured};
  if (!row.energy) return out;
  const double joules = row.energy->per_pass.value();
  out.value = joules;
  out.low = joules * (1 - row.energy->uncertainty);
  out.high = joules * (1 + row.energy->uncertainty);
  out.source = row.energy->source;
  return out;
}

Figure measured_figure(const Row& row, MemoryFigure which) {
  using enum MemoryFigure;
  if (which == context)  // known as soon as it is made
    return measured_bytes(which, row.context ? row.context->device_bytes : std::nullopt);
  if (!row.measured) return measured_bytes(which, std::nullopt);
  const job::Memory& memory = row.measured->memory;
  switch (which) {
    case peak_allocated: return measured_bytes(which, memory.peak_allocated_bytes);
    case peak_reserved: return measured_bytes(which, memory.peak_reserved_bytes);
    case device_used: return measured_bytes(which, memory.device_used_bytes);
    case peak_requested: return measured_bytes(which, memory.peak_requested_bytes);
    case peak_resident: return measured_bytes(which, memory.peak_resident_bytes);
    case context: break;
  }
  return measured_bytes(which, std::nullopt);
}

Figure estimated_figure(const Row& row, MemoryFigure which) {
  const auto bytes = [&]() -> std::optional<Bytes> {
    using enum MemoryFigure;
    if (!row.estimate) return std::nullopt;
    switch (which) {
      case peak_allocated: return row.estimate->peak_allocated;
      case peak_reserved: return row.estimate->peak_reserved;
      case device_used: return row.estimate->device_used;
      case peak_requested:
      case peak_resident:
      case context: break;
    }
    return std::nullopt;
  };
  Figure out = estimate::memory_figure(kMemoryNames[static_cast<std::size_t>(which)], bytes());
  if (which == MemoryFigure::peak_allocated && row.estimate) {
    out.low = static_cast<double>(row.estimate->low.count());
    out.high = static_cast<double>(row.estimate->high.count());
  }
  return out;
}

}  // namespace plimsoll::measure
