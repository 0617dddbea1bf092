#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "learn/observation.hpp"
#include "learn/target.hpp"

namespace plimsoll::learn {

/// A metric at one moment of a clock.
struct Evaluation {
  double at = 0;
  double value = 0;
  friend bool operator==(const Evaluation&, const Evaluation&) = default;
};

/// One training as far as its targets go: its learning curves on one clock.
struct Training {
  std::string name;
  std::vector<std::vector<Evaluation>> curves = {};  ///< one per target, in the order of the clock
  double until = 0;                                  ///< how long it was looked at
  bool goes_on = false;
  /// What was spent until the target was reached, or until the end where it was not; absent where unknown.
  std::optional<double> joules = {}, dollars = {}, kilograms = {};
  std::optional<double> generalisation = {};  ///< what it reached on other data, at its end
  friend bool operator==(const Training&, const Training&) = default;
};

/// The first moment at which the latest value of each metric meets its target; where there is none, how long
/// it was looked at. A value that is no number meets nothing.
[[nodiscard]] Observation time_to_targets(const Training& training, std::span<const Target> targets);
[[nodiscard]] std::vector<Observation> times_to_targets(std::span<const Training> trainings,
                                                        std::span<const Target> targets);

/// As if only every n-th evaluation had been made, the first of them the n-th.
[[nodiscard]] Training evaluated_less(const Training& training, std::size_t every);

/// The time that usually lies between two evaluations; nothing where there are fewer than two.
[[nodiscard]] std::optional<double> evaluation_interval(const Training& training);

}  // namespace plimsoll::learn
