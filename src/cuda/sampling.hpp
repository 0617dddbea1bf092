#pragma once
#include <cstdint>
#include <functional>
#include <vector>

namespace plimsoll::cuda {

/// How often something short is repeated.
struct Sampling {
  int samples = 11;             ///< of which the median is meant to be taken
  double least_seconds = 1e-3;  ///< of a sample: as many calls as that takes
  double warm_up_seconds = 0.02;
  double most_seconds = 3;  ///< of all samples: fewer of what is slow, but at least one
};

/// Seconds that so many calls in a row take.
using Stopwatch = std::function<double(std::int64_t calls)>;

/// Seconds per call, a sample each. The first call is dropped: it loads code and touches memory.
[[nodiscard]] std::vector<double> sample(const Sampling& sampling, const Stopwatch& time);

/// How many whole repetitions a study of several steps gets, after the first took so long: quick ones seven
/// and the first is warming up, slow ones one.
struct Repetitions {
  int more = 0;
  bool drop_first = false;
  friend bool operator==(const Repetitions&, const Repetitions&) = default;
};
[[nodiscard]] Repetitions repetitions_after(double first_seconds);

}  // namespace plimsoll::cuda
