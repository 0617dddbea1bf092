#include "diagnose/together.hpp"

#include <algorithm>

#include "diagnose/laps.hpp"

namespace plimsoll::diagnose {
namespace {

constexpr std::size_t kMostSteps = 1'000'000;
constexpr std::size_t kMostCompanions = 48;  // clients of one MPS daemon

/// A span of one run on another one's clock.
Span on_clock(const Span& span, const store::Run& from, const store::Run& to) {
  const double later = static_cast<double>(from.start - to.start) * 1e-6;
  return {span.from + later, span.to + later};
}

}  // namespace

std::optional<Pace> pace_of(const Recording& recording, const Span& within) {
  const auto metric = step_metric(recording);
  if (!metric) return std::nullopt;
  const Laps laps = step_laps(recording, *metric, kMostSteps);
  const Lap *first = nullptr, *last = nullptr;
  for (const Lap& lap : laps.rows) {
    if (lap.span.to < within.from || lap.span.to > within.to) continue;
    if (first == nullptr) first = &lap;
    last = &lap;
  }
  if (first == nullptr || first == last || last->span.to <= first->span.to) return std::nullopt;
  Pace out{.span = {first->span.to, last->span.to}, .steps = static_cast<double>(last->last - first->last)};
  out.before = static_cast<double>(first->recorded.value_or(first->last));
  // A command that tells its loss every so many steps gives their numbers.
  if (first->recorded && last->recorded && *last->recorded > *first->recorded)
    out.steps = static_cast<double>(*last->recorded - *first->recorded);
  return out;
}

std::optional<double> Together::speed() const {
  if (!measured || alone_steps_per_second <= 0) return std::nullopt;
  return measured->per_second() / alone_steps_per_second;
}

std::vector<std::string> companions_of(const store::Run& run) {
  std::vector<std::string> out;
  const auto tag = run.tags.find("plimsoll.beside.with");
  if (tag == run.tags.end()) return out;
  std::string_view rest = tag->second;
  while (!rest.empty() && out.size() < kMostCompanions) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (end > 0) out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

std::optional<Together> together_of(const Recording& recording, std::span<const Recording> others) {
  const auto speed = recording.number_tag("plimsoll.beside.speed");
  const auto low = recording.number_tag("plimsoll.beside.low"),
             high = recording.number_tag("plimsoll.beside.high"),
             alone = recording.number_tag("plimsoll.beside.alone_steps_per_second");
  if (!speed || !low || !high || !alone) return std::nullopt;
  Together out{.sharing = recording.tag("plimsoll.beside.sharing").value_or(""),
               .with = companions_of(recording.run),
               .predicted = *speed,
               .low = *low,
               .high = *high,
               .alone_steps_per_second = *alone};
  Span all = recording.whole();
  for (const std::string& id : out.with) {
    const auto other = std::ranges::find(others, id, [](const Recording& r) { return r.run.id; });
    const auto pace = other == others.end() ? std::nullopt : pace_of(*other, other->whole());
    if (!pace) return out;
    const Span worked = on_clock(pace->span, other->run, recording.run);
    all = {std::max(all.from, worked.from), std::min(all.to, worked.to)};
  }
  if (all.to > all.from) out.measured = pace_of(recording, all);
  return out;
}

}  // namespace plimsoll::diagnose
