#include <algorithm>
#include <deque>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "batches.hpp"
#include "command.hpp"
#include "estimate/memory/memory.hpp"
#include "gpu_users.hpp"
#include "hardware/catalogue.hpp"
#include "hardware/this_machine.hpp"
#include "inspect_model.hpp"
#include "json_output.hpp"
#include "report/memory_report.hpp"
#include "report/timeline_page.hpp"
#include "setting_options.hpp"

namespace plimsoll {
namespace {

struct Options {
  std::string model;
  InspectOptions inspect;
  MemoryOptions memory;
  std::vector<std::int64_t> batches;
  std::vector<std::string> devices;
  std::string timeline;
  bool max_batch = false;
  bool advice = false;
  bool json = false;
};

struct Target {
  hardware::Device device;
  std::vector<report::OtherUser> others;  ///< of this machine's GPU
};

/// The device, less what others use of it where it is this machine's GPU.
Result<Target> target_named(const std::string& name) {
  Result<hardware::Device> device = hardware::device_named(name);
  if (!device) return std::unexpected(std::move(device).error());
  Target target{std::move(*device), {}};
  if (name != "this" || target.device.kind != hardware::DeviceKind::gpu) return target;
  GpuUse use = gpu_use(0);
  if (use.free) {
    target.device.usable_memory =
        hardware::Figure{static_cast<double>(use.free->count()), hardware::Provenance::measured,
                         "free at this moment, by the driver"};
    target.others = std::move(use.users);
  }
  return target;
}

/// What a report looks at; it must outlive the report.
struct Bound {
  network::Shapes shapes;
  estimate::Counts counts;
};

Result<report::MemoryReport> one_report(const Options& options, const Batches& batches, const Target& target,
                                        std::int64_t batch, std::deque<Bound>& kept) {
  Result<network::Shapes> shapes = batches.shapes(batch);
  if (!shapes) return std::unexpected(std::move(shapes).error());
  const std::int64_t actual = batches.batch_in(*shapes);
  estimate::MemorySetting setting = options.memory.setting;
  setting.mode = options.inspect.mode;
  Result<estimate::MemoryEstimate> estimate =
      estimate::estimate_memory(batches.network(), *shapes, setting, target.device);
  if (!estimate) return std::unexpected(std::move(estimate).error().within(options.model));
  estimate::Counts counts = batches.count(*shapes);
  const Bound& bound = kept.emplace_back(std::move(*shapes), std::move(counts));
  report::MemoryReport report{.inspection = batches.inspection(bound.shapes, bound.counts),
                              .setting = setting,
                              .batch = actual,
                              .device = target.device,
                              .estimate = std::move(*estimate),
                              .others = target.others};
  const auto again = [&](std::int64_t n) { return batches.shapes(n == actual ? batch : n); };
  if (options.max_batch) {
    Result<estimate::LargestBatch> largest =
        estimate::largest_batch(batches.network(), again, setting, target.device);
    if (!largest) return std::unexpected(std::move(largest).error());
    report.largest = *largest;
  }
  if (options.advice || (!options.json && !report.estimate.fits.value_or(true))) {
    Result<std::vector<estimate::Measure>> measures =
        estimate::what_would_lower(batches.network(), again, actual, setting, target.device);
    if (!measures) return std::unexpected(std::move(measures).error());
    report.measures = std::move(*measures);
  }
  return report;
}

nlohmann::ordered_json answer(const report::MemoryReport& report) {
  nlohmann::ordered_json out;
  out["model"] = report.inspection.model;
  out["device"] = report.device.id;
  out["mode"] = network::name(report.setting.mode);
  out["batch"] = report.batch;
  out["precision"] = network::name(report.setting.precision);
  out["load"] = {{"seconds", nullptr}, {"bytes", report.estimate.weights.count()}};
  out["memory"] = report::to_json(report);
  return out;
}

Status write_timeline(const Options& options, const Batches& batches, const report::MemoryReport& report) {
  const Result<network::Shapes> shapes =
      batches.shapes(options.batches.empty() ? 0 : options.batches.front());
  if (!shapes) return std::unexpected(shapes.error());
  const Result<estimate::Timeline> timeline =
      estimate::memory_timeline(batches.network(), *shapes, report.setting, report.device);
  if (!timeline) return std::unexpected(timeline.error());
  const std::string title = fmt::format("{}, batch {}, {}", report.inspection.model, report.batch,
                                        network::name(report.setting.mode));
  return write_file(options.timeline, report::timeline_page(*timeline, title, report.estimate.capacity));
}

Result<int> run(const Options& options, const report::TextStyle& style) {
  std::vector<Target> targets;
  for (const std::string& name :
       options.devices.empty() ? std::vector<std::string>{"this"} : options.devices) {
    Result<Target> target = target_named(name);
    if (!target) return std::unexpected(std::move(target).error());
    targets.push_back(std::move(*target));
  }
  const Result<Batches> batches = Batches::load(options.model, options.inspect);
  if (!batches) return std::unexpected(batches.error());
  std::deque<Bound> kept;
  std::vector<report::MemoryReport> reports;
  for (const Target& target : targets)
    for (const std::int64_t batch :
         options.batches.empty() ? std::vector<std::int64_t>{0} : options.batches) {
      Result<report::MemoryReport> report = one_report(options, *batches, target, batch, kept);
      if (!report) return std::unexpected(std::move(report).error());
      reports.push_back(std::move(*report));
    }
  if (!options.timeline.empty()) {
    if (const Status written = write_timeline(options, *batches, reports.front()); !written)
      return std::unexpected(written.error());
  }
  if (options.json && reports.size() == 1) {
    print_json(answer(reports.front()));
  } else if (options.json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const auto& report : reports) rows.push_back(answer(report));
    print_json(nlohmann::ordered_json{{"estimates", std::move(rows)}});
  } else if (reports.size() == 1) {
    fmt::print("{}", report::memory_text(reports.front(), style));
  } else {
    fmt::print("{}", report::memory_table(reports, style));
  }
  const bool nowhere =
      std::ranges::none_of(reports, [](const auto& r) { return r.estimate.fits.value_or(true); });
  return nowhere ? 1 : 0;
}

}  // namespace

void add_estimate(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      add_command(app, "estimate", "Will it fit: what a network needs of a device's memory, and why");
  command->add_option("model", options->model, "ONNX file, zoo name, or FILE.py:function")
      ->required()
      ->option_text("MODEL");
  options->inspect.binding.add_to(*command, options->batches);
  add_mode_option(*command, options->inspect.mode);
  command->add_flag("--allow-unknown", options->inspect.allow_unknown, "Go on where an operator is unknown");
  add_devices_option(*command, options->devices,
                     "Ids from `plimsoll devices`, `this` (default), `this-cpu`, or a device file");
  options->memory.add_to(*command);
  command->add_flag("--max-batch", options->max_batch, "Find the largest batch that fits");
  command->add_flag("--advice", options->advice,
                    "What would lower it, by how much (default where it does not fit)");
  command->add_option("--timeline", options->timeline, "Write memory over one iteration as a page: FILE.html")
      ->option_text("FILE");
  command
      ->add_option("--calibration", "FILE or none; taken for the sake of time estimates, memory needs none")
      ->option_text("FILE");
  command->add_flag("--json", options->json, "One JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll estimate resnet50 --mode train --batch 256 --optimizer adam --device t4\n"
      "  plimsoll estimate gpt2 --seq 1024 --mode train --batch 8,16,32 --device a100-80-sxm,h200\n"
      "  plimsoll estimate model.onnx --mode train --device h200 --max-batch\n"
      "Exit code 1: it fits on none of the devices.");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation] { return run(*options, output_style(invocation)); };
  });
}

}  // namespace plimsoll
