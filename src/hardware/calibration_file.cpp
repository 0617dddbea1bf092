#include "hardware/calibration_file.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "hardware/sharing_figures_file.hpp"

namespace plimsoll::hardware {
namespace {

using Json = nlohmann::json;
using Ordered = nlohmann::ordered_json;

constexpr std::size_t kMostPoints = 50'000, kMostCeilings = 1000;
constexpr std::size_t kMostGroups = std::size_t{kOperatorClasses} * kDirections * kArithmetics;
constexpr std::int64_t kMostExtent = std::int64_t{1} << 40;
constexpr std::int64_t kMostWholes = std::int64_t{1} << 53;

/// A number that is finite and not below `least`; 0 after an error.
double number(JsonSection& section, const std::string& key, double least) {
  const Json* value = section.take(key);
  const double found = value != nullptr && value->is_number() ? value->get<double>() : std::nan("");
  if (std::isfinite(found) && found >= least) return found;
  section.complain(key,
                   value == nullptr ? "is missing" : fmt::format("is not a number of {} or more", least));
  return 0;
}
std::optional<double> number_if_any(JsonSection& section, const std::string& key, double least) {
  if (section.take(key) == nullptr) return std::nullopt;
  return number(section, key, least);
}

/// A list of at most so many items; empty after an error, or where it is absent.
const Json::array_t& items(JsonSection& section, const std::string& key, std::size_t most) {
  static const Json::array_t kNone;
  const Json* value = section.take(key);
  if (value == nullptr) return kNone;
  if (value->is_array() && value->size() <= most) return value->get_ref<const Json::array_t&>();
  section.complain(key, fmt::format("is not a list of at most {} items", most));
  return kNone;
}

DeviceFigure measured(double value, std::string source, const std::string& date) {
  return {value, Provenance::measured, std::move(source), date};
}

Ceiling read_ceiling(JsonSection section, const std::string& date) {
  Ceiling ceiling;
  ceiling.name = section.required_text("name");
  const double value = number(section, "value", 0);
  ceiling.unit = section.required_text("unit");
  const std::string own = section.text("date");
  ceiling.figure = measured(value, section.text("source"), own.empty() ? date : own);
  ceiling.spread = number(section, "spread", 0);
  ceiling.at = number_if_any(section, "at", 0);
  ceiling.share_of_peak = number_if_any(section, "share_of_peak", 0);
  section.done();
  return ceiling;
}

/// A row's numbers: extents, seconds, spread, workspace, joules; not a number where none is known.
constexpr std::size_t kFigures = 4;
using Row = std::array<double, kMaxExtents + kFigures>;

/// Nothing where it is no row of `least` to `most` numbers.
std::optional<Row> row_of(const Json& json, std::size_t least, std::size_t most) {
  if (!json.is_array() || json.size() < least || json.size() > most) return std::nullopt;
  Row row;
  row.fill(std::nan(""));
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i].is_number())
      row[i] = json[i].get<double>();
    else if (!json[i].is_null())
      return std::nullopt;
  }
  return row;
}

/// Nothing where an extent, the seconds or their spread are absent, or any is not what it should be.
std::optional<OperatorPoint> point_of(const OperatorCase& group, const Row& row) {
  const std::size_t extents = extent_count(group.operator_class);
  OperatorPoint point{group};
  for (std::size_t i = 0; i < extents; ++i) {
    const bool whole =
        row[i] >= 0 && row[i] <= static_cast<double>(kMostExtent) && row[i] == std::floor(row[i]);
    if (!whole) return std::nullopt;
    point.what.extents[i] = static_cast<std::int64_t>(row[i]);
  }
  point.what = completed(point.what);
  point.seconds = row[extents];
  point.spread = row[extents + 1];
  const double workspace = row[extents + 2], joules = row[extents + 3];
  if (!std::isnan(workspace)) point.workspace = workspace;
  if (!std::isnan(joules)) point.joules = joules;
  const auto sound = [](double value) { return std::isfinite(value) && value >= 0; };
  if (!sound(point.seconds) || point.seconds == 0 || !sound(point.spread) ||
      !sound(point.workspace.value_or(0)) || !sound(point.joules.value_or(0)))
    return std::nullopt;
  return point;
}

KernelChange read_change(JsonSection section) {
  const auto arithmetic =
      section.choice("arithmetic", section.required_text("arithmetic"), &arithmetic_named, Arithmetic::fp32);
  const KernelChange change{arithmetic, number(section, "product_seconds", 0),
                            number(section, "other_seconds", 0)};
  section.done();
  return change;
}

/// The rows of a group: a list, or how many of the table's come next, which are taken off it. Empty after an
/// error.
std::vector<std::optional<Row>> read_rows(JsonSection& section, std::size_t width,
                                          std::span<const double>& table) {
  std::vector<std::optional<Row>> rows;
  const Json* points = section.take("points");
  if (points != nullptr && points->is_number_unsigned() && !table.empty()) {
    const auto count = points->get<std::size_t>();
    if (count > table.size() / width) return section.complain("points", "are more than the table has"), rows;
    rows.reserve(count);
    for (; rows.size() < count; table = table.subspan(width)) {
      rows.emplace_back(Row{});
      std::ranges::copy(table.first(width), rows.back()->begin());
    }
    return rows;
  }
  const Json::array_t& list = items(section, "points", kMostPoints);
  rows.reserve(list.size());
  for (const Json& row : list) rows.push_back(row_of(row, width - 2, width));
  return rows;
}

void read_group(JsonSection section, std::span<const double>& table, Calibration& calibration) {
  const auto operator_class =
      section.choice("class", section.required_text("class"), &operator_class_named, OperatorClass::unary);
  const auto direction =
      section.choice("direction", section.required_text("direction"), &direction_named, Direction::forward);
  const auto arithmetic =
      section.choice("arithmetic", section.required_text("arithmetic"), &arithmetic_named, Arithmetic::fp32);
  section.text("columns");  // for who reads the file
  const OperatorCase group{operator_class, direction, arithmetic, {}};
  const auto rows = read_rows(section, extent_count(operator_class) + kFigures, table);
  for (std::size_t i = 0; i < rows.size() && !section.error(); ++i) {
    if (const auto point = rows[i] ? point_of(group, *rows[i]) : std::nullopt)
      calibration.points.push_back(*point);
    else
      section.complain(fmt::format("points[{}]", i), "is not a point of this class", "see docs/devices.md");
  }
  if (calibration.points.size() > kMostPoints)
    section.complain("points", fmt::format("are more than {} in all", kMostPoints));
  if (const Json* fit = section.take("fit"); fit != nullptr && !section.error()) {
    JsonSection figures(*fit, section.place("fit"), section.error());
    calibration.fits.push_back({operator_class, direction, arithmetic, static_cast<std::int64_t>(rows.size()),
                                number(figures, "efficiency", 0), number(figures, "residual", 0),
                                number(figures, "residual_90", 0)});
    figures.done();
  }
  section.done();
}

/// As many significant digits as a measurement has; JSON writes no more than needed.
double rounded(double value, int digits = 4) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int last = static_cast<int>(std::floor(std::log10(std::fabs(value)))) - digits + 1;
  // Powers of ten are exact, their reciprocals are not.
  const double scale = std::pow(10.0, std::abs(last));
  return last < 0 ? std::round(value * scale) / scale : std::round(value / scale) * scale;
}
/// Whole numbers are shorter without a point.
Ordered short_number(double value) {
  const double kept = rounded(value);
  if (kept == std::floor(kept) && std::fabs(kept) < static_cast<double>(kMostWholes))
    return static_cast<std::int64_t>(kept);
  return kept;
}

Ordered ceiling_json(const Ceiling& ceiling, const std::string& date) {
  Ordered out = {{"name", ceiling.name},
                 {"value", ceiling.figure.value},
                 {"unit", ceiling.unit},
                 {"spread", rounded(ceiling.spread)}};
  if (ceiling.at) out["at"] = *ceiling.at;
  if (ceiling.share_of_peak) out["share_of_peak"] = rounded(*ceiling.share_of_peak);
  if (!ceiling.figure.source.empty()) out["source"] = ceiling.figure.source;
  if (!ceiling.figure.date.empty() && ceiling.figure.date != date) out["date"] = ceiling.figure.date;
  return out;
}

Ordered row_json(const OperatorPoint& point) {
  Ordered row = Ordered::array();
  for (std::size_t i = 0; i < extent_count(point.what.operator_class); ++i)
    row.push_back(point.what.extents[i]);
  row.push_back(rounded(point.seconds));
  row.push_back(rounded(point.spread, 2));
  if (point.workspace || point.joules)
    row.push_back(point.workspace ? short_number(*point.workspace) : Ordered());
  if (point.joules) row.push_back(rounded(*point.joules));
  return row;
}

std::string group_text(std::span<const OperatorPoint> points, const std::vector<ClassFit>& fits) {
  const OperatorCase& what = points.front().what;
  Ordered out = {
      {"class", name(what.operator_class)},
      {"direction", name(what.direction)},
      {"arithmetic", name(what.arithmetic)},
      {"columns", fmt::format("{} seconds spread workspace joules",
                              operator_classes()[static_cast<std::size_t>(what.operator_class)].extents)}};
  for (const ClassFit& fit : fits)
    if (fit.operator_class == what.operator_class && fit.direction == what.direction &&
        fit.arithmetic == what.arithmetic)
      out["fit"] = {{"efficiency", rounded(fit.efficiency)},
                    {"residual", rounded(fit.residual)},
                    {"residual_90", rounded(fit.residual_90)}};
  out["points"] = Ordered::array();
  for (const OperatorPoint& point : points) out["points"].push_back(row_json(point));
  return out.dump();
}

}  // namespace

std::optional<Calibration> read_calibration(JsonSection& top, std::span<const double> table) {
  const Json* object = top.take("calibration");
  if (object == nullptr || top.error()) return std::nullopt;
  JsonSection section(*object, "calibration", top.error());
  Calibration calibration;
  calibration.date = section.required_text("date");
  calibration.versions = section.texts("versions");
  calibration.remarks = section.texts("remarks");
  if (const auto seconds = number_if_any(section, "eager_launch", 0))
    calibration.eager_launch = measured(*seconds, "host's time per operator", calibration.date);
  const Json::array_t& changes = items(section, "kernel_changes", kArithmetics);
  for (std::size_t i = 0; i < changes.size() && !top.error(); ++i)
    calibration.changes.push_back(
        read_change(JsonSection(changes[i], fmt::format("calibration.kernel_changes[{}]", i), top.error())));
  if (const Json* sharing = section.take("sharing")) {
    JsonSection figures(*sharing, "calibration.sharing", top.error());
    read_sharing_figures(figures, calibration.sharing.emplace());
  }
  const Json::array_t& ceilings = items(section, "ceilings", kMostCeilings);
  for (std::size_t i = 0; i < ceilings.size() && !top.error(); ++i)
    calibration.ceilings.push_back(read_ceiling(
        JsonSection(ceilings[i], fmt::format("calibration.ceilings[{}]", i), top.error()), calibration.date));
  const Json::array_t& groups = items(section, "operators", kMostGroups);
  // No row has fewer numbers. Room that is not used costs nothing; points that move because it ended do.
  calibration.points.reserve(std::min(table.size() / (1 + kFigures), kMostPoints));
  for (std::size_t i = 0; i < groups.size() && !top.error(); ++i)
    read_group(JsonSection(groups[i], fmt::format("calibration.operators[{}]", i), top.error()), table,
               calibration);
  if (!table.empty()) section.complain("operators", "leave rows of the table over");
  section.done();
  if (!std::ranges::is_sorted(calibration.points, {}, &OperatorPoint::what))
    std::ranges::sort(calibration.points, {}, &OperatorPoint::what);
  const auto twice = std::ranges::adjacent_find(calibration.points, {}, &OperatorPoint::what);
  if (twice != calibration.points.end())
    section.complain("operators", fmt::format("have a point of {} twice", name(twice->what.operator_class)));
  if (top.error()) return std::nullopt;
  return calibration;
}

std::string calibration_text(const Calibration& calibration) {
  std::string out = fmt::format("{{\n    \"date\": {},\n", Ordered(calibration.date).dump());
  out += fmt::format("    \"versions\": {},\n", Ordered(calibration.versions).dump());
  out += fmt::format("    \"remarks\": {},\n", Ordered(calibration.remarks).dump());
  if (calibration.eager_launch)
    out +=
        fmt::format("    \"eager_launch\": {},\n", Ordered(rounded(calibration.eager_launch->value)).dump());
  if (!calibration.changes.empty()) {
    Ordered changes = Ordered::array();
    for (const KernelChange& change : calibration.changes)
      changes.push_back({{"arithmetic", name(change.arithmetic)},
                         {"product_seconds", rounded(change.product)},
                         {"other_seconds", rounded(change.other)}});
    out += fmt::format("    \"kernel_changes\": {},\n", changes.dump());
  }
  if (calibration.sharing)
    out += fmt::format("    \"sharing\": {},\n", sharing_figures_json(*calibration.sharing).dump());
  out += "    \"ceilings\": [";
  for (std::size_t i = 0; i < calibration.ceilings.size(); ++i)
    out += fmt::format("{}\n      {}", i == 0 ? "" : ",",
                       ceiling_json(calibration.ceilings[i], calibration.date).dump());
  out += "],\n    \"operators\": [";
  std::span<const OperatorPoint> rest = calibration.points;
  for (bool first = true; !rest.empty(); first = false) {
    const auto end = std::ranges::find_if_not(
        rest, [&rest](const OperatorPoint& p) { return same_group(p.what, rest.front().what); });
    const auto count = static_cast<std::size_t>(end - rest.begin());
    out += fmt::format("{}\n      {}", first ? "" : ",", group_text(rest.first(count), calibration.fits));
    rest = rest.subspan(count);
  }
  return out + "]\n  }";
}

}  // namespace plimsoll::hardware
