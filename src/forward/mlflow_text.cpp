#include "forward/mlflow_text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "store/mlflow_limits.hpp"

namespace plimsoll::forward {
namespace {

namespace limits = store::mlflow_limits;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool continues_a_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80;
}

/// A part of a path that names nothing of its own.
bool is_empty_or_dots(std::string_view part) {
  return part.empty() || part == "." || part == "..";
}

}  // namespace

std::string mlflow_key(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (continues_a_character(c)) continue;  // its first byte has become '_'
    out += is_letter_or_digit(c) || std::string_view("_-./ :").find(c) != std::string_view::npos ? c : '_';
  }
  std::string settled;
  for (std::size_t begin = 0; begin <= out.size();) {
    const std::size_t end = std::min(out.find('/', begin), out.size());
    std::string part = out.substr(begin, end - begin);
    if (is_empty_or_dots(part)) part = std::string(std::max<std::size_t>(part.size(), 1), '_');
    settled += (begin == 0 ? "" : "/") + part;
    begin = end + 1;
  }
  return settled.substr(0, limits::kLongestKey);
}

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_number(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return fmt::format("{}", value);
}

std::string text_at(const std::map<std::string, std::string>& texts, const std::string& name) {
  const auto found = texts.find(name);
  return found == texts.end() ? std::string() : found->second;
}

}  // namespace plimsoll::forward
