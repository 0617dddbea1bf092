#include "cuda/sampling.hpp"

#include <algorithm>
#include <cmath>

namespace plimsoll::cuda {
namespace {

constexpr double kMostCalls = 20'000;   // of a sample, however short: a clock may say 0
constexpr double kWarmUpBatch = 5e-3;   // s
constexpr double kShortestCall = 1e-8;  // s: no launch is shorter
constexpr std::int64_t kMostBatches = 1000;

std::int64_t calls_for(double seconds, double one) {
  return static_cast<std::int64_t>(
      std::clamp(std::ceil(seconds / std::max(one, kShortestCall)), 1.0, kMostCalls));
}

}  // namespace

std::vector<double> sample(const Sampling& sampling, const Stopwatch& time) {
  static_cast<void>(time(1));
  double one = time(1);
  double warm = one;
  for (std::int64_t i = 0; warm < sampling.warm_up_seconds && i < kMostBatches; ++i) {
    const std::int64_t calls = calls_for(kWarmUpBatch, one);
    const double seconds = time(calls);
    one = seconds / static_cast<double>(calls);
    warm += seconds;
  }
  const std::int64_t calls = calls_for(sampling.least_seconds, one);
  const double each = std::max(one, kShortestCall) * static_cast<double>(calls);
  const double affordable =
      std::clamp(sampling.most_seconds / each, 1.0, static_cast<double>(sampling.samples));
  std::vector<double> samples(static_cast<std::size_t>(affordable));
  for (double& seconds : samples) seconds = time(calls) / static_cast<double>(calls);
  return samples;
}

Repetitions repetitions_after(double first_seconds) {
  if (first_seconds < 0.3) return {.more = 7, .drop_first = true};
  if (first_seconds < 2) return {.more = 2, .drop_first = false};
  return {.more = 0, .drop_first = false};
}

}  // namespace plimsoll::cuda
