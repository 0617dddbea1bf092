#pragma once
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diagnose/recording.hpp"

namespace plimsoll::diagnose {

/// Steps that a run did in a span, from the end of one to the end of another.
struct Pace {
  Span span;  ///< on the run's clock
  double steps = 0;
  double before = 0;  ///< steps that had been done when it began, as the command counts them
  /// From the run's start to its first step: until then there were no steps at this pace.
  [[nodiscard]] double startup() const { return std::max(0.0, span.from - before / per_second()); }
  [[nodiscard]] double per_second() const { return steps / (span.to - span.from); }
};
/// Within a span, without its first step, which holds the time to load. Nothing where the command told no two
/// points of a metric there.
[[nodiscard]] std::optional<Pace> pace_of(const Recording& recording, const Span& within);

/// What was predicted of a run beside others, and what it did while all of them worked. Speeds are against
/// the run alone.
struct Together {
  std::string sharing;            ///< "mps:75,25"
  std::vector<std::string> with;  ///< ids of the other runs
  double predicted = 0, low = 0, high = 0;
  double alone_steps_per_second = 0;
  std::optional<Pace> measured = {};
  [[nodiscard]] std::optional<double> speed() const;  ///< measured
};
/// `others`: the recordings of `with`, as far as they are there; without one of them nothing is measured.
/// Nothing where nothing was predicted.
[[nodiscard]] std::optional<Together> together_of(const Recording& recording,
                                                  std::span<const Recording> others);
/// The runs that this one ran beside, of which something was predicted.
[[nodiscard]] std::vector<std::string> companions_of(const store::Run& run);

}  // namespace plimsoll::diagnose
