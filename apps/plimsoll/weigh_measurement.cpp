#include "weigh_measurement.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "calibrated_device.hpp"
#include "hardware/this_machine.hpp"
#include "interruption.hpp"
#include "measure/engine_program.hpp"
#include "measure/row.hpp"
#include "nvml/library.hpp"
#include "progress_line.hpp"
#include "ready_model.hpp"

namespace plimsoll {
namespace {

constexpr double kRowSeconds = 15;  ///< a guess for the progress line
constexpr double kEnergySeconds = 3;
constexpr double kHotSeconds = 5;

bool is_measured(const report::WeighedDevice& device) {
  return device.here && device.in_full;
}

std::string engine_device(const report::WeighedDevice& device) {
  return device.use ? fmt::format("cuda:{}", device.use->number) : "cpu";
}

}  // namespace

bool has_engine() {
  return measure::find_engine(measure::EngineSearch::of_this_process()).has_value();
}

Result<std::filesystem::path> engine_for(const report::Weighing& weighing) {
  if (std::ranges::none_of(weighing.devices, is_measured))
    return fail("--measure runs on this machine; give --device this, or no --device");
  return measure::find_engine(measure::EngineSearch::of_this_process());
}

Result<int> measure_here(report::Weighing& weighing, const WeighOptions& options,
                         const std::filesystem::path& engine) {
  const auto rows = std::ranges::count_if(weighing.devices, is_measured);
  network::Setting setting = options.inspect.setting;
  // Weights that the file does not have are drawn: time and memory rarely depend on them.
  const Result<ReadyModel> ready =
      make_ready({options.model, options.inspect.binding, {}, setting, 0, {.file = {}, .random = true}});
  PLIMSOLL_TRY(ready);
  const Result<std::unique_ptr<nvml::Library>> nvml = nvml::open();
  const Result<hardware::ThisMachine> machine = hardware::this_machine();
  Result<running::SignalSource> signals = running::SignalSource::open();
  PLIMSOLL_TRY(signals);
  Interruption interruption(*std::move(signals));
  ProgressLine progress(rows, kRowSeconds);
  const measure::Instruments instruments{.engine = engine,
                                         .nvml = nvml ? nvml->get() : nullptr,
                                         .machine = machine ? &*machine : nullptr,
                                         .curves = curves_of_gpus(machine ? &*machine : nullptr),
                                         .on_progress = [&](const job::Progress& p) { progress.show(p); },
                                         .interrupted = [&] { return interruption.came(); }};
  for (report::WeighedDevice& device : weighing.devices) {
    if (!is_measured(device)) continue;
    const std::string name = engine_device(device);
    progress.begin_row(
        fmt::format("{} on {}", std::filesystem::path(options.model).filename().string(), name));
    // On a GPU as a captured graph, which is what the estimate is of.
    setting.captured = device.use.has_value() && setting.mode == network::Mode::infer;
    job::Protocol protocol;
    protocol.seconds = kHotSeconds;
    if (measure::energy_can_be_read(name, instruments.nvml)) protocol.energy_seconds = kEnergySeconds;
    const ReadyModel::Bound& bound = ready->batches.front();
    device.measured =
        measure::measure_row(job_for(*ready, bound, name, setting, {}, protocol), bound.batch, instruments);
    if (!device.measured) return interruption.signal();
    progress.end_row();
  }
  return 0;
}

}  // namespace plimsoll
