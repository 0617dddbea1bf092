#include "queue_client.hpp"

#include <charconv>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "queue/daemon.hpp"
#include "queue/talk.hpp"

namespace plimsoll {
namespace {

constexpr std::int64_t kMostNumbers = 100'000;

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || out < 1) return std::nullopt;
  return out;
}

}  // namespace

Result<job::Json> ask_queue(const job::Json& message, std::optional<Seconds> patience,
                            std::filesystem::path* same) {
  const bool is_chosen = same != nullptr && !same->empty();
  for (const std::filesystem::path& socket :
       is_chosen ? std::vector<std::filesystem::path>{*same} : queue::queue_sockets()) {
    auto answer = queue::ask(socket, message, patience);
    if (same != nullptr && (!answer || *answer)) *same = socket;
    if (!answer) return std::unexpected(std::move(answer).error());
    if (*answer) return **std::move(answer);
  }
  return std::unexpected(
      Error{std::string(kNoQueue), {}, "Start one: plimsoll queue start", Error::Kind::unavailable});
}

Result<std::vector<std::int64_t>> job_numbers(const std::vector<std::string>& words) {
  std::vector<std::int64_t> out;
  for (const std::string& word : words) {
    const std::size_t dash = word.find('-');
    const auto first = whole_number(std::string_view(word).substr(0, dash));
    const auto last =
        dash == std::string::npos ? first : whole_number(std::string_view(word).substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= kMostNumbers)
      return std::unexpected(
          Error{fmt::format("{} is no number of a job", quote(word)), {}, "for example 12, or 12-15"});
    for (std::int64_t number = *first; number <= *last; ++number) out.push_back(number);
  }
  return out;
}

std::string duration_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.1f} days", seconds / 86400);
}

}  // namespace plimsoll
