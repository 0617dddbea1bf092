#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

namespace plimsoll::probe {

/// How often to repeat.
struct Repetition {
  int least = 3;
  int most = 15;
  double seconds = 1;  ///< after which no more are begun, once there are the least
};

/// Calls `once`, which gives the seconds that a sample took, until there are enough of them.
template <class Once>
[[nodiscard]] std::vector<double> repeated(const Repetition& repetition, const Once& once) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<double> samples;
  while (static_cast<int>(samples.size()) < repetition.most) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    if (static_cast<int>(samples.size()) >= repetition.least && elapsed.count() > repetition.seconds) break;
    samples.push_back(once());
  }
  return samples;
}

/// How many passes a sample needs to last so long, given what one takes.
[[nodiscard]] inline std::int64_t passes_for(double seconds, double pass) {
  constexpr double kMost = 1e6;
  return static_cast<std::int64_t>(std::clamp(std::ceil(seconds / std::max(pass, 1e-9)), 1.0, kMost));
}

}  // namespace plimsoll::probe
