#include "alone_run.hpp"

#include "diagnose/laps.hpp"
#include "diagnose/recording_reader.hpp"
#include "diagnose/run_figures.hpp"
#include "named_runs.hpp"

namespace plimsoll {
namespace {

constexpr std::size_t kMostSteps = 1'000'000;

/// From the end of the first step, which holds the time to load, to the end of the last.
struct Steady {
  diagnose::Span span;
  double steps = 0;
};

std::optional<Steady> steady_steps(const diagnose::Recording& recording) {
  const auto metric = diagnose::step_metric(recording);
  if (!metric) return std::nullopt;
  const diagnose::Laps laps = diagnose::step_laps(recording, *metric, kMostSteps);
  if (laps.rows.size() < 2) return std::nullopt;
  const diagnose::Lap &first = laps.rows.front(), &last = laps.rows.back();
  Steady out{.span = {first.span.to, last.span.to}, .steps = static_cast<double>(last.last - first.last)};
  // A command that tells its loss every so many steps gives their numbers.
  if (first.recorded && last.recorded && *last.recorded > *first.recorded)
    out.steps = static_cast<double>(*last.recorded - *first.recorded);
  return out.span.to > out.span.from ? std::optional(out) : std::nullopt;
}

}  // namespace

Result<share::Alone> alone_of_run(store::Store& store, const std::string& id) {
  auto run = named_run(store, id);
  PLIMSOLL_TRY(run);
  const auto recording = diagnose::read_recording(store, *std::move(run), {});
  PLIMSOLL_TRY(recording);
  const auto steady = steady_steps(*recording);
  if (!steady)
    return std::unexpected(
        Error{"it told no two points of a loss, or of another metric, by which to count its steps",
              "run " + id, "give its figures in a file: `alone` of a workload, --workloads FILE"});
  share::Alone out{.steps_per_second = steady->steps / (steady->span.to - steady->span.from)};
  const diagnose::RunFigures figures = diagnose::figures_of(*recording, steady->span);
  if (figures.gpus.empty()) return out;
  const diagnose::GpuFigures& gpu = figures.gpus.front();
  out.active = gpu.kernel_activity;
  out.sms = gpu.sm_activity;
  out.bandwidth = gpu.dram;
  out.tensor = gpu.tensor;
  out.watts = gpu.watts;
  out.reserved_bytes = gpu.run_memory_peak;
  return out;
}

}  // namespace plimsoll
