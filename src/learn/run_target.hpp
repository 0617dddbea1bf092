#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "diagnose/recording.hpp"
#include "learn/forecast.hpp"
#include "store/run.hpp"

namespace plimsoll::learn {

/// The tag of a run that says what it is for, as parse_target() reads it.
inline constexpr std::string_view kTargetTag = "plimsoll.target";

/// How far a run is on the way to its target, in seconds since its start.
struct RunTarget {
  Target target;
  Observation seen;
  bool goes_on = false;
  std::optional<Forecast> expected = {};  ///< where it goes on and can be told
};

/// Of the run's tag; nothing where it has none, or one that cannot be read.
[[nodiscard]] std::optional<Target> target_of(const store::Run& run);
[[nodiscard]] RunTarget run_target(const Target& target, std::vector<Evaluation> curve, double until,
                                   bool goes_on);
/// By a recording; nothing where the run has no target or has not told its metric.
[[nodiscard]] std::optional<RunTarget> run_target(const diagnose::Recording& recording);

/// "accuracy >= 0.92 after 12.3 s", "… not reached in 3.40 min", "… expected after 4.0 min (3.1 to 6.2 min in
/// four cases of five)". Printable.
[[nodiscard]] std::string run_target_text(const RunTarget& target);

}  // namespace plimsoll::learn
