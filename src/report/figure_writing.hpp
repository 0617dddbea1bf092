#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/figure.hpp"

/// The one way in which a Figure is written: its name, unit and interval come from the figure. What is
/// unknown is null in JSON, empty in CSV, and "unknown" for people.
namespace plimsoll::report {

/// `"peak_allocated_bytes": 512`; of a document's other figures, whose interval nobody asks for.
void add_value(nlohmann::ordered_json& object, const Figure& figure);
/// The same with `"low_bytes"` and `"high_bytes"`: an object has one interval per unit.
void add_figure(nlohmann::ordered_json& object, const Figure& figure);
/// A figure as an object of its own: `value`, `unit`, `low`, `high`, `provenance`, `source`.
[[nodiscard]] nlohmann::ordered_json figure_json(const Figure& figure);

/// The columns of a figure with its interval, and the cells below them.
[[nodiscard]] std::vector<std::string> csv_titles(const Figure& figure);
[[nodiscard]] std::vector<std::string> csv_cells(const Figure& figure);

/// "1.23 ms", in people's units.
[[nodiscard]] std::string value_text(const Figure& figure);
/// "-40 % +66 %", or "±10 %" where both sides are the same; empty where there is no interval.
[[nodiscard]] std::string percent_around(const Figure& figure);
/// "-39 +64 %", where the column says of what.
[[nodiscard]] std::string interval_cell(const Figure& figure);
/// "1.1 ms to 1.4 ms"; empty where there is no interval.
[[nodiscard]] std::string range_text(const Figure& figure);
/// "1.23 ms (±10 %)"
[[nodiscard]] std::string figure_text(const Figure& figure);

}  // namespace plimsoll::report
