#include "learn/run_target.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"

namespace plimsoll::learn {

std::optional<Target> target_of(const store::Run& run) {
  const auto tag = run.tags.find(std::string(kTargetTag));
  if (tag == run.tags.end()) return std::nullopt;
  Result<Target> target = parse_target(tag->second);
  return target ? std::optional(*std::move(target)) : std::nullopt;
}

RunTarget run_target(const Target& target, std::vector<Evaluation> curve, double until, bool goes_on) {
  RunTarget out{.target = target, .seen = {}, .goes_on = goes_on};
  if (goes_on) out.expected = forecast(curve, target);
  const Training training{.name = {}, .curves = {std::move(curve)}, .until = until};
  out.seen = time_to_targets(training, std::span(&target, 1));
  return out;
}

std::optional<RunTarget> run_target(const diagnose::Recording& recording) {
  const std::optional<Target> target = target_of(recording.run);
  if (!target) return std::nullopt;
  const diagnose::Series* series = recording.find(target->metric);
  if (series == nullptr || series->samples.empty()) return std::nullopt;
  std::vector<Evaluation> curve;
  for (const diagnose::Sample& sample : series->samples) curve.push_back({sample.span.to, sample.value});
  return run_target(*target, std::move(curve), recording.seconds, !recording.ended);
}

std::string run_target_text(const RunTarget& target) {
  const std::string what = printable(target_text(target.target));
  const auto time = [](double seconds) { return text(Seconds(seconds)); };
  if (target.seen.reached) return fmt::format("{} after {}", what, time(target.seen.time));
  if (!target.goes_on) return fmt::format("{} not reached in {}", what, time(target.seen.time));
  if (!target.expected) return fmt::format("{} not reached yet; when it will be cannot be told", what);
  return fmt::format("{} expected after {} ({} to {} in four cases of five)", what,
                     time(target.expected->value), time(target.expected->low), time(target.expected->high));
}

}  // namespace plimsoll::learn
