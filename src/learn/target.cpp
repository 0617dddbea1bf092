#include "learn/target.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/printable.hpp"
#include "base/text.hpp"

namespace plimsoll::learn {
namespace {

constexpr std::size_t kLongestName = 250;  ///< as the store has it
constexpr std::array<std::string_view, 4> kClocks = {"seconds", "steps", "epochs", "samples"};

std::string_view trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(' ');
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(' ') - from + 1);
}

bool shall_fall(std::string_view metric) {
  const std::string lower = lower_case(metric);
  return std::ranges::any_of(std::array{"loss", "error", "perplexity"},
                             [&](const char* part) { return lower.contains(part); });
}

std::optional<double> number_of(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  text = trimmed(text);
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return percent ? value / 100 : value;
}

Error unreadable(std::string_view text) {
  return {"'" + printable(text) + "' is no target",
          {},
          "Write METRIC>=VALUE or METRIC<=VALUE: accuracy>=0.92, loss<=0.1."};
}

}  // namespace

Result<Target> parse_target(std::string_view text) {
  const auto sign = text.find_first_of("<>=");
  if (sign == std::string_view::npos) return std::unexpected(unreadable(text));
  Target out{.metric = std::string(trimmed(text.substr(0, sign)))};
  std::string_view rest = text.substr(sign);
  if (rest.starts_with(">="))
    rest.remove_prefix(2);
  else if (rest.starts_with("<=")) {
    out.direction = Direction::at_most;
    rest.remove_prefix(2);
  } else if (rest.starts_with('=')) {
    out.direction = shall_fall(out.metric) ? Direction::at_most : Direction::at_least;
    rest.remove_prefix(1);
  } else {
    return std::unexpected(unreadable(text));
  }
  const std::optional<double> value = number_of(trimmed(rest));
  if (!value || out.metric.empty() || out.metric.size() > kLongestName)
    return std::unexpected(unreadable(text));
  out.value = *value;
  return out;
}

std::string target_text(const Target& target) {
  return fmt::format("{} {} {}", target.metric,
                     target.direction == Direction::at_least ? ">=" : "<=", target.value);
}

std::string_view name(Clock clock) {
  return kClocks[static_cast<std::size_t>(clock)];
}

std::optional<Clock> clock_named(std::string_view name) {
  const auto found = std::ranges::find(kClocks, name);
  if (found == kClocks.end()) return std::nullopt;
  return static_cast<Clock>(found - kClocks.begin());
}

}  // namespace plimsoll::learn
