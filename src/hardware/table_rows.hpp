#pragma once
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"

/// Rows of the small tables that are part of the program. Private to hardware.
namespace plimsoll::hardware {

inline constexpr std::size_t kMostTableBytes = 1 << 20;

template <class T>
std::optional<T> exact_number(std::string_view text) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The cells of one line; a cell in quotes may hold commas.
inline std::vector<std::string> cells(std::string_view line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

/// Hands every row to `read`, which says what is wrong with it or nothing.
template <class Read>
Status each_row(std::string_view text, std::string_view where, std::string_view titles, Read read) {
  if (text.size() > kMostTableBytes) return std::unexpected(Error{"larger than 1 MiB", std::string(where)});
  bool titled = false;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    std::string wrong;
    if (titled)
      wrong = read(cells(line));
    else if (line != titles)
      wrong = fmt::format("the titles are not {}", titles);
    titled = true;
    if (!wrong.empty())
      return std::unexpected(Error{std::move(wrong), fmt::format("{}: line {}", where, number)});
  }
  if (!titled) return std::unexpected(Error{"is empty", std::string(where)});
  return {};
}

}  // namespace plimsoll::hardware
