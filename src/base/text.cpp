#include "base/text.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 9> kLarge = {"", "k", "M", "G", "T", "P", "E", "Z", "Y"};
constexpr std::array<std::string_view, 9> kBinary = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"};
constexpr std::array<std::string_view, 4> kSmallPrefixes = {"", "m", "µ", "n"};

/// Three significant digits of a value in [0.0, 1024): the decimals follow from the rounded value, so that
/// 9.996 is "10.0" and not "10.00".
std::string three_digits(double value) {
  if (value == 0) return "0";
  if (value < 0.9995) return fmt::format("{:.3g}", value);
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

std::string joined(std::string_view number, std::string_view unit) {
  return unit.empty() ? std::string(number) : fmt::format("{} {}", number, unit);
}

/// Infinity, NaN and the sign, which every unit treats alike; nullopt for a plain number from zero up.
template <class Format>
std::optional<std::string> special(double value, std::string_view unit, Format positive) {
  if (std::isnan(value)) return joined("nan", unit);
  if (std::isinf(value)) return joined(value < 0 ? "-inf" : "inf", unit);
  if (value < 0) return fmt::format("-{}", positive(-value));
  return std::nullopt;
}

/// The number and prefix for a value of at least one unit. Rounding may carry it over the prefix:
/// 999.96 is "1.00 k".
std::string enlarged(double value, std::string_view unit, double base,
                     std::span<const std::string_view> prefixes) {
  std::size_t prefix = 0;
  while (prefix + 1 < prefixes.size() && std::round(value) >= base) {
    value /= base;
    ++prefix;
  }
  const std::string full_unit = std::string(prefixes[prefix]) + std::string(unit);
  if (std::round(value) >= base) return joined(fmt::format("{:.2e}", value), full_unit);
  if (prefix == 0 && value == std::floor(value)) return joined(fmt::format("{:.0f}", value), full_unit);
  return joined(three_digits(value), full_unit);
}

std::string reduced(double value, std::string_view unit) {
  std::size_t prefix = 0;
  while (prefix + 1 < kSmallPrefixes.size() && value < 0.9995) {
    value *= 1000;
    ++prefix;
  }
  return joined(three_digits(value), std::string(kSmallPrefixes[prefix]) + std::string(unit));
}

std::string with_thousands(double whole) {
  const std::string digits = fmt::format("{:.0f}", whole);
  std::string grouped;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

}  // namespace

std::string si_text(double value, std::string_view unit) {
  if (auto done = special(value, unit, [&](double v) { return si_text(v, unit); })) return *done;
  if (value > 0 && value < 0.9995) return reduced(value, unit);
  return enlarged(value, unit, 1000, kLarge);
}

std::string text(Bytes size) {
  const auto positive = [](double value) { return enlarged(value, "B", 1024, kBinary); };
  const auto value = static_cast<double>(size.count());
  return value < 0 ? fmt::format("-{}", positive(-value)) : positive(value);
}

std::string text(Flops work) {
  return si_text(work.value(), "FLOP");
}
std::string text(FlopsPerSecond rate) {
  return si_text(rate.value(), "FLOP/s");
}
std::string text(BytesPerSecond rate) {
  return si_text(rate.value(), "B/s");
}
std::string text(Joules energy) {
  return si_text(energy.value(), "J");
}
std::string text(Watts power) {
  return si_text(power.value(), "W");
}

std::string text(Seconds time) {
  const double value = time.value();
  if (auto done = special(value, "s", [](double v) { return text(Seconds(v)); })) return *done;
  // Two of the larger unit at least: "90.0 s" says more than "1.50 min".
  if (value < 120) return si_text(value, "s");
  if (value < 120 * 60) return three_digits(value / 60) + " min";
  if (value < 48 * 3600) return three_digits(value / 3600) + " h";
  const double days = value / 86400;
  return (days < 999.5  ? three_digits(days)
          : days < 1e15 ? with_thousands(days)
                        : fmt::format("{:.2e}", days)) +
         " d";
}

std::string text(Money amount) {
  const double value = amount.value();
  if (auto done = special(value, "$", [](double v) { return text(Money(v)); })) return *done;
  if (value == 0) return "$0";
  if (value < 0.995)
    return "$" + (value < 0.0995 ? fmt::format("{:.3g}", value) : fmt::format("{:.2f}", value));
  if (value < 999.995) return fmt::format("${:.2f}", value);
  if (value < 1e15) return "$" + with_thousands(value);
  return fmt::format("${:.2e}", value);
}

std::string count_text(double count) {
  if (auto done = special(count, "", [](double v) { return count_text(v); })) return *done;
  if (count > 0 && count < 0.9995) return three_digits(count);
  return enlarged(count, "", 1000, kLarge);
}

std::string count_text(std::int64_t count) {
  return count_text(static_cast<double>(count));
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

}  // namespace plimsoll
