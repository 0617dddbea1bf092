#include "learn/survival.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "learn/distributions.hpp"

namespace plimsoll::learn {
namespace {

/// Half, of shares that were multiplied out of fractions: 3/4 of 2/3 is half whatever its last bit.
constexpr double kHalf = 0.5 + 1e-12;

std::vector<Observation> in_order(std::vector<Observation> observations) {
  std::ranges::sort(observations, {}, &Observation::time);
  return observations;
}

/// The area under the curve from `from` to `to`.
double area(const std::vector<SurvivalStep>& curve, double from, double to) {
  double out = 0, share = 1, since = 0;
  for (const SurvivalStep& step : curve) {
    out += share * std::max(0.0, std::min(step.time, to) - std::max(since, from));
    share = step.share;
    since = step.time;
  }
  return out + share * std::max(0.0, to - std::max(since, from));
}

void set_interval(SurvivalStep& step, double greenwood, double z) {
  // Where all or none are left the variance says nothing.
  if (step.share >= 1 || step.share <= 0) {
    step.low = step.high = step.share;
    return;
  }
  const double log_share = std::log(step.share);
  const double half = z * std::sqrt(greenwood) / -log_share;
  step.low = std::exp(log_share * std::exp(half));
  step.high = std::exp(log_share * std::exp(-half));
}

}  // namespace

std::vector<SurvivalStep> survival_curve(const std::vector<Observation>& observations, double confidence) {
  const std::vector<Observation> sorted = in_order(observations);
  const double z = normal_quantile(1 - (1 - confidence) / 2);
  std::vector<SurvivalStep> out;
  double share = 1, greenwood = 0;
  for (std::size_t i = 0; i < sorted.size();) {
    SurvivalStep step{.time = sorted[i].time, .at_risk = sorted.size() - i};
    for (; i < sorted.size() && sorted[i].time == step.time; ++i)
      ++(sorted[i].reached ? step.reached : step.left);
    const auto risk = static_cast<double>(step.at_risk), there = static_cast<double>(step.reached);
    share *= 1 - there / risk;
    if (step.reached < step.at_risk) greenwood += there / (risk * (risk - there));
    step.share = step.reached == step.at_risk ? 0 : share;
    set_interval(step, greenwood, z);
    out.push_back(step);
  }
  return out;
}

std::optional<Interval> median_time(const std::vector<SurvivalStep>& curve) {
  const auto first = [&](double SurvivalStep::* share) -> std::optional<double> {
    const auto found = std::ranges::find_if(curve, [&](const SurvivalStep& s) { return s.*share <= kHalf; });
    return found == curve.end() ? std::nullopt : std::optional(found->time);
  };
  const std::optional<double> middle = first(&SurvivalStep::share);
  if (!middle) return std::nullopt;
  return Interval{*middle, first(&SurvivalStep::low), first(&SurvivalStep::high)};
}

std::optional<Interval> restricted_mean(const std::vector<SurvivalStep>& curve, double horizon,
                                        double confidence) {
  if (curve.empty() || !(horizon >= 0)) return std::nullopt;
  const double until = std::min(horizon, curve.back().time);
  const double whole = area(curve, 0, until);
  double variance = 0;
  for (const SurvivalStep& step : curve) {
    if (step.time >= until || step.reached == 0 || step.reached == step.at_risk) continue;
    const auto risk = static_cast<double>(step.at_risk), there = static_cast<double>(step.reached);
    variance += std::pow(area(curve, step.time, until), 2) * there / (risk * (risk - there));
  }
  const double half = normal_quantile(1 - (1 - confidence) / 2) * std::sqrt(variance);
  return Interval{whole, std::max(0.0, whole - half), whole + half};
}

LogRank log_rank(const std::vector<Observation>& one, const std::vector<Observation>& other) {
  const std::vector<Observation> first = in_order(one), second = in_order(other);
  double surplus = 0, variance = 0;
  std::size_t i = 0, j = 0;
  while (i < first.size() || j < second.size()) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    const double now =
        std::min(i < first.size() ? first[i].time : kNever, j < second.size() ? second[j].time : kNever);
    const auto own_risk = static_cast<double>(first.size() - i);
    const double risk = own_risk + static_cast<double>(second.size() - j);
    double own = 0, all = 0;
    for (; i < first.size() && first[i].time <= now; ++i) own += first[i].reached ? 1 : 0;
    for (; j < second.size() && second[j].time <= now; ++j) all += second[j].reached ? 1 : 0;
    all += own;
    if (all == 0) continue;
    surplus += own - all * own_risk / risk;
    if (risk > 1) variance += all * (own_risk / risk) * (1 - own_risk / risk) * (risk - all) / (risk - 1);
  }
  const double statistic = variance > 0 ? surplus * surplus / variance : 0;
  return LogRank{statistic, chi_squared_above(statistic)};
}

}  // namespace plimsoll::learn
