#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace plimsoll::learn {

enum class Direction { at_least, at_most };

/// What a training is for: a metric of its own, and the value from which on it is good enough.
struct Target {
  std::string metric;
  Direction direction = Direction::at_least;
  double value = 0;
  [[nodiscard]] bool met_by(double reading) const {
    return direction == Direction::at_least ? reading >= value : reading <= value;
  }
  friend bool operator==(const Target&, const Target&) = default;
};

/// "accuracy>=0.92", "loss<=0.1"; with a plain "=" the metric's name says which: what has loss, error or
/// perplexity in it shall fall, anything else rise. "92%" is 0.92.
[[nodiscard]] Result<Target> parse_target(std::string_view text);
[[nodiscard]] std::string target_text(const Target& target);  ///< "accuracy >= 0.92"; not yet printable

/// By what the way to the target is measured.
enum class Clock { seconds, steps, epochs, samples };
[[nodiscard]] std::string_view name(Clock clock);
[[nodiscard]] std::optional<Clock> clock_named(std::string_view name);

}  // namespace plimsoll::learn
