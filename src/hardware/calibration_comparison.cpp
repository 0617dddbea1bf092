#include "hardware/calibration_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace plimsoll::hardware {
namespace {

struct Pair {
  const OperatorPoint* first;
  const OperatorPoint* second;
};
using Group = std::tuple<OperatorClass, Direction, Arithmetic>;

/// Both lists ascend by case.
std::map<Group, std::vector<Pair>> in_common(const Calibration& first, const Calibration& second) {
  std::map<Group, std::vector<Pair>> groups;
  auto other = second.points.begin();
  for (const OperatorPoint& point : first.points) {
    while (other != second.points.end() && other->what < point.what) ++other;
    if (other == second.points.end()) break;
    if (other->what == point.what)
      groups[{point.what.operator_class, point.what.direction, point.what.arithmetic}].push_back(
          {&point, &*other});
  }
  return groups;
}

ClassDifference difference_of(const Group& group, const std::vector<Pair>& pairs) {
  double flops_per_second = 0, bytes_per_second = 0, launch = INFINITY;
  for (const Pair& pair : pairs) {
    const OperatorWork work = work_of(pair.first->what);
    const double best = std::min(pair.first->seconds, pair.second->seconds);
    flops_per_second = std::max(flops_per_second, work.flops_at_peak() / best);
    bytes_per_second = std::max(bytes_per_second, work.bytes() / best);
    launch = std::min(launch, best);
  }
  double first = 0, second = 0;
  for (const Pair& pair : pairs) {
    const OperatorWork work = work_of(pair.first->what);
    const double computing = flops_per_second > 0 ? work.flops_at_peak() / flops_per_second : 0;
    const double moving = bytes_per_second > 0 ? work.bytes() / bytes_per_second : 0;
    const double floor = std::max({computing, moving, launch});
    first += std::log(floor / pair.first->seconds);
    second += std::log(floor / pair.second->seconds);
  }
  const auto count = static_cast<double>(pairs.size());
  return {std::get<0>(group),      std::get<1>(group),
          std::get<2>(group),      static_cast<std::int64_t>(pairs.size()),
          std::exp(first / count), std::exp(second / count)};
}

}  // namespace

CalibrationDifference compare(const Calibration& first, const Calibration& second) {
  CalibrationDifference difference;
  for (const Ceiling& ceiling : first.ceilings) {
    const auto same = std::ranges::find_if(second.ceilings, [&](const Ceiling& other) {
      return other.name == ceiling.name && other.at == ceiling.at && other.unit == ceiling.unit;
    });
    if (same != second.ceilings.end() && ceiling.figure.value > 0)
      difference.ceilings.push_back({&ceiling, &*same});
  }
  for (const auto& [group, pairs] : in_common(first, second))
    difference.classes.push_back(difference_of(group, pairs));
  return difference;
}

}  // namespace plimsoll::hardware
