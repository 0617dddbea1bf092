#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "run/jobs_file.hpp"

namespace plimsoll::running {
namespace {

struct Measured {
  double value = 0;
  std::string unit;  // lower case, without spaces before it
};

std::optional<Measured> number_and_unit(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  Measured out;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.value);
  if (error != std::errc() || !std::isfinite(out.value) || out.value < 0) return {};
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  out.unit = lower_case(unit);
  return out;
}

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array<Unit, 10> kDurations{{{"", 1},
                                           {"s", 1},
                                           {"sec", 1},
                                           {"m", 60},
                                           {"min", 60},
                                           {"h", 3600},
                                           {"hours", 3600},
                                           {"minutes", 60},
                                           {"seconds", 1},
                                           {"d", 86400}}};
// A letter alone is a power of two, as in CUDA_MPS_PINNED_DEVICE_MEM_LIMIT and on most command lines.
constexpr std::array<Unit, 14> kSizes{{{"", 1},
                                       {"b", 1},
                                       {"k", 0x1p10},
                                       {"kib", 0x1p10},
                                       {"kb", 1e3},
                                       {"m", 0x1p20},
                                       {"mib", 0x1p20},
                                       {"mb", 1e6},
                                       {"g", 0x1p30},
                                       {"gib", 0x1p30},
                                       {"gb", 1e9},
                                       {"t", 0x1p40},
                                       {"tib", 0x1p40},
                                       {"tb", 1e12}}};

template <std::size_t N>
std::optional<double> in_units(std::string_view text, const std::array<Unit, N>& units) {
  const auto measured = number_and_unit(text);
  if (!measured) return {};
  for (const Unit& unit : units)
    if (unit.name == measured->unit) return measured->value * unit.factor;
  return {};
}

}  // namespace

std::string_view name(Sharing sharing) {
  return sharing == Sharing::mps ? "mps" : "naive";
}

Result<std::vector<std::string>> split_words(std::string_view text, std::string_view separators) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\0') return fail("a command cannot hold a zero byte");
    if (quote == 0 && separators.contains(c)) {
      if (word) words.push_back(*std::exchange(word, std::nullopt));
      continue;
    }
    if (!word) word.emplace();
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word->push_back(text[++i]);
    } else {
      word->push_back(c);
    }
  }
  if (quote != 0) return fail("a quote is opened and never closed in '{}'", printable(text.substr(0, 80)));
  if (word) words.push_back(*std::move(word));
  return words;
}

Result<Seconds> parse_duration(std::string_view text) {
  if (const auto seconds = in_units(text, kDurations);
      seconds && *seconds > 0 && *seconds <= kLongestTimeLimit.value())
    return Seconds(*seconds);
  return fail("'{}' is not a duration: write 90s, 10m or 1.5h", printable(text.substr(0, 40)));
}

Result<Seconds> parse_start(std::string_view text) {
  if (const auto seconds = in_units(text, kDurations); seconds && *seconds <= kLongestTimeLimit.value())
    return Seconds(*seconds);
  return fail("'{}' is not a time after the workload's begin: write 0, 90s, 10m or 1.5h",
              printable(text.substr(0, 40)));
}

Result<Bytes> parse_size(std::string_view text) {
  if (const auto bytes = in_units(text, kSizes); bytes && *bytes > 0) return Bytes::rounded(*bytes);
  return fail("'{}' is not a size: write 4GiB or 512MiB", printable(text.substr(0, 40)));
}

Result<Sharing> parse_sharing(std::string_view text) {
  const std::string word = lower_case(text);
  if (word.empty() || word == "-" || word == "naive") return Sharing::naive;
  if (word == "mps") return Sharing::mps;
  Error error{fmt::format("'{}' is not a way of sharing: write naive or mps", printable(text.substr(0, 40)))};
  if (word.contains("g.") || word == "mig")
    error.hint = "MIG instances are not made here: name an existing one by its UUID as the device.";
  return std::unexpected(std::move(error));
}

}  // namespace plimsoll::running
