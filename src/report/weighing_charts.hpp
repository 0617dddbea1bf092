#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "report/table.hpp"
#include "report/weighing.hpp"

namespace plimsoll::report {

/// A bar beside a row of a table, as shares of its room from 0 to 1.
struct RowBar {
  double length = 0;
  double low = 0, high = 0;        ///< the ends of an interval; equal: none is drawn
  std::string_view kind = "need";  ///< the class that colours it: "need", "over"
};

/// Beside the first cell of its row, or below its text where that is long: names of layers.
enum class BarPlace : std::uint8_t { beside, below };

/// A table with a bar in each row. There are as many bars as rows; text is never scaled, so that it can be
/// read on a phone, too.
[[nodiscard]] std::string barred_table_html(const Table& table, std::span<const RowBar> bars, BarPlace place);

/// What the memory that a device needs is made of: a bar of its parts and their legend. Empty where unknown.
[[nodiscard]] std::string memory_chart_html(const WeighedDevice& device);

/// Devices in the order in which one wants to read them: those that it fits on first, the quickest first of
/// each; last those of which no time is known.
[[nodiscard]] std::vector<WeighedDevice> sorted_devices(std::vector<WeighedDevice> devices);

}  // namespace plimsoll::report
