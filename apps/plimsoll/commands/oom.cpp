#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "batches.hpp"
#include "command.hpp"
#include "estimate/memory/memory.hpp"
#include "estimate/memory/oom_message.hpp"
#include "hardware/this_machine.hpp"
#include "inspect_model.hpp"
#include "json_output.hpp"
#include "program/lowering.hpp"
#include "report/oom_report.hpp"
#include "setting_options.hpp"

namespace plimsoll {
namespace {

constexpr std::size_t kLargestLog = std::size_t{1} << 30;

struct OomOptions {
  std::string file = "-";
  std::string model;
  InspectOptions inspect;
  std::string device;
  bool json = false;
};

Result<estimate::OutOfMemory> read_message(const std::string& file) {
  const bool standard_input = file == "-";
  const Result<std::string> log = read_file(standard_input ? "/dev/stdin" : file, kLargestLog);
  if (!log) return std::unexpected(log.error());
  Result<estimate::OutOfMemory> message = estimate::parse_out_of_memory(*log);
  if (!message)
    return std::unexpected(std::move(message).error().within(standard_input ? "standard input" : file));
  return message;
}

/// The GPU of the message: the one named, or one of which nothing is known but its memory.
Result<hardware::Device> device_of(const OomOptions& options, const estimate::OutOfMemory& message) {
  if (!options.device.empty()) return hardware::device_named(options.device);
  if (!report::allocator_room(message)) {
    Error error{"the message does not say how much memory there was"};
    error.hint = "Name the GPU: --device D.";
    return std::unexpected(std::move(error));
  }
  return hardware::Device{.id = "message", .name = "the GPU of the message"};
}

/// What the report of a model looks at; it must outlive the report.
struct Simulated {
  Batches batches;
  network::Shapes shapes;
  program::Counts counts;
};

Result<report::MemoryReport> simulate(const OomOptions& options, const estimate::OutOfMemory& message,
                                      const Simulated& model) {
  Result<hardware::Device> device = device_of(options, message);
  if (!device) return std::unexpected(std::move(device).error());
  const network::Setting& setting = options.inspect.setting;
  const estimate::Target target{&*device};
  const Result<program::Program> program =
      program::lower(model.batches.network(), model.shapes, setting, target.platform(setting));
  if (!program) return std::unexpected(Error(program.error()).within(options.model));
  const auto estimated = [&] {
    return estimate::estimate_memory(model.batches.network(), *program, setting, *device);
  };
  Result<estimate::MemoryEstimate> estimate = estimated();
  if (estimate)
    if (const auto room = report::allocator_room(message)) {
      // The message says what the allocator could have had; the context that it left out of that is a fact.
      const Bytes usable = *room + estimate->context.value_or(Bytes());
      device->usable_memory =
          hardware::DeviceFigure{static_cast<double>(usable.count()), Provenance::measured,
                                 "what the message says was reserved or free"};
      estimate = estimated();
    }
  if (!estimate) return std::unexpected(std::move(estimate).error().within(options.model));
  const std::int64_t batch = model.batches.batch_in(model.shapes);
  const auto again = [&](std::int64_t n) { return model.batches.shapes(n == batch ? 0 : n); };
  auto remedies = estimate::remedies(model.batches.network(), again, batch, setting, target);
  if (!remedies) return std::unexpected(std::move(remedies).error());
  report::MemoryReport report{.inspection = model.batches.inspection(model.shapes, model.counts),
                              .setting = setting,
                              .batch = batch,
                              .device = *device,
                              .estimate = std::move(*estimate),
                              .remedies = std::move(*remedies)};
  if (auto largest = estimate::largest_batch(model.batches.network(), again, setting, target))
    report.largest = *largest;
  return report;
}

Result<int> run(const OomOptions& options, const report::TextStyle& style) {
  Result<estimate::OutOfMemory> message = read_message(options.file);
  if (!message) return std::unexpected(std::move(message).error());
  report::OutOfMemoryReport report{std::move(*message)};
  std::unique_ptr<Simulated> model;
  if (!options.model.empty()) {
    Result<Batches> batches = Batches::load(options.model, options.inspect);
    if (!batches) return std::unexpected(std::move(batches).error());
    Result<network::Shapes> shapes = batches->shapes(0);
    if (!shapes) return std::unexpected(std::move(shapes).error());
    program::Counts counts = batches->count(*shapes);
    model = std::make_unique<Simulated>(std::move(*batches), std::move(*shapes), std::move(counts));
    Result<report::MemoryReport> simulated = simulate(options, report.message, *model);
    if (!simulated) return std::unexpected(std::move(simulated).error());
    report.model.emplace(std::move(*simulated));
  }
  if (options.json)
    print_json(report::to_json(report));
  else
    fmt::print("{}", report::out_of_memory_text(report, style));
  return 0;
}

}  // namespace

void add_oom(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<OomOptions>();
  CommandLine* command = app.add_subcommand(
      "oom", "What filled the memory, from PyTorch's out-of-memory message, and what to change");
  const CommandLineOption* file =
      command->add_option("file", options->file, "A log, or the message alone (default: standard input)")
          ->option_text("FILE");
  CommandLineOption* model = command->add_option(
      "--model", options->model, fmt::format("Simulate the run, too, with this {}", kModelWords));
  model->option_text("MODEL");
  options->inspect.binding.add_to(*command, options->inspect.setting);
  add_mode_option(*command, options->inspect.setting.mode);
  command->add_flag("--allow-unknown", options->inspect.allow_unknown,
                    "Go on without operators that are unknown");
  command
      ->add_option(
          "--device,-d", options->device,
          "The GPU, by its id in `plimsoll devices`; how much memory it has is taken from the message")
      ->option_text("DEVICE");
  add_setting_options(*command, options->inspect.setting);
  std::vector<CommandLineOption*> settings = command->options();
  std::erase_if(settings, [&](const CommandLineOption* o) { return o == model || o == file; });
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll oom train.log\n"
      "  plimsoll oom train.log --model resnet50 --mode train --batch 256 --optimizer adam --device t4\n"
      "  python train.py 2>&1 | plimsoll oom");
  command->callback([options, settings, &invocation] {
    for (const CommandLineOption* setting : settings)
      if (options->model.empty() && setting->given()) refuse_without(*setting, "--model");
    invocation.run = [options, &invocation] { return run(*options, output_style(invocation)); };
  });
}

}  // namespace plimsoll
