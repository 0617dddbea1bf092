#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "command.hpp"
#include "hardware/catalogue.hpp"
#include "hardware/this_machine.hpp"
#include "json_output.hpp"
#include "report/calibration.hpp"
#include "report/device_report.hpp"
#include "report/paragraph.hpp"

namespace plimsoll {
namespace {

using hardware::Arithmetic;
using hardware::Device;
using Json = nlohmann::ordered_json;

struct DevicesOptions {
  std::string name, other;
  double within = 0;  ///< percent; 0: not asked
  bool json = false, csv = false, markdown = false, all = false;
};

Json to_json(const Device& d) {
  Json out = {{"id", d.id},
              {"name", printable(d.name)},
              {"kind", hardware::name(d.kind)},
              {"vendor", d.vendor},
              {"aliases", d.aliases}};
  if (d.year) out["year"] = *d.year;
  Json figures = Json::object();
  for (const report::DeviceFact& f : report::device_facts(d)) {
    if (!*f.figure) continue;
    const hardware::DeviceFigure& figure = **f.figure;
    Json row = {{"value", figure.value},
                {"unit", f.unit},
                {"provenance", name(figure.provenance)},
                {"source", figure.source}};
    if (!figure.date.empty()) row["date"] = figure.date;
    if (figure.bound != hardware::Bound::exact) row["bound"] = hardware::name(figure.bound);
    figures[f.name] = std::move(row);
  }
  out["figures"] = std::move(figures);
  out["notes"] = d.notes;
  return out;
}

Result<std::vector<Device>> all_devices() {
  const auto& catalogue = hardware::built_in_catalogue();
  if (!catalogue) return std::unexpected(catalogue.error());
  const Result<hardware::ThisMachine> machine = hardware::this_machine();
  if (!machine) return std::unexpected(machine.error());
  std::vector<Device> out = machine->gpus;
  out.push_back(machine->cpu);
  out.insert(out.end(), catalogue->devices().begin(), catalogue->devices().end());
  return out;
}

Result<int> list(const DevicesOptions& options, const report::TextStyle& style) {
  const Result<std::vector<Device>> devices = all_devices();
  if (!devices) return std::unexpected(devices.error());
  if (options.json) {
    Json out = Json::array();
    for (const Device& d : *devices) out.push_back(to_json(d));
    print_json(out);
    return 0;
  }
  using report::Align;
  using enum report::Importance;
  report::Table table{{{"Id"},
                       {"Device", Align::left, true},
                       {"Kind", Align::left, false, detail},
                       {"Memory", Align::right, false, telling},
                       {"Bandwidth", Align::right, false, telling},
                       {"FP32", Align::right},
                       {"FP16", Align::right, false, telling},
                       {"INT8", Align::right, false, detail},
                       {"Power", Align::right, false, telling},
                       {"Year", Align::right, false, detail}},
                      {}};
  const auto rate = [](const Device& d, Arithmetic a) {
    const auto r = hardware::peak_rate(d, a);
    return r ? text(*r) : std::string("-");
  };
  for (const Device& d : *devices) {
    const auto capacity = hardware::capacity(d);
    const auto bandwidth = hardware::memory_bandwidth(d);
    const auto watts = hardware::power(d);
    table.rows.push_back({d.id, printable(d.name), std::string(hardware::name(d.kind)),
                          capacity ? text(*capacity) : "-", bandwidth ? text(*bandwidth) : "-",
                          rate(d, Arithmetic::fp32), rate(d, Arithmetic::fp16), rate(d, Arithmetic::int8),
                          watts ? text(*watts) : "-", d.year ? fmt::format("{}", *d.year) : "-"});
  }
  fmt::print("{}", options.csv        ? report::to_csv(table)
                   : options.markdown ? report::to_markdown(table)
                                      : report::to_text(table, style));
  if (!options.csv && !options.markdown)
    fmt::print("\n{}",
               report::paragraph("A dash is a figure that no source gives. `plimsoll devices ID` says "
                                 "where each comes from.",
                                 style));
  return 0;
}

Result<int> show(const DevicesOptions& options, const report::TextStyle& style) {
  const Result<Device> device = hardware::device_named(options.name);
  if (!device) return std::unexpected(device.error());
  const auto calibration = hardware::calibration_of(*device);
  if (!calibration) return std::unexpected(calibration.error());
  if (options.json) {
    Json out = to_json(*device);
    if (*calibration) out["calibration"] = report::calibration_json(**calibration);
    print_json(out);
    return 0;
  }
  const auto& prices = hardware::built_in_prices();
  PLIMSOLL_TRY(prices);
  const report::DeviceReport report{*device, *calibration ? &**calibration : nullptr,
                                    hardware::cheapest_per_device(*prices, device->id)};
  fmt::print("{}", options.all ? report::device_details(report, style) : report::device_text(report, style));
  return 0;
}

Result<hardware::Calibration> calibration_named(const std::string& name) {
  const Result<Device> device = hardware::device_named(name);
  if (!device) return std::unexpected(device.error());
  Result<std::optional<hardware::Calibration>> calibration = hardware::calibration_of(*device);
  if (!calibration) return std::unexpected(std::move(calibration).error());
  if (!*calibration)
    return std::unexpected(Error{"has no calibration", printable(name),
                                 "`plimsoll probe --calibrate -o FILE` measures one on this machine."});
  return **std::move(calibration);
}

/// Two calibrations, of one machine or of two. 1 where a class differs by more than was allowed.
Result<int> compare(const DevicesOptions& options, const report::TextStyle& style) {
  const auto first = calibration_named(options.name), second = calibration_named(options.other);
  if (!first) return std::unexpected(first.error());
  if (!second) return std::unexpected(second.error());
  const hardware::CalibrationDifference difference = hardware::compare(*first, *second);
  const hardware::ClassDifference* worst = nullptr;
  for (const hardware::ClassDifference& d : difference.classes)
    if (worst == nullptr || std::fabs(d.change()) > std::fabs(worst->change())) worst = &d;
  const bool agree =
      options.within <= 0 || (worst != nullptr && std::fabs(worst->change()) <= options.within / 100);
  if (options.json) {
    print_json(report::differences_json(difference));
    return agree ? 0 : 1;
  }
  if (!difference.ceilings.empty())
    fmt::print("{}\n", report::to_text(report::ceiling_differences(difference), style));
  fmt::print("{}", report::to_text(report::class_differences(difference), style));
  if (worst == nullptr)
    fmt::print("The two have no points in common.\n");
  else
    fmt::print("\n{}", report::paragraph(
                           fmt::format("Efficiency by the cases that both have. It differs most, by "
                                       "{:+.1f} %, for {} {} in {}.",
                                       100 * worst->change(), hardware::name(worst->operator_class),
                                       hardware::name(worst->direction), hardware::name(worst->arithmetic)),
                           style));
  return agree ? 0 : 1;
}

void add_compare(CommandLine& devices, Invocation& invocation) {
  auto options = std::make_shared<DevicesOptions>();
  CommandLine* command = devices.add_subcommand("compare", "Compare two calibrations, class by class");
  command->add_option("FIRST", options->name, "Device or device file with a calibration")->required();
  command->add_option("SECOND", options->other, "The other one, perhaps of the same machine")->required();
  command
      ->add_option("--within", options->within,
                   "Exit with code 1 where the efficiency of a class differs by more than this")
      ->positive();
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer("Example:\n  plimsoll devices compare monday.json tuesday.json --within 5");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation] { return compare(*options, output_style(invocation)); };
  });
}

}  // namespace

void add_devices(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<DevicesOptions>();
  CommandLine* command = app.add_subcommand(
      "devices", "List the devices known by name, with their figures and where those come from");
  command
      ->add_option("name", options->name,
                   "Show this one, with the source of every figure: an id, `this`, `cpu`, or a device file")
      ->option_text("DEVICE");
  auto* json = command->add_flag("--json", options->json, "Print one JSON document");
  auto* csv = command->add_flag("--csv", options->csv, "Print CSV")->excludes(json);
  command->add_flag("--markdown", options->markdown, "Print Markdown")->excludes(json)->excludes(csv);
  command->add_flag("--all", options->all,
                    "Show every ceiling of a device at every size, and every class of operators");
  command->footer("Examples:\n  plimsoll devices\n  plimsoll devices h200\n  plimsoll devices this --json");
  add_compare(*command, invocation);
  command->callback([options, command, &invocation] {
    if (command->has_subcommand()) return;
    invocation.run = [options, &invocation] {
      return options->name.empty() ? list(*options, output_style(invocation))
                                   : show(*options, output_style(invocation));
    };
  });
}

}  // namespace plimsoll
