#pragma once
#include "plan/schedule/policy.hpp"

namespace plimsoll::plan::schedule {

[[nodiscard]] std::unique_ptr<Policy> exclusive_policy(const Instance& instance);
[[nodiscard]] std::unique_ptr<Policy> naive_policy(const Instance& instance);
[[nodiscard]] std::unique_ptr<Policy> gate_policy(const Instance& instance);
[[nodiscard]] std::unique_ptr<Policy> best_fit_policy(const Instance& instance);
[[nodiscard]] std::unique_ptr<Policy> packing_policy(const Instance& instance);
[[nodiscard]] std::unique_ptr<Policy> dot_product_policy(const Instance& instance);
[[nodiscard]] std::unique_ptr<Policy> fragmentation_policy(const Instance& instance);

/// What Plimsoll does: the job that adds most to what a place does together.
struct Greed {
  double least_gain = 0.05;  ///< of one job alone, that another must add
  std::size_t most = 4;      ///< on one place
  double long_first = 0.3;   ///< gain that the longest job is preferred by; below 0: the shortest
};
[[nodiscard]] std::unique_ptr<Policy> greedy_policy(const Instance& instance, const Greed& greed);
[[nodiscard]] std::unique_ptr<Policy> plimsoll_policy(const Instance& instance);
/// As the queue has it, which sees what comes of it and takes back what was wrong: trainings that wait for
/// their hosts leave most of a GPU to others, more than a plan on paper puts together.
[[nodiscard]] std::unique_ptr<Policy> queue_policy(const Instance& instance);

/// Jobs at given times on given places.
[[nodiscard]] std::unique_ptr<Policy> fixed_policy(std::vector<Start> starts, std::vector<double> times);

/// Jobs in a given order, each as soon as a place gains enough by it. `order`: all jobs.
[[nodiscard]] std::unique_ptr<Policy> ordered_policy(std::vector<std::size_t> order, double least_gain,
                                                     std::size_t most);

}  // namespace plimsoll::plan::schedule
