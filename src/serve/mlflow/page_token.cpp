#include "serve/mlflow/page_token.hpp"

#include <charconv>
#include <optional>

#include "serve/http/base64.hpp"

namespace plimsoll::serve::mlflow {
namespace {

constexpr std::size_t kLongest = 64;  // the largest offset needs fewer
constexpr std::string_view kBefore = "{\"offset\": ", kAfter = "}";

}  // namespace

std::string page_token(std::size_t offset) {
  return base64_encode(fmt::format("{}{}{}", kBefore, offset, kAfter));
}

Outcome<std::size_t> offset_of(std::string_view token) {
  if (token.empty()) return 0;
  const bool whole = token.size() % 4 == 0 && token.size() <= kLongest;
  const std::optional<std::string> decoded = whole ? base64_decode(token) : std::nullopt;
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
