#include "report/schedule_lanes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"

namespace plimsoll::report {
namespace {

using plan::schedule::Kind;
using plan::schedule::Place;
using plan::schedule::Plan;
using plan::schedule::Ran;

/// Times of one moment differ by what is lost in rounding.
constexpr double kMoment = 1e-6;  // s

/// Units that people count time in, and the steps in each.
struct TimeUnit {
  double seconds;
  std::string_view name;
  std::array<double, 6> steps;
};
constexpr std::array<TimeUnit, 4> kTimeUnits = {{{1, "s", {1, 2, 5, 10, 15, 30}},
                                                 {60, "min", {1, 2, 5, 10, 15, 30}},
                                                 {3600, "h", {1, 2, 3, 4, 6, 12}},
                                                 {86400, "d", {1, 2, 5, 7, 14, 28}}}};

struct TimeStep {
  double seconds, unit;
  std::string_view name;
};

TimeStep step_for(double span, double most) {
  const double least = span / most;
  if (least > kTimeUnits.front().seconds / 2)
    for (const TimeUnit& unit : kTimeUnits)
      for (const double step : unit.steps)
        if (step * unit.seconds >= least) return {step * unit.seconds, unit.seconds, unit.name};
  const bool is_short = least <= kTimeUnits.front().seconds / 2;
  const TimeUnit& unit = is_short ? kTimeUnits.front() : kTimeUnits.back();
  const double power = std::pow(10, std::floor(std::log10(least / unit.seconds)));
  double step = power;
  for (const double factor : {2.0, 5.0, 10.0})
    if (step * unit.seconds < least) step = factor * power;
  return {step * unit.seconds, unit.seconds, unit.name};
}

}  // namespace

std::vector<Lane> lanes_of(const Plan& plan) {
  std::vector<Lane> lanes(plan.instance.places.size());
  for (std::size_t place = 0; place < lanes.size(); ++place) lanes[place].place = place;
  for (std::size_t job = 0; job < plan.outcome.jobs.size(); ++job)
    for (const std::size_t place : plan.outcome.jobs[job].places) lanes[place].bars.push_back({job});
  for (Lane& lane : lanes) {
    std::ranges::stable_sort(lane.bars, {},
                             [&](const LaneBar& bar) { return plan.outcome.jobs[bar.job].start; });
    std::vector<double> free_from;  // by row
    for (LaneBar& bar : lane.bars) {
      const Ran& ran = plan.outcome.jobs[bar.job];
      const auto row =
          std::ranges::find_if(free_from, [&](double free) { return free <= ran.start + kMoment; });
      bar.row = static_cast<std::size_t>(row - free_from.begin());
      if (row == free_from.end())
        free_from.push_back(ran.end);
      else
        *row = ran.end;
    }
    lane.rows = std::max<std::size_t>(1, free_from.size());
  }
  return lanes;
}

std::vector<std::vector<std::size_t>> besides_of(const Plan& plan) {
  std::vector<std::vector<std::size_t>> out(plan.outcome.jobs.size());
  for (const Lane& lane : lanes_of(plan)) {
    std::vector<std::size_t> running;
    for (const LaneBar& bar : lane.bars) {
      const double start = plan.outcome.jobs[bar.job].start;
      std::erase_if(running,
                    [&](std::size_t other) { return plan.outcome.jobs[other].end <= start + kMoment; });
      for (const std::size_t other : running) {
        out[bar.job].push_back(other);
        out[other].push_back(bar.job);
      }
      running.push_back(bar.job);
    }
  }
  for (std::vector<std::size_t>& of : out) {
    std::ranges::sort(of);
    of.erase(std::ranges::unique(of).begin(), of.end());
  }
  return out;
}

std::optional<double> mean_speed(const Plan& plan, std::size_t index) {
  const plan::schedule::Job& job = plan.instance.jobs[index];
  const Ran& ran = plan.outcome.jobs[index];
  if (plan.instance.kinds[job.kind].serves || ran.places.empty() || !(ran.end > ran.computes_from()))
    return {};
  return job.seconds / (ran.end - ran.computes_from());
}

double schedule_span(const Plan& plan) {
  double out = plan.outcome.makespan;
  for (const Ran& ran : plan.outcome.jobs) out = std::max(out, ran.end);
  return out;
}

std::string setup_words(const plan::schedule::Setup& setup) {
  if (setup.way == share::Way::mig && !setup.profile.empty())
    return printable(setup.profile) + (setup.clients ? " with mps" : "");
  if (setup.way == share::Way::mps && setup.cap < 1)
    return fmt::format("{} {:g} %", share::name(setup.way), 100 * setup.cap);
  return std::string(share::name(setup.way));
}

std::string place_words(const Plan& plan, std::size_t index) {
  const Place& place = plan.instance.places[index];
  return fmt::format("GPU {}, {}", place_name(place), setup_words(plan.instance.setups[place.setup]));
}

std::string place_name(const Place& place) {
  return place.name.empty() ? fmt::format("{}", place.device) : printable(place.name);
}

std::vector<TimeTick> time_ticks(double span, std::size_t most) {
  if (!(span > 0) || !std::isfinite(span)) return {{0, "0"}};
  const TimeStep step = step_for(span, static_cast<double>(std::max<std::size_t>(most, 2) - 1));
  std::vector<TimeTick> out = {{0, "0"}};
  for (double count = 1; count * step.seconds <= span * (1 + 1e-9); ++count) {
    const double at = count * step.seconds;
    out.push_back(
        {at, step.seconds < 1 ? text(Seconds(at)) : fmt::format("{:g} {}", at / step.unit, step.name)});
  }
  return out;
}

std::vector<Occupied> occupied_over_time(const Plan& plan, const Lane& lane) {
  std::vector<double> moments = {0, schedule_span(plan)};
  for (const LaneBar& bar : lane.bars) {
    moments.push_back(plan.outcome.jobs[bar.job].start);
    moments.push_back(plan.outcome.jobs[bar.job].computes_from());
    moments.push_back(plan.outcome.jobs[bar.job].end);
  }
  std::ranges::sort(moments);
  moments.erase(std::ranges::unique(moments).begin(), moments.end());
  std::vector<Occupied> out;
  std::vector<std::size_t> running;
  std::size_t next = 0;
  for (std::size_t i = 0; i + 1 < moments.size(); ++i) {
    Occupied now{.from = moments[i], .to = moments[i + 1]};
    for (; next < lane.bars.size() && plan.outcome.jobs[lane.bars[next].job].start <= now.from; ++next)
      running.push_back(lane.bars[next].job);
    std::erase_if(running, [&](std::size_t job) { return plan.outcome.jobs[job].end <= now.from; });
    if (now.to - now.from <= kMoment) continue;
    for (const std::size_t job : running) {
      const Kind& kind = plan.instance.kinds[plan.instance.jobs[job].kind];
      now.memory += kind.memory.value_or(Bytes());
      now.unknown = now.unknown || !kind.memory;
      if (plan.outcome.jobs[job].computes_from() <= now.from)
        now.activity += kind.activity * mean_speed(plan, job).value_or(1);
    }
    now.activity = std::min(1.0, now.activity);
    out.push_back(now);
  }
  return out;
}

}  // namespace plimsoll::report
