#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "batches.hpp"
#include "command.hpp"
#include "estimate/floor.hpp"
#include "hardware/catalogue.hpp"
#include "hardware/this_machine.hpp"
#include "inspect_model.hpp"
#include "json_output.hpp"
#include "report/weighing.hpp"
#include "setting_options.hpp"

namespace plimsoll {
namespace {

struct Options {
  std::string model;
  InspectOptions inspect;
  network::Precision precision = network::Precision::fp32;
  network::Optimizer optimizer = network::Optimizer::sgd;
  std::vector<std::string> devices;
  bool json = false;
};

struct Chosen {
  hardware::Device device;
  bool here = false;
};

/// The devices named, or this machine's GPUs and CPU and the well-known ones.
Result<std::vector<Chosen>> choose_devices(const std::vector<std::string>& names) {
  std::vector<Chosen> out;
  for (const std::string& name : names) {
    Result<hardware::Device> device = hardware::device_named(name);
    if (!device) return std::unexpected(std::move(device).error());
    out.push_back({std::move(*device), name == "this" || name == "this-cpu"});
  }
  if (!out.empty()) return out;
  const auto& catalogue = hardware::built_in_catalogue();
  if (!catalogue) return std::unexpected(catalogue.error());
  const Result<hardware::ThisMachine> machine = hardware::this_machine();
  if (!machine) return std::unexpected(machine.error());
  for (const hardware::Device& gpu : machine->gpus) out.push_back({gpu, true});
  out.push_back({machine->cpu, true});
  for (const hardware::Device* device : catalogue->well_known()) out.push_back({*device, false});
  return out;
}

Result<int> run(const Options& options, const report::TextStyle& style) {
  const Result<std::vector<Chosen>> chosen = choose_devices(options.devices);
  if (!chosen) return std::unexpected(chosen.error());
  const Result<Batches> batches = Batches::load(options.model, options.inspect);
  if (!batches) return std::unexpected(batches.error());
  const Result<network::Shapes> shapes = batches->shapes(0);
  if (!shapes) return std::unexpected(shapes.error());
  const network::Network& network = batches->network();
  const estimate::Counts counts = batches->count(*shapes);
  report::Weighing weighing{
      batches->inspection(*shapes, counts),
      options.inspect.mode,
      options.precision,
      options.optimizer,
      estimate::needs(network, counts, options.inspect.mode, options.precision, options.optimizer),
      {}};
  const estimate::MemorySetting setting{
      .mode = options.inspect.mode, .precision = options.precision, .optimizer = options.optimizer};
  for (const Chosen& c : *chosen) {
    report::WeighedDevice row{c.device, estimate::floors(weighing.needs, c.device, options.precision),
                              c.here};
    auto memory = estimate::estimate_memory(network, *shapes, setting, c.device);
    if (!memory) return std::unexpected(std::move(memory).error().within(options.model));
    row.memory = std::move(*memory);
    const auto again = [&](std::int64_t batch) { return batches->shapes(batch); };
    if (auto largest = estimate::largest_batch(network, again, setting, c.device)) row.largest = *largest;
    weighing.devices.push_back(std::move(row));
  }
  if (options.json)
    print_json(report::to_json(weighing));
  else
    fmt::print("{}", report::weighing_text(weighing, style));
  // Whoever names devices asks whether it fits there; nowhere is a no.
  const bool asked = !options.devices.empty();
  const bool nowhere =
      std::ranges::none_of(weighing.devices, [](const auto& d) { return d.fits().value_or(true); });
  return asked && nowhere ? 1 : 0;
}

}  // namespace

void add_weigh(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      add_command(app, "weigh", "The one-page answer: what a network needs, and which devices carry it");
  command->add_option("model", options->model, "ONNX file, zoo name, or FILE.py:function")
      ->required()
      ->option_text("MODEL");
  options->inspect.add_to(*command);
  add_precision_option(*command, options->precision);
  add_optimizer_option(*command, options->optimizer);
  add_devices_option(
      *command, options->devices,
      "Ids from `plimsoll devices`, `this`, `this-cpu`, or a device file; default: this machine "
      "and a dozen others");
  command->add_flag("--json", options->json, "One JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll weigh resnet50\n"
      "  plimsoll weigh gpt2-xl --seq 1024 --mode train --optimizer adam --device t4,a100-80-sxm\n"
      "  plimsoll weigh train.py:make_model --input 3x224x224 --mode train\n"
      "Exit code 1: devices were named, and it fits on none of them.");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation] { return run(*options, output_style(invocation)); };
  });
}

}  // namespace plimsoll
