#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::hardware {

/// Where a figure comes from, best first.
enum class Provenance : std::uint8_t {
  measured,    ///< seen on a machine
  calibrated,  ///< fitted to measurements
  datasheet,   ///< the vendor's word
  assumed,     ///< derived or approximate; the source says how
};
[[nodiscard]] std::string_view name(Provenance provenance);
[[nodiscard]] std::optional<Provenance> provenance_named(std::string_view name);

/// What a figure says about the true value. A study that tells only "more than 5 W" is worth keeping.
enum class Bound : std::uint8_t { exact, at_most, more_than };
[[nodiscard]] std::string_view name(Bound bound);
[[nodiscard]] std::optional<Bound> bound_named(std::string_view name);

/// A number in SI base units (the field that holds it says which) and where it comes from. An unknown
/// figure is an absent one: nothing here is guessed.
struct Figure {
  double value = 0;
  Provenance provenance = Provenance::assumed;
  std::string source = {};  ///< document, program or derivation, in words
  std::string date = {};    ///< year or ISO date of the source; empty where it has none
  Bound bound = Bound::exact;
  friend bool operator==(const Figure&, const Figure&) = default;
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
