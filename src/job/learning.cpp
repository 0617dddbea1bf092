#include "job/learning.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/named.hpp"

namespace plimsoll::job {
namespace {

constexpr std::array<std::string_view, 4> kDeclines = {"none", "step", "cosine", "one-cycle"};

// OneCycleLR's defaults.
constexpr double kRise = 0.3, kFirstShare = 1.0 / 25, kLastShare = kFirstShare / 1e4;

/// From `begin` to `end` along half a cosine; `share` from 0 to 1.
double along_cosine(double begin, double end, double share) {
  return end + (begin - end) / 2 * (1 + std::cos(std::numbers::pi * share));
}

/// Of a rate that rises and falls over `steps` steps; the last one's is the least.
double one_cycle(double peak, double step, double steps) {
  const double top = kRise * steps - 1, end = steps - 1;
  if (step <= top) return along_cosine(peak * kFirstShare, peak, top > 0 ? step / top : 1);
  return along_cosine(peak, peak * kLastShare, end > top ? std::min(1.0, (step - top) / (end - top)) : 1);
}

}  // namespace

std::string_view name(Decline decline) {
  return kDeclines[static_cast<std::size_t>(decline)];
}
std::optional<Decline> decline_named(std::string_view name) {
  return named<Decline>(name, kDeclines);
}

double learning_rate_at(const Schedule& schedule, double peak, std::int64_t step,
                        std::int64_t steps_per_epoch, std::int64_t steps) {
  const double per_epoch = static_cast<double>(steps_per_epoch);
  const double warm_up =
      std::min(std::round(schedule.warm_up_epochs * per_epoch), static_cast<double>(steps));
  const double at = static_cast<double>(step);
  if (at < warm_up) return peak * (at + 1) / warm_up;
  const double after = at - warm_up, left = static_cast<double>(steps) - warm_up;
  switch (schedule.decline) {
    case Decline::none: break;
    case Decline::step:
      return peak * std::pow(schedule.step_factor, std::floor(after / (schedule.step_epochs * per_epoch)));
    case Decline::cosine: return along_cosine(peak, 0, left > 0 ? after / left : 1);
    case Decline::one_cycle: return one_cycle(peak, after, left);
  }
  return peak;
}

}  // namespace plimsoll::job
