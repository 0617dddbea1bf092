#include "hardware/ceilings.hpp"

namespace plimsoll::hardware {

const Ceiling* ceiling_named(std::span<const Ceiling> ceilings, std::string_view name) {
  const Ceiling* best = nullptr;
  for (const Ceiling& c : ceilings) {
    if (c.name != name) continue;
    const bool better = best == nullptr ? true
                        : (name.starts_with("memory-") || name.starts_with("stream-")) && c.at != best->at
                            ? c.at.value_or(0) > best->at.value_or(0)
                        : c.unit == "s" || c.unit.starts_with("J/") ? c.figure.value < best->figure.value
                                                                    : c.figure.value > best->figure.value;
    if (better) best = &c;
  }
  return best;
}

}  // namespace plimsoll::hardware
