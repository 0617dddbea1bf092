#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "plan/schedule/policy.hpp"

namespace plimsoll::plan::schedule {

/// What became of a job.
struct Ran {
  double start = 0, end = 0;             ///< s; of a service the end of all
  double first_step = 0;                 ///< s: from its start until then it starts up
  std::vector<std::size_t> places = {};  ///< empty: it never started
  int failures = 0;                      ///< that there was not enough memory
  /// Standard deviation of log(true / mean speed), a mean over its work; nothing where nobody knows.
  std::optional<double> log_error = {};
  [[nodiscard]] double computes_from() const { return std::max(start, first_step); }
};

/// What became of all.
struct Outcome {
  std::vector<Ran> jobs = {};
  double makespan = 0;         ///< s, to the end of the last that has one
  double mean_completion = 0;  ///< s, from arrival to end
  double mean_waiting = 0;     ///< s, from arrival to start
  double service_waiting = 0;  ///< s, of all services, from arrival to start
  double joules = 0;           ///< of all GPUs, until the makespan
  double money = 0;
  double active = 0;  ///< of the GPUs' SMs, in the mean until the makespan
  int out_of_memory = 0;
  int late = 0;          ///< beyond their deadlines
  bool refused = false;  ///< some were together that are not allowed to be, as it turned out
  std::vector<std::size_t> unplaced = {};
};

/// What is true of jobs where it differs from what is believed.
struct Truth {
  Rates& rates;
  std::span<const Bytes> memory = {};  ///< by kind; empty: as the kinds say
  /// Is told how long which kinds computed together.
  std::function<void(std::span<const std::uint32_t> kinds, std::size_t setup, double seconds)> spent = {};
};

/// Lets time go by: jobs arrive and end, the policy starts them, those on one place slow each other down as
/// the truth says. A job that finds too little memory fails at once, and is told to the policy again.
[[nodiscard]] Outcome simulate(const Instance& instance, Rates& beliefs, const Truth& truth, Policy& policy);

/// Over which a GPU's activity is looked at.
inline constexpr double kActivityWindow = 5;  // s

}  // namespace plimsoll::plan::schedule
