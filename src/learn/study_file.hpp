#pragma once
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "learn/study.hpp"

namespace plimsoll::learn {

/// What a file gives to be judged: times with what was reached, or learning curves.
struct StudyFile {
  std::vector<Target> targets = {};  ///< none where only times are given
  Clock clock = Clock::seconds;
  std::vector<Setup> setups = {};
};

/// `{"targets": ["accuracy>=0.9"], "clock": "seconds", "setups": [{"name": …, "times": […], "reached": […]},
/// or
/// {"name": …, "runs": [{"name": …, "until": S, "goes_on": false, "generalisation": …, "points": [[clock,
/// value], …]}]}]}`. With several targets a point has a value for each. Any bytes may come in.
[[nodiscard]] Result<StudyFile> read_study(std::string_view text);

/// More are refused, of runs of a set-up as of set-ups.
inline constexpr std::size_t kMostRuns = 10'000;
inline constexpr std::size_t kMostSetups = 10'000;

}  // namespace plimsoll::learn
