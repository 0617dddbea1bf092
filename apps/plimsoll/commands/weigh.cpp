#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "command.hpp"
#include "json_output.hpp"
#include "report/weighing_page.hpp"
#include "weigh_costs.hpp"
#include "weigh_devices.hpp"
#include "weigh_measurement.hpp"

namespace plimsoll {
namespace {

/// The command to go on with: what helps most after this answer.
std::string next_command(const report::Weighing& weighing, const WeighOptions& options) {
  const auto first = std::ranges::find_if(weighing.devices, &report::WeighedDevice::in_full);
  const network::Setting& asked = options.inspect.setting;
  const bool training = asked.mode == network::Mode::train;
  const bool divided = first != weighing.devices.end() && first->several && first->several->best;
  const plan::Way way = divided ? first->several->ways[*first->several->best] : plan::Way();
  std::string setting =
      fmt::format("{}{} --batch {}", printable(options.model), training ? " --mode train" : "",
                  way.local_batch.value_or(weighing.batch));
  if (asked.sequence) setting += fmt::format(" --seq {}", *asked.sequence);
  if (asked.context > 0) setting += fmt::format(" --context {}", asked.context);
  if (asked.precision != network::Precision::fp32)
    setting += fmt::format(" --precision {}", network::name(asked.precision));
  for (const std::string& shape : options.inspect.binding.inputs)
    setting += fmt::format(" --input {}", printable(shape));
  if (training && asked.optimizer != network::Optimizer::sgd)
    setting += fmt::format(" --optimizer {}", network::name(asked.optimizer));
  // What `estimate` can tell more of: sharding.
  if (divided && way.tensor == 1 && way.pipeline == 1)
    return fmt::format("plimsoll estimate {}{} --device {} --gpus {} --sharding {}{}", setting,
                       way.checkpoint ? " --checkpoint" : "",
                       first->here ? "this" : printable(first->device.id), *way.devices, name(way.how),
                       options.links.words(asked.interconnect));
  if (first != weighing.devices.end() && !first->fits().value_or(true))
    return fmt::format("plimsoll estimate {} --device {} --advice", setting,
                       first->here ? "this" : printable(first->device.id));
  // What the engine cannot run: weights in formats of their own, a cache that is full already.
  const auto& stored = weighing.inspection.network.stored;
  if ((std::ranges::any_of(stored, &network::StoredWeight::kept) || asked.context > 0) &&
      first != weighing.devices.end())
    return fmt::format("plimsoll estimate {} --device {} --kernels", setting,
                       first->here ? "this" : printable(first->device.id));
  if (training) return "plimsoll run -- python train.py";
  return fmt::format("plimsoll measure {}{}", setting, has_engine() ? "" : "  # needs `make engine`");
}

Status print(const report::Weighing& weighing, const WeighOptions& options, const report::TextStyle& style) {
  if (!options.html.empty()) {
    PLIMSOLL_TRY(write_file(options.html, report::weighing_page(weighing)));
    fmt::print(stderr, "the page is in {}\n", printable(options.html));
  }
  if (options.json) {
    print_json(report::to_json(weighing));
    return {};
  }
  fmt::print("{}", report::weighing_text(weighing, style));
  if (options.floors) fmt::print("{}", report::floors_text(weighing, style));
  return {};
}

Result<int> run(WeighOptions options, const report::TextStyle& style) {
  PLIMSOLL_TRY(options.links.read(options.inspect.setting.interconnect));
  GpuWatch watch;
  const Result<std::vector<WeighTarget>> targets = weigh_targets(options, watch);
  PLIMSOLL_TRY(targets);
  const Result<Batches> batches = Batches::load(options.model, options.inspect);
  PLIMSOLL_TRY(batches);
  const Result<network::Shapes> shapes = batches->shapes(0);
  PLIMSOLL_TRY(shapes);
  const program::Counts counts = batches->count(*shapes);
  report::Weighing weighing{.inspection = batches->inspection(*shapes, counts),
                            .setting = options.inspect.setting,
                            .needs = estimate::needs(batches->network(), counts, options.inspect.setting),
                            .batch = batches->batch_in(*shapes)};
  Result<report::WeighedWork> work = weighed_work(options, weighing);
  PLIMSOLL_TRY(work);
  weighing.work = *std::move(work);
  Scales scales(options, *batches, *shapes, weighing.needs);
  for (const WeighTarget& target : *targets) {
    Result<report::WeighedDevice> row = scales.weigh(target);
    PLIMSOLL_TRY(row);
    weighing.devices.push_back(*std::move(row));
  }
  for (report::WeighedDevice& device : weighing.devices)
    if (device.use) watch.add_activity(*device.use);
  PLIMSOLL_TRY(add_costs(weighing, options.country));
  // Without an engine the page is what it would be without --measure.
  std::optional<Error> lacking;
  if (options.measure) {
    const Result<std::filesystem::path> engine = engine_for(weighing);
    if (!engine && engine.error().kind != Error::Kind::machine_lacks) return std::unexpected(engine.error());
    if (!engine) lacking = engine.error();
    const Result<int> signal = engine ? measure_here(weighing, options, *engine) : Result<int>(0);
    PLIMSOLL_TRY(signal);
    if (*signal != 0) {
      fmt::print(stderr, "plimsoll: interrupted; the engine was ended\n");
      return 128 + *signal;
    }
  } else {
    weighing.can_measure = has_engine();
  }
  weighing.next = next_command(weighing, options);
  PLIMSOLL_TRY(print(weighing, options, style));
  if (lacking) {
    fmt::print(stderr, "plimsoll: nothing was measured: {}\n  {}\n", printable(lacking->text()),
               lacking->hint);
    return 3;
  }
  // Whoever names devices asks whether it fits there; nowhere is a no.
  const bool asked = !options.devices.empty();
  const bool nowhere =
      std::ranges::none_of(weighing.devices, [](const auto& d) { return d.fits().value_or(true); });
  return asked && nowhere ? 1 : 0;
}

}  // namespace

void add_weigh(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<WeighOptions>();
  CommandLine* command = app.add_subcommand(
      "weigh", "The one-page answer: what a network needs of this machine, and which devices carry it");
  options->add_to(*command);
  command->footer(
      "Examples:\n"
      "  plimsoll weigh resnet50\n"
      "  plimsoll weigh resnet50 --measure\n"
      "  plimsoll weigh gpt2-xl --seq 1024 --mode train --optimizer adam --device t4,a100-80-sxm\n"
      "  plimsoll weigh resnet50 --mode train --batch 128 --dataset-size 1281167 --country DNK --html "
      "page.html\n"
      "  plimsoll weigh train.py:make_model --input 3x224x224 --mode train\n"
      "Exit code 1: devices were named, and it fits on none of them. --measure needs `make engine`; without "
      "it\n"
      "the page is printed all the same, and the exit code is 3.");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation] { return run(*options, output_style(invocation)); };
  });
}

}  // namespace plimsoll
