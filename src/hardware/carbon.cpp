#include "hardware/carbon.hpp"

#include <algorithm>
#include <optional>

#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "hardware/table_rows.hpp"

namespace plimsoll::hardware {
namespace {

constexpr double kMostGrams = 2000;  // coal of the worst kind is near 1200
constexpr double kMostPue = 10;

std::string read_grid(const std::vector<std::string>& row, std::vector<Grid>& grids) {
  if (row.size() != 4) return "has not four cells";
  const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto grams = exact_number<double>(row[2]);
  const auto year = exact_number<int>(row[3]);
  if (row[0].size() != 3 || !std::ranges::all_of(row[0], upper)) return "iso is not three capital letters";
  if (row[1].empty() || row[1].size() > 100 || printable(row[1]) != row[1]) return "country is not a name";
  if (!grams || !(*grams >= 0 && *grams <= kMostGrams))
    return fmt::format("g_per_kwh is not a number from 0 to {:g}", kMostGrams);
  if (!year || *year < 1990 || *year > 2200) return "year is none";
  if (std::ranges::find(grids, row[0], &Grid::iso) != grids.end()) return row[0] + " stands twice";
  grids.push_back({row[0], row[1], *grams, *year});
  return {};
}

std::string read_overhead(const std::vector<std::string>& row, std::vector<Overhead>& overheads) {
  if (row.size() != 2) return "has not two cells";
  const auto pue = exact_number<double>(row[1]);
  if (row[0].empty() || printable(row[0], 40) != row[0]) return "operator is not a name";
  if (!pue || !(*pue >= 1 && *pue <= kMostPue))
    return fmt::format("pue is not a number from 1 to {:g}", kMostPue);
  if (std::ranges::find(overheads, row[0], &Overhead::name) != overheads.end())
    return row[0] + " stands twice";
  overheads.push_back({row[0], *pue});
  return {};
}

std::string comment_of(std::string_view text) {
  if (!text.starts_with("# ")) return {};
  return std::string(text.substr(2, text.find('\n') - 2));
}

Result<Carbon> load() {
  Carbon carbon;
  for (const EmbeddedFile& file : embedded_carbon()) {
    if (file.name == "carbon.csv") {
      auto grids = parse_grids(file.contents, file.name);
      PLIMSOLL_TRY(grids);
      carbon.grids = *std::move(grids);
      carbon.grid_source = comment_of(file.contents);
    } else {
      auto overheads = parse_overheads(file.contents, file.name);
      PLIMSOLL_TRY(overheads);
      carbon.overheads = *std::move(overheads);
      carbon.overhead_source = comment_of(file.contents);
    }
  }
  return carbon;
}

}  // namespace

Result<std::vector<Grid>> parse_grids(std::string_view text, std::string_view where) {
  std::vector<Grid> grids;
  PLIMSOLL_TRY(each_row(text, where, "iso,country,g_per_kwh,year",
                        [&](const auto& row) { return read_grid(row, grids); }));
  return grids;
}

Result<std::vector<Overhead>> parse_overheads(std::string_view text, std::string_view where) {
  std::vector<Overhead> overheads;
  PLIMSOLL_TRY(
      each_row(text, where, "operator,pue", [&](const auto& row) { return read_overhead(row, overheads); }));
  return overheads;
}

const Result<Carbon>& built_in_carbon() {
  // A static because the tables are part of the program: there is one answer, and it never changes.
  static const Result<Carbon> carbon = [] {
    auto loaded = load();
    if (!loaded) loaded.error().kind = Error::Kind::internal;
    return loaded;
  }();
  return carbon;
}

Result<const Grid*> find_grid(const Carbon& carbon, std::string_view name) {
  const std::string key = lower_case(name);
  std::vector<std::string_view> names;
  for (const Grid& grid : carbon.grids) {
    if (lower_case(grid.iso) == key || lower_case(grid.country) == key) return &grid;
    names.push_back(grid.country);
  }
  std::string hint = did_you_mean(name, names);
  if (hint.empty()) hint = "Give the ISO code of three letters, as in DNK, DEU or USA.";
  return std::unexpected(
      Error{fmt::format("no country is called \"{}\"", printable(name, 80)), {}, std::move(hint)});
}

Result<Overhead> find_overhead(const Carbon& carbon, std::string_view name) {
  const std::string key = lower_case(name);
  std::vector<std::string> names;
  for (const Overhead& overhead : carbon.overheads) {
    if (overhead.name == key) return overhead;
    names.push_back(overhead.name);
  }
  if (const auto pue = exact_number<double>(name); pue && *pue >= 1 && *pue <= kMostPue)
    return Overhead{"given", *pue};
  return std::unexpected(
      Error{fmt::format("\"{}\" is not a power usage effectiveness (PUE)", printable(name, 80)),
            {},
            fmt::format("Give one of {}, or a number from 1 to {:g}.", fmt::join(names, ", "), kMostPue)});
}

}  // namespace plimsoll::hardware
