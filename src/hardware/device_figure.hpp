#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/figure.hpp"

namespace plimsoll::hardware {

/// What a figure says about the true value. A study that tells only "more than 5 W" is worth keeping.
enum class Bound : std::uint8_t { exact, at_most, more_than };
[[nodiscard]] std::string_view name(Bound bound);
[[nodiscard]] std::optional<Bound> bound_named(std::string_view name);

/// What somebody says of a device: a number in SI base units (the field that holds it says which), who says
/// it, and when. An unknown one is absent: nothing here is guessed.
struct DeviceFigure {
  double value = 0;
  Provenance provenance = Provenance::assumed;
  std::string source = {};  ///< document, program or derivation, in words
  std::string date = {};    ///< year or ISO date of the source; empty where it has none
  Bound bound = Bound::exact;
  friend bool operator==(const DeviceFigure&, const DeviceFigure&) = default;
};

/// Whether something holds of a device, and who says so. What nobody says is absent, never "no".
struct Claim {
  bool holds = false;
  Provenance provenance = Provenance::assumed;
  std::string source = {};
  std::string date = {};
  friend bool operator==(const Claim&, const Claim&) = default;
};

}  // namespace plimsoll::hardware
