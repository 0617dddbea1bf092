#include "learn/study_file.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "job/fields.hpp"

namespace plimsoll::learn {
namespace {

using job::Fields;
using job::Json;

constexpr std::size_t kMostBytes = std::size_t{256} << 20;
constexpr int kMostLevels = 8;

void read_times(const Fields& fields, Setup& setup) {
  const std::vector<double> times = fields.not_negatives("times");
  if (times.empty()) fields.complain("times", "has no time in it");
  if (times.size() > kMostRuns) fields.complain("times", fmt::format("has more than {} times", kMostRuns));
  const bool told = fields.has("reached");
  static const Json::array_t kNone;
  const Json::array_t& reached = told ? fields.list("reached") : kNone;
  if (told && reached.size() != times.size())
    fields.complain("reached", fmt::format("has {} entries for {} times", reached.size(), times.size()));
  if (!fields.good()) return;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (told && !reached[i].is_boolean())
      return fields.complain("reached", "has an entry that is neither true nor false");
    setup.observations.push_back({times[i], !told || reached[i].get<bool>()});
  }
}

/// The numbers of one point: the clock, then a value for each target. Empty where it is no such thing.
std::vector<double> numbers_of(const Json& point) {
  std::vector<double> out;
  if (!point.is_array()) return out;
  for (const Json& number : point) {
    const auto value = job::real_of(number);
    if (!value) return {};
    out.push_back(*value);
  }
  return out;
}

void read_run(const Fields& fields, std::size_t targets, Setup& setup) {
  Training training{.name = fields.text_if_any("name").value_or("")};
  training.curves.resize(targets);
  double last = 0;
  for (const Json& point : fields.list("points")) {
    const std::vector<double> numbers = numbers_of(point);
    if (numbers.size() != targets + 1)
      return fields.complain("points",
                             fmt::format("has a point that is not a moment and {} values", targets));
    if (!(numbers.front() >= last) || !std::isfinite(numbers.front()))
      return fields.complain("points", "is not in the order of the clock, from 0 on");
    last = numbers.front();
    for (std::size_t i = 0; i < targets; ++i) training.curves[i].push_back({last, numbers[i + 1]});
  }
  training.until = std::max(last, fields.not_negative_if_any("until").value_or(last));
  training.goes_on = fields.has("goes_on") && fields.flag("goes_on");
  training.joules = fields.not_negative_if_any("joules");
  training.generalisation = fields.real_if_any("generalisation");
  if (training.generalisation && !std::isfinite(*training.generalisation))
    fields.complain("generalisation", "is not finite");
  setup.trainings.push_back(std::move(training));
  if (setup.trainings.size() > kMostRuns)
    fields.complain("points", fmt::format("belongs to more than {} runs", kMostRuns));
}

}  // namespace

Result<StudyFile> read_study(std::string_view text) {
  const Result<Json> document = job::parse_within(text, kMostBytes, kMostLevels);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  const Fields fields(*document, {}, error);
  StudyFile out;
  if (fields.has("targets"))
    for (const std::string& written : fields.texts("targets")) {
      Result<Target> target = parse_target(written);
      if (!target) return std::unexpected(std::move(target).error().within("targets"));
      out.targets.push_back(*std::move(target));
    }
  if (fields.has("clock")) out.clock = fields.choice<Clock>("clock", clock_named);
  fields.each("setups", [&](const Fields& one) {
    Setup setup{.name = one.text_if_any("name").value_or(fmt::format("set-up {}", out.setups.size() + 1))};
    if (one.has("runs")) {
      if (out.targets.empty()) return one.complain("runs", "has curves, but the file has no targets");
      one.each("runs", [&](const Fields& run) { read_run(run, out.targets.size(), setup); });
      if (setup.trainings.empty()) one.complain("runs", "has no run in it");
      setup.observations = times_to_targets(setup.trainings, out.targets);
    } else {
      read_times(one, setup);
    }
    out.setups.push_back(std::move(setup));
    if (out.setups.size() > kMostSetups)
      one.complain("name", fmt::format("is of more than {} set-ups", kMostSetups));
  });
  if (error) return std::unexpected(*std::move(error));
  if (out.setups.empty()) return fail("there is no set-up in it: 'setups' is empty");
  return out;
}

}  // namespace plimsoll::learn
