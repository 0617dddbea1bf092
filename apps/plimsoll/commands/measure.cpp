#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "calibrated_device.hpp"
#include "command.hpp"
#include "hardware/this_machine.hpp"
#include "interruption.hpp"
#include "json_output.hpp"
#include "measure/engine_program.hpp"
#include "measure/row.hpp"
#include "measure_options.hpp"
#include "measure_preview.hpp"
#include "nvml/library.hpp"
#include "progress_line.hpp"
#include "ready_model.hpp"
#include "report/measurement.hpp"

namespace plimsoll {
namespace {

constexpr double kEnergySeconds = 3;
/// Seconds for libraries, weights and the first pass; a guess for the progress line.
constexpr double kStarting = 10;
/// Everything that is to be measured, in order.
class Session {
 public:
  Session(const MeasureOptions& options, std::vector<ReadyModel> models, std::vector<std::string> devices,
          job::Protocol protocol, std::optional<measure::Scene> scene)
      : options_(options),
        models_(std::move(models)),
        devices_(std::move(devices)),
        protocol_(std::move(protocol)),
        scene_(scene) {}

  [[nodiscard]] std::size_t rows() const {
    std::size_t count = 0;
    for (const ReadyModel& model : models_) count += model.batches.size() * devices_.size();
    return count;
  }

  [[nodiscard]] std::vector<PreviewedRow> plan(const hardware::ThisMachine* machine) const {
    return preview_rows(models_, devices_, options_.setting, machine);
  }

  /// Until done or interrupted.
  std::vector<measure::Measurement> measure(measure::Instruments instruments, Interruption& interruption) {
    ProgressLine progress(static_cast<std::int64_t>(rows()), kStarting + protocol_.seconds);
    instruments.on_progress = [&](const job::Progress& p) { progress.show(p); };
    instruments.interrupted = [&] { return interruption.came(); };
    std::vector<measure::Measurement> out;
    for (const ReadyModel& model : models_)
      for (const std::string& device : devices_) {
        measure::Measurement m = begin(model, device, instruments);
        for (const ReadyModel::Bound& bound : model.batches) {
          progress.begin_row(fmt::format("{} on {}, batch {}",
                                         std::filesystem::path(model.loaded.label).filename().string(),
                                         device, bound.batch));
          job::Job job = job_for(model, bound, device, m.setting, m.execution, m.protocol);
          if (options_.together) job.members = others(model, device);
          auto row = measure::measure_row(job, bound.batch, instruments);
          if (!row) return out;
          progress.end_row();
          m.rows.push_back(std::move(*row));
        }
        out.push_back(std::move(m));
      }
    return out;
  }

 private:
  [[nodiscard]] measure::Measurement begin(const ReadyModel& model, const std::string& device,
                                           const measure::Instruments& instruments) const {
    measure::Measurement m{.model = model.loaded.label,
                           .device = device,
                           .setting = options_.setting,
                           .execution = options_.execution,
                           .protocol = protocol_,
                           .weights = model.weights.source,
                           .scene = scene_,
                           .rows = {},
                           .notes = model.notes};
    m.protocol.energy_seconds = options_.energy_seconds.value_or(
        measure::energy_can_be_read(device, instruments.nvml) ? kEnergySeconds : 0);
    return m;
  }

  /// What is loaded beside a model.
  [[nodiscard]] std::vector<job::Job> others(const ReadyModel& than, const std::string& device) const {
    std::vector<job::Job> out;
    for (const ReadyModel& model : models_)
      if (&model != &than)
        out.push_back(
            job_for(model, model.batches.front(), device, options_.setting, options_.execution, {}));
    return out;
  }

  const MeasureOptions& options_;
  std::vector<ReadyModel> models_;
  std::vector<std::string> devices_;
  job::Protocol protocol_;
  std::optional<measure::Scene> scene_;
};

void print(const std::vector<measure::Measurement>& measurements, const MeasureOptions& options,
           const report::TextStyle& style) {
  if (options.csv) {
    fmt::print("{}", report::to_csv(report::measurement_csv(measurements)));
  } else if (!options.json) {
    fmt::print("{}", report::measurement_text(measurements, style));
  } else if (measurements.size() == 1) {
    print_json(report::to_json(measurements.front()));
  } else {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const measure::Measurement& m : measurements) list.push_back(report::to_json(m));
    print_json(nlohmann::ordered_json{{"measurements", std::move(list)}});
  }
}

/// A row that failed is told on standard error, the others stand. Where all failed there is no answer.
Result<int> conclude(const std::vector<measure::Measurement>& measurements, const MeasureOptions& options,
                     const report::TextStyle& style) {
  std::vector<Error> failures;
  bool fits = true, answered = false;
  for (const measure::Measurement& m : measurements)
    for (const measure::Row& row : m.rows) {
      fits = fits && !row.does_not_fit;
      answered = answered || !row.failure;
      if (row.failure)
        failures.push_back(
            Error(*row.failure).within(fmt::format("{} on {}, batch {}", m.model, m.device, row.batch)));
    }
  if (!answered && !failures.empty()) return std::unexpected(failures.front());
  print(measurements, options, style);
  for (const Error& failure : failures) {
    fmt::print(stderr, "plimsoll: {}\n", printable(failure.text()));
    if (!failure.hint.empty()) fmt::print(stderr, "  {}\n", printable(failure.hint));
  }
  if (failures.empty()) return fits ? 0 : 1;
  switch (failures.front().kind) {
    case Error::Kind::bad_input:
    case Error::Kind::not_found:
    case Error::Kind::exists_already: return 2;
    case Error::Kind::machine_lacks:
    case Error::Kind::unavailable: return 3;
    case Error::Kind::internal: break;
  }
  return 4;
}

Result<Session> prepare(const MeasureOptions& options, bool has_gpu) {
  const auto devices = options.checked_devices(has_gpu ? "cuda:0" : "cpu");
  if (!devices) return std::unexpected(devices.error());
  const auto scene = options.checked_scene();
  if (!scene) return std::unexpected(scene.error());
  Result<job::Protocol> protocol = options.checked_protocol(*scene);
  if (!protocol) return std::unexpected(std::move(protocol).error());
  if (options.together && options.models.size() < 2)
    return fail("--together loads several models, and there is one");
  if (options.json && options.csv) return fail("--json and --csv cannot be given together");
  std::vector<ReadyModel> models;
  for (const std::string& model : options.models) {
    Result<ReadyModel> ready = make_ready({model, options.binding, options.batches, options.setting,
                                           options.execution.seed, options.weights, *scene});
    if (!ready) return std::unexpected(std::move(ready).error());
    models.push_back(std::move(*ready));
  }
  if (!protocol->trace.empty()) protocol->trace = std::filesystem::absolute(protocol->trace).string();
  Session session(options, std::move(models), *devices, std::move(*protocol), *scene);
  if (!options.protocol.trace.empty() && session.rows() > 1)
    return fail("--trace writes one file: name one model, one device and one batch");
  return session;
}

/// Without an engine: what it would have run, as estimated, and how to get one.
int tell_plan(const std::vector<PreviewedRow>& rows, const Error& lacking, const MeasureOptions& options,
              const report::TextStyle& style) {
  if (options.json)
    print_json(preview_json(rows, lacking));
  else if (options.csv)
    fmt::print("{}", report::to_csv(preview_table(rows)));
  else
    fmt::print("Nothing was measured; this would be, one fresh process for each row:\n\n{}",
               report::to_text(preview_table(rows), style));
  fmt::print(stderr, "plimsoll: nothing was measured: {}\n  {}\n", printable(lacking.text()), lacking.hint);
  return 3;
}

Result<int> run(const MeasureOptions& options, const report::TextStyle& style) {
  const Result<std::unique_ptr<nvml::Library>> nvml = nvml::open();
  const nvml::Library* const library = nvml ? nvml->get() : nullptr;
  const auto gpus = library != nullptr ? library->device_count() : Result<unsigned>(0);
  Result<Session> session = prepare(options, gpus && *gpus > 0);
  if (!session) return std::unexpected(std::move(session).error());
  const Result<std::filesystem::path> engine = measure::find_engine(measure::EngineSearch::of_this_process());
  const Result<hardware::ThisMachine> machine = hardware::this_machine();
  if (!engine) return tell_plan(session->plan(machine ? &*machine : nullptr), engine.error(), options, style);
  Result<running::SignalSource> signals = running::SignalSource::open();
  if (!signals) return std::unexpected(std::move(signals).error());
  Interruption interruption(std::move(*signals));

  const std::vector<measure::Measurement> measurements =
      session->measure({.engine = *engine,
                        .limits = {std::chrono::duration<double>(options.timeout),
                                   std::chrono::duration<double>(options.silence)},
                        .nvml = library,
                        .machine = machine ? &*machine : nullptr,
                        .curves = curves_of_gpus(machine ? &*machine : nullptr)},
                       interruption);
  if (interruption.signal() != 0) {
    fmt::print(stderr, "plimsoll: interrupted; the engine was ended\n");
    return 128 + interruption.signal();
  }
  return conclude(measurements, options, style);
}

}  // namespace

void add_measure(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<MeasureOptions>();
  CommandLine* command = app.add_subcommand(
      "measure", "Run networks on this machine: memory and time to load and to run, by batch");
  options->add_to(*command);
  command->footer(
      "Examples:\n"
      "  plimsoll measure resnet50 --batch 1,2,4                       on the first GPU, or the CPU\n"
      "  plimsoll measure resnet50 vgg16 --device cpu,cuda:0 --mode train --optimizer adam\n"
      "  plimsoll measure model.onnx --batch 8 --layers\n"
      "  plimsoll measure resnet50 --scenario server --qps 200 --time-limit 60\n"
      "  plimsoll measure mobilenet_v2 --scene 4512x4512 --patch 224 --batch 16\n"
      "Runs plimsoll-engine, in a fresh process for each row. Exit code 1: some row does not fit. It\n"
      "needs `make engine`; without it the answer is what would run, as estimated, and the exit code 3.");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation] { return run(*options, output_style(invocation)); };
  });
}

}  // namespace plimsoll
