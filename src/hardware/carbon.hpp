#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded.hpp"
#include "base/error.hpp"

namespace plimsoll {
/// data/carbon.csv and data/pue.csv as they were when the program was built.
[[nodiscard]] std::span<const EmbeddedFile> embedded_carbon();
}  // namespace plimsoll

namespace plimsoll::hardware {

/// What a country's electricity emits.
struct Grid {
  std::string iso;  ///< three letters: "DNK"
  std::string country;
  double grams_per_kwh = 0;  ///< CO2e
  int year = 0;
  friend bool operator==(const Grid&, const Grid&) = default;
};

/// Energy of a whole data centre over that of its computers.
struct Overhead {
  std::string name;  ///< "aws", "average"
  double pue = 1;
  friend bool operator==(const Overhead&, const Overhead&) = default;
};

struct Carbon {
  std::vector<Grid> grids;  ///< by ISO code
  std::vector<Overhead> overheads;
  std::string grid_source;  ///< in words, with its date
  std::string overhead_source;
};

/// Reads both tables: a comment line that names the source, a line of titles, rows. Anything else is refused
/// with its line.
[[nodiscard]] Result<std::vector<Grid>> parse_grids(std::string_view text, std::string_view where);
[[nodiscard]] Result<std::vector<Overhead>> parse_overheads(std::string_view text, std::string_view where);

[[nodiscard]] const Result<Carbon>& built_in_carbon();

/// By ISO code or name ("DNK", "denmark"); an unknown one is refused with the nearest.
[[nodiscard]] Result<const Grid*> find_grid(const Carbon& carbon, std::string_view name);
/// By name, or a plain number such as "1.3".
[[nodiscard]] Result<Overhead> find_overhead(const Carbon& carbon, std::string_view name);

}  // namespace plimsoll::hardware
