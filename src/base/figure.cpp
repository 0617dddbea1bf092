#include "base/figure.hpp"

#include <algorithm>
#include <array>

#include "base/named.hpp"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 4> kProvenances = {"measured", "calibrated", "datasheet", "assumed"};
constexpr std::array<std::string_view, 8> kUnits = {"",      "bytes",     "seconds", "joules",
                                                    "watts", "kilograms", "metres",  "dollars_per_hour"};
constexpr std::array<std::string_view, 8> kSymbols = {"1", "B", "s", "J", "W", "kg", "m", "$/h"};

}  // namespace

std::string_view name(Provenance provenance) {
  return kProvenances[static_cast<std::size_t>(provenance)];
}
std::optional<Provenance> provenance_named(std::string_view name) {
  return named<Provenance>(name, kProvenances);
}
std::string_view name(Unit unit) {
  return kUnits[static_cast<std::size_t>(unit)];
}
std::string_view symbol(Unit unit) {
  return kSymbols[static_cast<std::size_t>(unit)];
}

std::string key(const Figure& figure) {
  std::string out = figure.name;
  std::ranges::replace(out, ' ', '_');
  const std::string_view unit = name(figure.unit);
  if (!out.empty() && !unit.empty()) out += '_';
  return out += unit;
}

std::optional<double> estimation_error(const Figure& estimated, const Figure& measured) {
  if (!estimated.value || !measured.value || *measured.value <= 0) return std::nullopt;
  return *estimated.value / *measured.value - 1;
}

}  // namespace plimsoll
