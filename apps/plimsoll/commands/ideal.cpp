#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "command.hpp"
#include "hardware/this_machine.hpp"
#include "inspect_model.hpp"
#include "json_output.hpp"
#include "report/paragraph.hpp"
#include "setting_options.hpp"

namespace plimsoll {
namespace {

using Json = nlohmann::ordered_json;

struct IdealOptions {
  std::string model;
  InspectOptions inspect;
  std::vector<std::string> devices;
  bool json = false;
};

/// One device in one arithmetic: the work over the rate that its maker publishes.
Json row_of(const hardware::Device& device, hardware::Arithmetic arithmetic, Flops work) {
  const hardware::DeviceFigure& peak = *device.peak_of(arithmetic);
  return {{"device", device.id},
          {"arithmetic", hardware::name(arithmetic)},
          {"flops_per_second", peak.value},
          {"seconds", (work / FlopsPerSecond(peak.value)).value()},
          {"provenance", name(peak.provenance)},
          {"source", peak.source},
          {"date", peak.date}};
}

Result<int> run(const IdealOptions& options, const report::TextStyle& style) {
  const Result<InspectedModel> model = inspect_model(options.model, options.inspect);
  PLIMSOLL_TRY(model);
  program::Work all = model->counts.forward;
  if (options.inspect.setting.mode == network::Mode::train) all += model->counts.backward;
  const Flops work(static_cast<double>(options.inspect.conventions.flops_per_mac) *
                   static_cast<double>(all.macs.low));
  Json rows = Json::array();
  for (const std::string& name : options.devices) {
    const Result<hardware::Device> device = hardware::device_named(name);
    PLIMSOLL_TRY(device);
    for (int i = 0; i < hardware::kArithmetics; ++i)
      if (const auto arithmetic = static_cast<hardware::Arithmetic>(i); device->peak_of(arithmetic))
        rows.push_back(row_of(*device, arithmetic, work));
  }
  if (options.json) {
    print_json(Json{{"model", model->loaded.label},
                    {"macs", all.macs.low},
                    {"flops", work.value()},
                    {"rows", std::move(rows)}});
    return 0;
  }
  fmt::print("{}\n",
             report::paragraph(
                 fmt::format("{}: {} multiply-adds, {} of them in a {}", model->loaded.label,
                             count_text(static_cast<double>(all.macs.low)), text(work),
                             options.inspect.setting.mode == network::Mode::train ? "training step" : "pass"),
                 style));
  report::Table table{{{"Device"},
                       {"Arithmetic", report::Align::left, false, report::Importance::always},
                       {"Published peak", report::Align::right},
                       {"At that rate", report::Align::right, false, report::Importance::always},
                       {"Source", report::Align::left, false, report::Importance::detail, true}},
                      {}};
  for (const Json& row : rows)
    table.rows.push_back({row["device"], row["arithmetic"],
                          text(FlopsPerSecond(row["flops_per_second"].get<double>())),
                          text(Seconds(row["seconds"].get<double>())), row["source"]});
  fmt::print("{}\n{}", report::to_text(table, style),
             report::paragraph("No machine reaches its peak: these are floors, not estimates.", style));
  return 0;
}

}  // namespace

void add_ideal(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<IdealOptions>();
  CommandLine* command =
      app.add_subcommand("ideal", "The time of a pass at the peak rates in devices' datasheets");
  command->add_option("model", options->model, kModelWords)->required()->option_text("MODEL");
  options->inspect.add_to(*command);
  add_devices_option(*command, options->devices, "Ids from `plimsoll devices`, `this`, or device files");
  command->get_option("--device")->required();
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer("Example:\n  plimsoll ideal vgg16 --device k80");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation] { return run(*options, output_style(invocation)); };
  });
}

}  // namespace plimsoll
