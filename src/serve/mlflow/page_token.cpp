#include "serve/mlflow/page_token.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

namespace plimsoll::serve::mlflow {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t kLongest = 64;  // the largest offset needs fewer

std::string base64(std::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8U | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    const std::size_t digits = bytes.size() - i >= 3 ? 4 : bytes.size() - i + 1;
    for (std::size_t j = 0; j < 4; ++j) out += j < digits ? kAlphabet[group >> (18 - 6 * j) & 63U] : '=';
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0 || text.size() > kLongest) return std::nullopt;
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char c : text) {
    const std::size_t digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out += static_cast<char>(bits >> held & 255U);
  }
  return out;
}

constexpr std::string_view kBefore = "{\"offset\": ", kAfter = "}";

}  // namespace

std::string page_token(std::size_t offset) {
  return base64(fmt::format("{}{}{}", kBefore, offset, kAfter));
}

Outcome<std::size_t> offset_of(std::string_view token) {
  if (token.empty()) return 0;
  const std::optional<std::string> decoded = from_base64(token);
  if (!decoded) return invalid("Invalid page token, could not base64-decode");
  std::string_view digits = *decoded;
  if (!digits.starts_with(kBefore) || !digits.ends_with(kAfter)) return invalid("Invalid page token");
  digits.remove_prefix(kBefore.size());
  digits.remove_suffix(kAfter.size());
  std::size_t offset = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), offset);
  constexpr std::size_t kFurthest = std::size_t{1} << 48;
  if (problem != std::errc() || end != digits.data() + digits.size() || digits.empty() || offset > kFurthest)
    return invalid("Invalid page token");
  return offset;
}

}  // namespace plimsoll::serve::mlflow
