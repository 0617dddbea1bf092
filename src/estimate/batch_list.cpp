#include "estimate/batch_list.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/printable.hpp"

namespace plimsoll::estimate {
namespace {

constexpr std::string_view kForms = "Write it as 1..256, 1..256x2 (1, 2, 4 … 256) or 1,8,64.";

std::optional<std::int64_t> whole(std::string_view digits) {
  std::int64_t value = 0;
  const char* const begin = digits.data();
  const char* const end = begin + digits.size();
  const auto [stopped, error] = std::from_chars(begin, end, value);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return value;
}

Error refusal(std::string_view part, std::string_view why) {
  return Error{.message = fmt::format("\"{}\" {}", printable(part, 80), why),
               .where = {},
               .hint = std::string(kForms)};
}

/// One part of the list: a number, or a range by steps of one or by a factor.
struct Part {
  std::int64_t first = 0, last = 0;
  std::int64_t factor = 1;  ///< 1: every batch between
};

Result<Part> parse_part(std::string_view text) {
  const std::size_t dots = text.find("..");
  const std::string_view from = text.substr(0, dots);
  std::string_view to = dots == text.npos ? from : text.substr(dots + 2);
  Part part;
  if (const std::size_t times = to.find('x'); dots != text.npos && times != to.npos) {
    const auto factor = whole(to.substr(times + 1));
    if (!factor || *factor < 2) return std::unexpected(refusal(text, "has no factor of 2 or more"));
    part.factor = *factor;
    to = to.substr(0, times);
  }
  const auto first = whole(from), last = whole(to);
  if (!first || !last) return std::unexpected(refusal(text, "is neither a batch nor a range of batches"));
  if (*first < 1) return std::unexpected(refusal(text, "begins below a batch of 1"));
  if (*last > kLargestBatch)
    return std::unexpected(refusal(text, fmt::format("goes beyond a batch of {}", kLargestBatch)));
  if (*last < *first) return std::unexpected(refusal(text, "ends before it begins"));
  part.first = *first;
  part.last = *last;
  return part;
}

}  // namespace

Result<std::vector<std::int64_t>> parse_batches(std::string_view text) {
  std::vector<std::int64_t> batches;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const Result<Part> part = parse_part(text.substr(at, comma - at));
    PLIMSOLL_TRY(part);
    for (std::int64_t batch = part->first; batch <= part->last;) {
      if (batches.size() == kMostBatches)
        return std::unexpected(refusal(text, fmt::format("names more than {} batches", kMostBatches)));
      batches.push_back(batch);
      if (part->factor == 1)
        ++batch;
      else if (batch > part->last / part->factor)
        break;
      else
        batch *= part->factor;
    }
    at = comma + 1;
  }
  std::ranges::sort(batches);
  const auto repeated = std::ranges::unique(batches);
  batches.erase(repeated.begin(), repeated.end());
  return batches;
}

}  // namespace plimsoll::estimate
