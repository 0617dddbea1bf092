#include "alone_run.hpp"

#include "diagnose/recording_reader.hpp"
#include "diagnose/run_figures.hpp"
#include "diagnose/together.hpp"
#include "named_runs.hpp"

namespace plimsoll {
namespace {

// The share of the time in which kernels run is told for ten seconds at once: of a short time most of what is
// told is of what lay before and after it.
constexpr double kLongAgainstItsWindows = 60;  // s

}  // namespace

Result<RunAlone> alone_of_run(store::Store& store, const std::string& id) {
  auto run = named_run(store, id);
  PLIMSOLL_TRY(run);
  const auto recording = diagnose::read_recording(store, *std::move(run), {});
  PLIMSOLL_TRY(recording);
  const auto steady = diagnose::pace_of(*recording, recording->whole());
  if (!steady)
    return std::unexpected(
        Error{"it told no two points of a loss, or of another metric, by which to count its steps",
              "run " + id, "give its figures in a file: `alone` of a workload, --workloads FILE"});
  RunAlone told{.alone = {.steps_per_second = steady->per_second()}, .startup = steady->startup()};
  const diagnose::RunFigures figures = diagnose::figures_of(*recording, steady->span);
  if (figures.gpus.empty()) return told;
  const diagnose::GpuFigures& gpu = figures.gpus.front();
  share::Alone& out = told.alone;
  if (steady->span.seconds() >= kLongAgainstItsWindows) out.active = gpu.kernel_activity;
  out.sms = gpu.sm_activity;
  out.bandwidth = gpu.dram;
  out.tensor = gpu.tensor;
  out.watts = gpu.watts;
  out.reserved_bytes = gpu.run_memory_peak;
  return told;
}

}  // namespace plimsoll
