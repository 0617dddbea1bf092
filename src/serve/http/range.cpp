#include "serve/http/range.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "base/text.hpp"

namespace plimsoll::serve {
namespace {

constexpr std::string_view kUnit = "bytes=";

std::optional<std::uint64_t> number(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

}  // namespace

std::variant<WholeFile, ByteRange, NotSatisfiable> parse_range(std::string_view value, std::uint64_t bytes) {
  if (lower_case(value.substr(0, kUnit.size())) != kUnit) return WholeFile{};
  value.remove_prefix(kUnit.size());
  const std::size_t dash = value.find('-');
  if (dash == std::string_view::npos) return WholeFile{};
  const auto first = number(value.substr(0, dash));
  const auto last = number(value.substr(dash + 1));
  const bool to_the_end = dash + 1 == value.size();
  if (dash == 0) {  // the last so many bytes
    if (!last) return WholeFile{};
    if (*last == 0 || bytes == 0) return NotSatisfiable{};
    return ByteRange{bytes - std::min(*last, bytes), bytes - 1};
  }
  if (!first || (!last && !to_the_end) || (last && *last < *first)) return WholeFile{};
  if (*first >= bytes) return NotSatisfiable{};
  return ByteRange{*first, last ? std::min(*last, bytes - 1) : bytes - 1};
}

}  // namespace plimsoll::serve
