#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "hardware/device_figure.hpp"

namespace plimsoll::plan {

/// A figure, and the range that the truth lies in for certain or with 95 %: a bound leaves one side open.
struct Known {
  hardware::DeviceFigure figure;  ///< SI base units
  double low = 0, high = 0;
  friend bool operator==(const Known&, const Known&) = default;
};

[[nodiscard]] Known known(hardware::DeviceFigure figure);
/// The same with an interval of its own, as estimates have one.
[[nodiscard]] Known known(hardware::DeviceFigure figure, double low, double high);
/// A figure and its range times a number, with the derivation added to the source.
[[nodiscard]] Known times(const Known& known, double factor, std::string_view derivation = {});

/// How a figure stands to a limit.
enum class Standing : std::uint8_t {
  met,
  failed,
  unknown,  ///< no figure, or one whose range holds the limit
};
[[nodiscard]] std::string_view name(Standing standing);

/// Against a limit from above.
[[nodiscard]] Standing at_most(const std::optional<Known>& known, double limit);
[[nodiscard]] Standing at_least(const std::optional<Known>& known, double limit);

}  // namespace plimsoll::plan
