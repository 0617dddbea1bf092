#include "measure/last_lines.hpp"

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"

namespace plimsoll::measure {
namespace {

constexpr std::size_t kLastLines = 5;

}  // namespace

void LastLines::hear(std::string_view line) {
  if (line.empty()) return;
  lines_.push_back(printable(line, kLongestShown));
  if (lines_.size() > kLastLines) lines_.pop_front();
}

Error LastLines::add_to(Error error) const {
  if (lines_.empty()) return error;
  std::string last = "it said last:";
  for (const std::string& line : lines_) last += fmt::format(" | {}", line);
  error.hint = error.hint.empty() ? last : fmt::format("{}; {}", error.hint, last);
  return error;
}

std::string no_answer(std::string_view line, const Error& reason) {
  const std::string why = reason.text();
  return fmt::format("sent something that is not an answer: {}{}", quote(line.substr(0, kLongestShown)),
                     why.starts_with("not JSON") ? "" : fmt::format(" ({})", why));
}

}  // namespace plimsoll::measure
