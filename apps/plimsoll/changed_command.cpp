#include "changed_command.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/printable.hpp"

namespace plimsoll {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

/// Where an option's value stands in a command: a word of its own, or behind "=".
struct OptionPlace {
  std::size_t word = 0;
  bool joined = false;
  std::string value = {};
  bool has_value = false;
};

std::optional<OptionPlace> find_option(const std::vector<std::string>& words, const std::string& option) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].starts_with(option + "="))
      return OptionPlace{i, true, words[i].substr(option.size() + 1), true};
    if (words[i] != option) continue;
    const bool valued = i + 1 < words.size() && !words[i + 1].starts_with('-');
    return OptionPlace{i, false, valued ? words[i + 1] : "", valued};
  }
  return std::nullopt;
}

/// The value that an option shall have; nothing: it has none.
Result<std::optional<std::string>> new_value(const ChangeWay& way, const std::optional<OptionPlace>& place,
                                             std::size_t workers) {
  if (way.value) return way.value;
  if (way.improvement == "loader-workers") return fmt::format("{}", workers);
  if (way.improvement != "batch") return std::nullopt;
  const auto old = place && place->has_value ? whole_number(place->value) : std::nullopt;
  if (!old || *old > (std::int64_t{1} << 40))
    return std::unexpected(
        Error{fmt::format("the command gives {} no number that could be doubled", printable(way.option)),
              "--set", fmt::format("Give the value: --set batch={}=256", printable(way.option))});
  return fmt::format("{}", 2 * *old);
}

}  // namespace

Result<ChangeWay> parse_change_way(std::string_view text) {
  const auto unreadable = [&] {
    return std::unexpected(
        Error{fmt::format("{} does not say how a command is told", quote(text)), "--set",
              "Write --set batch=--batch-size, or --set mixed-precision=USE_AMP:1 for a variable."});
  };
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos || equals + 1 == text.size()) return unreadable();
  ChangeWay out{.improvement = std::string(text.substr(0, equals))};
  const std::string_view how = text.substr(equals + 1);
  if (how.starts_with('-')) {
    const auto value = how.find('=');
    out.option = how.substr(0, value);
    if (value != std::string_view::npos) out.value = how.substr(value + 1);
    return out;
  }
  const auto colon = how.find(':');
  if (colon == 0 || colon == std::string_view::npos) return unreadable();
  out.variable = how.substr(0, colon);
  out.value = how.substr(colon + 1);
  return out;
}

Result<ChangedCommand> changed_command(const std::vector<std::string>& words, const ChangeWay& way,
                                       std::size_t workers) {
  ChangedCommand out{.words = words};
  if (way.option.empty()) {
    out.environment.emplace_back(way.variable, way.value.value_or(""));
    out.made = fmt::format("{}={}", way.variable, way.value.value_or(""));
    return out;
  }
  const std::optional<OptionPlace> place = find_option(words, way.option);
  const Result<std::optional<std::string>> value = new_value(way, place, workers);
  PLIMSOLL_TRY(value);
  out.made = *value ? fmt::format("{} {}", way.option, **value) : way.option;
  if (!place) {
    out.words.push_back(way.option);
    if (*value) out.words.push_back(**value);
  } else if (*value && place->joined) {
    out.words[place->word] = way.option + "=" + **value;
  } else if (*value && place->has_value) {
    out.words[place->word + 1] = **value;
  } else if (*value) {
    out.words.insert(out.words.begin() + static_cast<std::ptrdiff_t>(place->word) + 1, **value);
  }
  if (way.improvement == "batch" && *value && place && place->has_value) {
    const auto before = whole_number(place->value), after = whole_number(**value);
    if (before && after) out.samples_of_step = static_cast<double>(*after) / static_cast<double>(*before);
  }
  return out;
}

}  // namespace plimsoll
