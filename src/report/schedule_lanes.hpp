#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plan/schedule/planner.hpp"

/// What text, JSON and page of a plan of jobs have in common. Private to report.
namespace plimsoll::report {

/// A job on a place. Rows are counted from 0; no two of one row overlap.
struct LaneBar {
  std::size_t job = 0;
  std::size_t row = 0;
};

/// A place and all that runs there, in the order in which it starts.
struct Lane {
  std::size_t place = 0;
  std::size_t rows = 1;
  std::vector<LaneBar> bars = {};
};
[[nodiscard]] std::vector<Lane> lanes_of(const plan::schedule::Plan& plan);

/// For each job, those that are on one of its places at some time with it, in ascending order.
[[nodiscard]] std::vector<std::vector<std::size_t>> besides_of(const plan::schedule::Plan& plan);

/// Against alone, from its first step on; nothing of a service and of what takes no time.
[[nodiscard]] std::optional<double> mean_speed(const plan::schedule::Plan& plan, std::size_t index);

/// To the end of the last, in s.
[[nodiscard]] double schedule_span(const plan::schedule::Plan& plan);

/// "mps", "mps 50 %", a slice by its profile.
[[nodiscard]] std::string setup_words(const plan::schedule::Setup& setup);
[[nodiscard]] std::string place_name(const plan::schedule::Place& place);
/// "GPU 0, mps", "GPU 0:1, 3g.71gb".
[[nodiscard]] std::string place_words(const plan::schedule::Plan& plan, std::size_t index);

/// A mark of the axis of time.
struct TimeTick {
  double at = 0;  ///< s
  std::string text;
};
/// From 0 on, evenly and in steps that people count in; `most` of them, two at least.
[[nodiscard]] std::vector<TimeTick> time_ticks(double span, std::size_t most);

/// What is taken on a place from one moment to the next.
struct Occupied {
  double from = 0, to = 0;  ///< s
  Bytes memory = {};        ///< the most that all together take
  bool unknown = false;     ///< nobody knows what one of them takes
  double activity = 0;      ///< of the SMs, by mean speeds; one at most
};
[[nodiscard]] std::vector<Occupied> occupied_over_time(const plan::schedule::Plan& plan, const Lane& lane);

}  // namespace plimsoll::report
