#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

/// Where a number comes from, best first.
enum class Provenance : std::uint8_t {
  measured,    ///< seen on a machine
  calibrated,  ///< fitted to measurements
  datasheet,   ///< the vendor's word
  assumed,     ///< derived or approximate; the source says how
};
[[nodiscard]] std::string_view name(Provenance provenance);
[[nodiscard]] std::optional<Provenance> provenance_named(std::string_view name);

/// SI base units, as machines read them; a share is a plain number.
enum class Unit : std::uint8_t { share, bytes, seconds, joules, watts, kilograms, metres, dollars_per_hour };
[[nodiscard]] std::string_view name(Unit unit);    ///< "seconds", as keys end; a share has none
[[nodiscard]] std::string_view symbol(Unit unit);  ///< "s"

/// How any number is said. report writes it, as JSON, as CSV and for people, so that it has one name and one
/// sign everywhere.
struct Figure {
  /// "peak allocated"; empty for the one that everything else is about, which is called by its unit alone.
  std::string name = {};
  std::optional<double> value = {};  ///< nothing where it is unknown
  Unit unit = Unit::share;
  std::optional<double> low = {}, high = {};  ///< 95 %; infinite where one side is open
  Provenance provenance = Provenance::assumed;
  std::string source = {};  ///< document, program or derivation, in words
  friend bool operator==(const Figure&, const Figure&) = default;
};

/// "peak_allocated_bytes", "seconds": a figure's name wherever programs read it.
[[nodiscard]] std::string key(const Figure& figure);

/// Estimated over measured, less one: positive where the estimate is too high. Nothing where one of them is
/// unknown or nothing was measured.
[[nodiscard]] std::optional<double> estimation_error(const Figure& estimated, const Figure& measured);

}  // namespace plimsoll
