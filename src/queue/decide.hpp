#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plan/schedule/policy.hpp"

namespace plimsoll::queue {

/// Where jobs of the queue can run now: a GPU, or a slice of one.
struct PlaceNow {
  std::string name = {};    ///< "GPU 0"
  std::string device = {};  ///< its UUID
  std::size_t setup = 0;    ///< of Question::setups
  Bytes memory = {};        ///< all that jobs of the queue may have there
  std::string closed = {};  ///< why nobody may join now; empty: it is open
};

/// A job that runs.
struct RunningNow {
  std::int64_t number = 0;
  std::size_t kind = 0;
  std::vector<std::size_t> places = {};
  double left = 0;       ///< s of it alone, that are expected
  bool is_known = true;  ///< whether that is more than a guess
  double startup = 0;    ///< s until it computes, that are expected
  double speed = 0;      ///< against alone, as it was measured lately; 0: nobody knows
  bool alone = false;
  std::string user = {};
};

/// A job that may start: all that it waits for has ended, and nobody holds it.
struct WaitingNow {
  std::int64_t number = 0;
  std::size_t kind = 0;
  double seconds = 0;    ///< alone
  bool is_known = true;  ///< whether that is more than a guess
  double startup = 0;
  double rank = 0;     ///< who has more comes first: priority and age
  double arrival = 0;  ///< s
  std::optional<double> deadline = {};
  int gpus = 1;
  bool alone = false;
  std::string user = {};
  bool may_be_saved = false;
};

/// All that a decision is made of.
struct Question {
  double now = 0;  ///< s, of any clock that all times here are of
  std::string policy = "plimsoll";
  std::vector<plan::schedule::Kind> kinds = {};
  /// Of each kind the most memory that one was seen to take, as far as it was: what is kept for it beyond
  /// that is no reason against a GPU on which it would have run.
  std::vector<std::optional<Bytes>> seen = {};
  std::vector<plan::schedule::Setup> setups = {};
  std::vector<PlaceNow> places = {};
  std::vector<RunningNow> running = {};
  std::vector<WaitingNow> waiting = {};
  /// Of those, who has been first in line for so long that it comes before all others: where it cannot start,
  /// places are kept for it.
  std::optional<std::size_t> starving = {};
  double idle_watts = 0;
  /// SM activity of a place over the last seconds.
  std::function<plan::schedule::View::Activity(std::size_t place)> activity = {};
};

/// A job that starts now.
struct Chosen {
  std::int64_t number = 0;
  std::vector<std::size_t> places = {};
  double speed = 1;                                          ///< that is expected of it, against alone
  double combined = 1;                                       ///< of all on its first place, with it
  std::vector<std::pair<std::int64_t, double>> others = {};  ///< what those beside it will have
  std::string reason = {};
};
struct Answer {
  std::vector<Chosen> starts = {};
  std::map<std::int64_t, std::string> waits = {};  ///< why the others do not start
};

/// Added to the rank of who would miss a deadline: more than any priority.
inline constexpr double kHurrying = 1e9;
/// Who is first in line: of those whom the places could hold the one of the highest rank, hurry aside, and
/// of these the one that came first.
[[nodiscard]] std::optional<std::size_t> first_in_line(const Question& question);

/// What starts now, and why the rest waits. Pure.
[[nodiscard]] Answer decide(const Question& question, plan::schedule::Rates& rates);

/// When a job is expected to start and end.
struct Expected {
  double start = 0, end = 0;  ///< s from now; of a service the end of all
  bool starts = true;  ///< false: it finds no place, or waits while something runs whose length nobody knows
  bool ends = true;    ///< false: also where nobody knows how long it takes itself
};
/// The future as the policy would have it, by number: those that run and those that wait. Pure.
[[nodiscard]] std::map<std::int64_t, Expected> forecast(const Question& question,
                                                        plan::schedule::Rates& rates);

}  // namespace plimsoll::queue
