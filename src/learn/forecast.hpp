#pragma once
#include <optional>
#include <vector>

#include "learn/training.hpp"

namespace plimsoll::learn {

/// When a training is expected to reach its target, by its curve so far: moments of the curve's clock.
struct Forecast {
  double value = 0;  ///< as often earlier as later
  double low = 0;    ///< four times in five it is reached between these
  double high = 0;
  double continued = 0;  ///< where the curve, gone on with as it did lately, reaches it; before correction
  double offset = 0;     ///< of the correction: what the noise of evaluations does, in log time
  friend bool operator==(const Forecast&, const Forecast&) = default;
};

/// Of the interval.
inline constexpr double kForecastConfidence = 0.8;

/// The best value so far is taken to grow with the fourth root of time, at the pace of the last three
/// quarters; the error of that, and the interval, are what bench/tta_backtest.py found on trainings of eight
/// set-ups (docs/tta.md). Nothing where there are fewer than ten evaluations in that time, where nothing
/// became better, or where the target has been reached.
[[nodiscard]] std::optional<Forecast> forecast(const std::vector<Evaluation>& curve, const Target& target);

}  // namespace plimsoll::learn
