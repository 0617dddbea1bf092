#include "report/figure_writing.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;

/// Bytes are whole numbers; an open end has no number in JSON.
Json figure_number(const std::optional<double>& value, Unit unit) {
  if (!value || !std::isfinite(*value)) return nullptr;
  if (unit != Unit::bytes) return *value;
  return std::abs(*value) < 0x1p63 ? std::llround(*value) : Bytes::rounded(*value).count();
}

std::string end_key(std::string_view end, const Figure& figure) {
  const std::string_view unit = name(figure.unit);
  // A share has no unit to be told apart by.
  return fmt::format("{}_{}", end, unit.empty() ? key(figure) : unit);
}

std::string figure_cell(const std::optional<double>& value, Unit unit) {
  const Json number = figure_number(value, unit);
  return number.is_null() ? "" : number.dump();
}

bool has_interval(const Figure& figure) {
  return figure.value && figure.low && figure.high && *figure.value != 0;
}

}  // namespace

void add_value(Json& object, const Figure& figure) {
  object[key(figure)] = figure_number(figure.value, figure.unit);
}

void add_figure(Json& object, const Figure& figure) {
  add_value(object, figure);
  object[end_key("low", figure)] = figure_number(figure.low, figure.unit);
  object[end_key("high", figure)] = figure_number(figure.high, figure.unit);
}

Json figure_json(const Figure& figure) {
  return {{"value", figure_number(figure.value, figure.unit)},
          {"unit", symbol(figure.unit)},
          {"low", figure_number(figure.low, figure.unit)},
          {"high", figure_number(figure.high, figure.unit)},
          {"provenance", name(figure.provenance)},
          {"source", printable(figure.source)}};
}

std::vector<std::string> csv_titles(const Figure& figure) {
  return {key(figure), end_key("low", figure), end_key("high", figure)};
}

std::vector<std::string> csv_cells(const Figure& figure) {
  return {figure_cell(figure.value, figure.unit), figure_cell(figure.low, figure.unit),
          figure_cell(figure.high, figure.unit)};
}

namespace {

std::string number_text(double value, Unit unit) {
  switch (unit) {
    case Unit::share: return fmt::format("{:.3g} %", 100 * value);
    case Unit::bytes: return text(Bytes::rounded(value));
    case Unit::seconds: return text(Seconds(value));
    case Unit::joules: return text(Joules(value));
    case Unit::watts: return text(Watts(value));
    case Unit::kilograms: return fmt::format("{:.3g} kg", value);
    case Unit::metres: return fmt::format("{:.3g} m", value);
    case Unit::dollars_per_hour: return fmt::format("{} an hour", text(Money(value)));
  }
  return "";
}

}  // namespace

std::string value_text(const Figure& figure) {
  return figure.value ? number_text(*figure.value, figure.unit) : "unknown";
}

std::string range_text(const Figure& figure) {
  if (!figure.low || !figure.high) return "";
  return fmt::format("{} to {}", number_text(*figure.low, figure.unit),
                     number_text(*figure.high, figure.unit));
}

std::string percent_around(const Figure& figure) {
  if (!has_interval(figure)) return "";
  const std::string below = fmt::format("{:.0f} %", 100 * (1 - *figure.low / *figure.value));
  const std::string above = fmt::format("{:.0f} %", 100 * (*figure.high / *figure.value - 1));
  return below == above ? "±" + above : fmt::format("-{} +{}", below, above);
}

std::string interval_cell(const Figure& figure) {
  if (!has_interval(figure)) return "";
  return fmt::format("{:+.0f} {:+.0f} %", 100 * (*figure.low / *figure.value - 1),
                     100 * (*figure.high / *figure.value - 1));
}

std::string figure_text(const Figure& figure) {
  const std::string around = percent_around(figure);
  return around.empty() ? value_text(figure) : fmt::format("{} ({})", value_text(figure), around);
}

}  // namespace plimsoll::report
