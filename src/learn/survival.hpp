#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "learn/observation.hpp"

namespace plimsoll::learn {

/// From this time on that share has not reached the target yet.
struct SurvivalStep {
  double time = 0;
  std::size_t at_risk = 0;  ///< observed until then, and not there yet
  std::size_t reached = 0;  ///< at this time
  std::size_t left = 0;     ///< censored at this time
  double share = 1;
  double low = 0, high = 1;  ///< its interval
  friend bool operator==(const SurvivalStep&, const SurvivalStep&) = default;
};

/// Kaplan and Meier's estimate (J. Am. Stat. Assoc. 53, 1958) of the share that has not reached the target,
/// one step per distinct time, with Greenwood's variance carried by log(-log(share)), so that the interval
/// stays between 0 and 1. Runs that did not reach it are in it until they ended.
[[nodiscard]] std::vector<SurvivalStep> survival_curve(const std::vector<Observation>& observations,
                                                       double confidence);

/// The first time at which at most half are left; an end is the same of the interval's curve (Brookmeyer and
/// Crowley, Biometrics 38, 1982). Nothing where more than half never reached it.
[[nodiscard]] std::optional<Interval> median_time(const std::vector<SurvivalStep>& curve);

/// The mean of the time to the target or `horizon`, whichever is first: the area under the curve up to there.
/// Its interval is by its standard error. The horizon is no later than the last time of the data.
[[nodiscard]] std::optional<Interval> restricted_mean(const std::vector<SurvivalStep>& curve, double horizon,
                                                      double confidence);

struct LogRank {
  double statistic = 0;  ///< chi-squared, one degree of freedom
  double p = 1;
};
/// Whether two set-ups reach it at the same pace (Mantel, Cancer Chemother. Rep. 50, 1966). No
/// time that tells them apart is no evidence: p is 1.
[[nodiscard]] LogRank log_rank(const std::vector<Observation>& one, const std::vector<Observation>& other);

}  // namespace plimsoll::learn
