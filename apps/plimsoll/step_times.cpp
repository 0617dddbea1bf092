#include "step_times.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "alone_run.hpp"
#include "base/printable.hpp"
#include "batches.hpp"
#include "diagnose/recording_reader.hpp"
#include "diagnose/together.hpp"
#include "estimate/time/time.hpp"
#include "learn/expectation.hpp"
#include "named_runs.hpp"
#include "program/lowering.hpp"
#include "quantity.hpp"
#include "report/run_title.hpp"
#include "share/choice.hpp"
#include "sharing_figures_file.hpp"
#include "workload_source.hpp"

namespace plimsoll {
namespace {

using learn::Interval;

/// As it is run: call by call, unless it is captured; as uncertain as the device's own time.
Result<Interval> alone_step(const WorkloadRequest& request, const EstimateTarget& on) {
  const estimate::Target target = on.place();
  InspectOptions options;
  options.setting = request.setting;
  const Result<Batches> batches = Batches::load(request.model, options);
  PLIMSOLL_TRY(batches);
  const Result<network::Shapes> shapes = batches->shapes(0);
  PLIMSOLL_TRY(shapes);
  network::Setting setting = request.setting;
  setting.batch = batches->batch_in(*shapes);
  const auto program = program::lower(batches->network(), *shapes, setting, target.platform(setting));
  PLIMSOLL_TRY(program);
  const auto time = estimate::estimate_time(*program, setting, target);
  PLIMSOLL_TRY(time);
  if (!(time->seconds > Seconds())) return fail("{} takes no time", printable(request.name, 60));
  const Seconds step = setting.captured ? time->seconds : time->eager;
  const double own = step / time->seconds;
  return Interval{step.value(), own * time->low.value(), own * time->high.value()};
}

/// How many times as long a step is beside the others.
Result<Interval> slowing(const std::vector<WorkloadRequest>& together, const EstimateTarget& on,
                         const std::string& way) {
  const auto placed = place_workloads(together, on);
  PLIMSOLL_TRY(placed);
  std::vector<const share::Workload*> workloads;
  for (const share::Workload& workload : *placed) workloads.push_back(&workload);
  const auto figures = sharing_figures_of(on.device(), {});
  PLIMSOLL_TRY(figures);
  const auto sharing = share::read_sharing(way, workloads.size());
  if (!sharing) return std::unexpected(Error(sharing.error()).within("--sharing"));
  const auto beside = share::beside(workloads, on.device(), *sharing, *figures, {});
  PLIMSOLL_TRY(beside);
  const share::Member& training = beside->members.front();
  if (!(training.speed > 0) || !(training.low > 0))
    return fail("beside the others {} would stand still", printable(together.front().name, 60));
  return Interval{1 / training.speed, 1 / training.high, 1 / training.low};
}

Result<WorkloadRequest> workload_named(const std::string& text, const std::string& option,
                                       const std::string& store) {
  Result<WorkloadRequest> request = read_workload(text);
  if (!request) return std::unexpected(std::move(request).error().within(option));
  if (request->alone_run.empty()) return request;
  const auto opened = store::open(store, {.create = false});
  PLIMSOLL_TRY(opened);
  const auto alone = alone_of_run(**opened, request->alone_run);
  PLIMSOLL_TRY(alone);
  request->alone = alone->alone;
  return request;
}

/// On each device, alone and, where others are named, beside them.
Result<std::vector<report::StepOn>> step_times(const StepQuestion& question, const std::string& store) {
  std::vector<WorkloadRequest> together;
  Result<WorkloadRequest> training = workload_named(question.model, "--model", store);
  PLIMSOLL_TRY(training);
  training->setting.mode = network::Mode::train;
  together.push_back(*std::move(training));
  std::string names;
  for (const std::string& text : question.beside) {
    Result<WorkloadRequest> other = workload_named(text, "--beside", store);
    PLIMSOLL_TRY(other);
    names += (names.empty() ? "" : ", ") + other->name;
    together.push_back(*std::move(other));
  }
  const std::string way = question.sharing.empty() ? "naive" : question.sharing;
  const auto targets = estimate_targets(question.devices, {});
  if (!targets) return std::unexpected(Error(targets.error()).within("--on"));
  std::vector<report::StepOn> out;
  for (const EstimateTarget& on : *targets) {
    const Result<Interval> alone = alone_step(together.front(), on);
    PLIMSOLL_TRY(alone);
    out.push_back({.device = on.device().name, .beside = {}, .seconds = *alone});
    if (together.size() == 1) continue;
    const Result<Interval> longer = slowing(together, on, way);
    PLIMSOLL_TRY(longer);
    out.push_back({.device = on.device().name,
                   .beside = fmt::format("{} ({})", names, way),
                   .seconds = learn::product(*alone, *longer)});
  }
  return out;
}

/// "12000", or "12000..15000" where four trainings in five lie.
Result<Interval> read_steps(const std::string& text) {
  const auto dots = text.find("..");
  const auto low = parse_amount(text.substr(0, dots), "--steps");
  PLIMSOLL_TRY(low);
  const auto high = dots == std::string::npos ? low : parse_amount(text.substr(dots + 2), "--steps");
  PLIMSOLL_TRY(high);
  if (!(*low > 0) || !(*high >= *low))
    return std::unexpected(Error{fmt::format("{} are no steps", quote(text)), "--steps",
                                 "Write --steps 12000, or --steps 12000..15000."});
  if (dots == std::string::npos) return Interval{*low};
  return Interval{std::sqrt(*low * *high), *low, *high};
}

/// Of one more run, as far as the runs say.
std::optional<Interval> steps_of(const learn::SetupStudy& study) {
  if (study.next) return study.next;
  return study.median ? std::optional(Interval{study.median->value}) : std::nullopt;
}

Status check_question(const report::TtaReport& report, const StepQuestion& question) {
  const bool more = !question.devices.empty() || !question.beside.empty() || !question.steps.empty() ||
                    !question.sharing.empty();
  if (!question.asked() && more)
    return std::unexpected(Error{
        "it is not said which network is trained", {}, "Add --model resnet18,batch=128,optimizer=adamw."});
  if (question.asked() && question.steps.empty() && report.study.clock != learn::Clock::steps)
    return std::unexpected(Error{"--model is of use where steps are counted", {}, "Add --clock steps."});
  if (!question.sharing.empty() && question.beside.empty())
    return std::unexpected(Error{"--sharing says how jobs share a device", {}, "Name one by --beside."});
  return {};
}

}  // namespace

void StepQuestion::add_to(CommandLine& command) {
  command
      .add_option(
          "--model", model,
          "With --clock steps or --steps: the network that is trained, as for plimsoll beside, so that "
          "its step can be estimated: resnet18,batch=128,optimizer=adamw")
      ->option_text("MODEL,KEY=VALUE,…");
  command.add_option("--on", devices, "Devices that it is estimated on (default: this one)")
      ->delimiter(',')
      ->option_text("DEVICE,…");
  command
      .add_option("--beside", beside, "A job that shares the device with it, as --model; may be given again")
      ->allow_extra_args(false)
      ->option_text("MODEL,KEY=VALUE,…");
  command
      .add_option("--steps", steps,
                  "Steps to the target, as you know them, instead of those of runs: 12000 or 12000..15000")
      ->option_text("N");
  command.add_option("--sharing", sharing, "How they share it: naive (default), mps, mps:75,25, mig:…")
      ->option_text("WAY");
}

Status add_expected(report::TtaReport& report, const StepQuestion& question, const std::string& store) {
  PLIMSOLL_TRY(check_question(report, question));
  if (!question.asked()) return {};
  std::optional<Interval> known;
  if (!question.steps.empty()) {
    const auto steps = read_steps(question.steps);
    PLIMSOLL_TRY(steps);
    known = *steps;
  }
  const auto steps_on = step_times(question, store);
  PLIMSOLL_TRY(steps_on);
  const auto add = [&](const std::string& setup, const std::optional<Interval>& steps) {
    if (!steps) return;
    for (const report::StepOn& on : *steps_on)
      report.expected.push_back({setup, on, *steps, learn::expected_time(*steps, on.seconds)});
  };
  for (const learn::SetupStudy& study : report.study.setups) add(study.name, known ? known : steps_of(study));
  if (report.study.setups.empty()) add(question.model, known);
  return {};
}

Result<Seconds> step_of_first_minute(const std::string& store, const std::string& run) {
  const auto opened = store::open(store, {.create = false});
  PLIMSOLL_TRY(opened);
  Result<store::Run> found = named_run(**opened, run);
  PLIMSOLL_TRY(found);
  const std::string id = report::short_id(*found);
  const auto recording = diagnose::read_recording(**opened, *std::move(found), {});
  PLIMSOLL_TRY(recording);
  constexpr double kMinute = 60;
  const auto pace = diagnose::pace_of(*recording, {0, std::min(kMinute, recording->seconds)});
  if (!pace || !(pace->per_second() > 0))
    return std::unexpected(Error{"its first minute tells no metric at two steps", "run " + id,
                                 "A metric with steps is needed: plimsoll: metric loss 0.7 step 40."});
  return Seconds(1 / pace->per_second());
}

}  // namespace plimsoll
