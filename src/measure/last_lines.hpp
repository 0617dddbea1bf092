#pragma once
#include <deque>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace plimsoll::measure {

inline constexpr std::size_t kLongestShown = 300;  ///< of a line that a companion program said

/// The last that a companion program said on standard error, for who explains why it failed.
class LastLines {
 public:
  void hear(std::string_view line);
  /// The error, its hint followed by the lines where there are any.
  [[nodiscard]] Error add_to(Error error) const;

 private:
  std::deque<std::string> lines_;
};

/// What is wrong with a line that should have been an answer: the line, and the reason where it is JSON at
/// least.
[[nodiscard]] std::string no_answer(std::string_view line, const Error& reason);

}  // namespace plimsoll::measure
