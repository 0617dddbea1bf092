#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/run.hpp"

namespace plimsoll::store {

[[nodiscard]] Time now();

/// As MLflow counts, rounded down.
[[nodiscard]] constexpr std::int64_t milliseconds(Time time) {
  constexpr Time kEach = 1000;
  return time / kEach - (time % kEach < 0 ? 1 : 0);
}

/// "2026-11-15", "2026-11-15 10:30", "2026-11-15T10:30:05.250Z": UTC, years 1970 to 2200.
[[nodiscard]] std::optional<Time> parse_time(std::string_view text);

/// "2026-11-15T10:30:05.250000Z", which parse_time reads again. Times beyond its years come as plain
/// microseconds.
[[nodiscard]] std::string time_text(Time time);

}  // namespace plimsoll::store
