#include "store/timestamp.hpp"

#include <charconv>
#include <chrono>

#include <fmt/format.h>

namespace plimsoll::store {
namespace {

using std::chrono::microseconds;
using std::chrono::sys_days;

constexpr int kFirstYear = 1970, kLastYear = 2200;

/// Takes exactly `digits` of them, and a number within its limits.
bool take_number(std::string_view& text, std::size_t digits, int least, int most, int& out) {
  if (text.size() < digits) return false;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + digits, out);
  if (problem != std::errc() || end != text.data() + digits || out < least || out > most) return false;
  text.remove_prefix(digits);
  return true;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

/// ".25" of a second, up to six digits.
bool take_fraction(std::string_view& text, int& micro) {
  int scale = 100'000;
  std::size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits, scale /= 10)
    micro += (text[digits] - '0') * scale;
  text.remove_prefix(digits);
  return digits >= 1 && digits <= 6;
}

}  // namespace

Time now() {
  return std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::optional<Time> parse_time(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, micro = 0;
  if (!take_number(text, 4, kFirstYear, kLastYear, year) || !take(text, '-') ||
      !take_number(text, 2, 1, 12, month) || !take(text, '-') || !take_number(text, 2, 1, 31, day))
    return std::nullopt;
  if (take(text, 'T') || take(text, ' ')) {
    if (!take_number(text, 2, 0, 23, hour) || !take(text, ':') || !take_number(text, 2, 0, 59, minute))
      return std::nullopt;
    if (take(text, ':') && !take_number(text, 2, 0, 59, second)) return std::nullopt;
    if (take(text, '.') && !take_fraction(text, micro)) return std::nullopt;
    take(text, 'Z');
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!text.empty() || !date.ok()) return std::nullopt;
  return (sys_days(date).time_since_epoch() + std::chrono::hours(hour) + std::chrono::minutes(minute) +
          std::chrono::seconds(second) + microseconds(micro))
      .count();
}

std::string time_text(Time time) {
  static constexpr Time kEnd =
      microseconds(sys_days(std::chrono::year(kLastYear + 1) / 1 / 1).time_since_epoch()).count();
  if (time < 0 || time >= kEnd) return fmt::format("{} us", time);
  const microseconds since(time);
  const auto days = std::chrono::floor<std::chrono::days>(since);
  const std::chrono::year_month_day date{sys_days(days)};
  const std::chrono::hh_mm_ss clock(since - days);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

}  // namespace plimsoll::store
