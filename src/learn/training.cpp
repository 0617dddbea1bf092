#include "learn/training.hpp"

#include <algorithm>
#include <limits>

#include "base/statistics.hpp"

namespace plimsoll::learn {

Observation time_to_targets(const Training& training, std::span<const Target> targets) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> next(targets.size(), 0);
  std::vector<char> met(targets.size(), 0);
  if (training.curves.size() < targets.size()) return {training.until, false};
  for (;;) {
    double now = kNever;
    for (std::size_t i = 0; i < targets.size(); ++i)
      if (next[i] < training.curves[i].size()) now = std::min(now, training.curves[i][next[i]].at);
    if (now == kNever) return {training.until, false};
    for (std::size_t i = 0; i < targets.size(); ++i)
      for (const auto& curve = training.curves[i]; next[i] < curve.size() && curve[next[i]].at <= now;
           ++next[i])
        met[i] = targets[i].met_by(curve[next[i]].value) ? 1 : 0;
    if (std::ranges::all_of(met, [](char one) { return one != 0; })) return {now, true};
  }
}

std::vector<Observation> times_to_targets(std::span<const Training> trainings,
                                          std::span<const Target> targets) {
  std::vector<Observation> out;
  for (const Training& training : trainings) out.push_back(time_to_targets(training, targets));
  return out;
}

Training evaluated_less(const Training& training, std::size_t every) {
  Training out = training;
  for (std::vector<Evaluation>& curve : out.curves) {
    std::vector<Evaluation> kept;
    for (std::size_t i = every; i <= curve.size(); i += every) kept.push_back(curve[i - 1]);
    curve = std::move(kept);
  }
  return out;
}

std::optional<double> evaluation_interval(const Training& training) {
  if (training.curves.empty() || training.curves.front().size() < 2) return std::nullopt;
  const std::vector<Evaluation>& curve = training.curves.front();
  std::vector<double> gaps;
  for (std::size_t i = 1; i < curve.size(); ++i) gaps.push_back(curve[i].at - curve[i - 1].at);
  return median(gaps);
}

}  // namespace plimsoll::learn
