#include "estimate/cost.hpp"

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "command.hpp"
#include "estimate/training.hpp"
#include "hardware/catalogue.hpp"
#include "json_output.hpp"
#include "quantity.hpp"
#include "report/paragraph.hpp"
#include "report/scaling.hpp"

namespace plimsoll {
namespace {

using hardware::Offer;
using Json = nlohmann::ordered_json;

struct CostOptions {
  std::string time, energy, device, country, pue = "average";
  std::vector<std::string> offers;
  double devices = 1, batch = 1, dataset = 0, epochs = 1;
  bool tflops = false, list = false, json = false, csv = false;
};

/// The offers that were named, or all.
Result<std::vector<Offer>> chosen_offers(const CostOptions& options) {
  const auto& all = hardware::built_in_prices();
  PLIMSOLL_TRY(all);
  if (options.offers.empty()) return *all;
  std::vector<Offer> out;
  for (const std::string& name : options.offers) {
    PLIMSOLL_TRY(hardware::find_offer(*all, name));
    for (const Offer& offer : *all)
      if (lower_case(offer.name) == lower_case(name)) out.push_back(offer);
  }
  return out;
}

Result<int> print_rates(const CostOptions& options, const report::TextStyle& style) {
  const auto offers = chosen_offers(options);
  PLIMSOLL_TRY(offers);
  const auto& catalogue = hardware::built_in_catalogue();
  PLIMSOLL_TRY(catalogue);
  const auto rows = estimate::money_per_rate(*offers, catalogue->devices());
  if (options.json) {
    print_json(Json{{"money_per_rate", report::money_per_rate_json(rows)}});
    return 0;
  }
  const report::Table table = report::money_per_rate_table(rows);
  fmt::print("{}", options.csv ? report::to_csv(table) : report::to_text(table, style));
  if (!options.csv)
    fmt::print("\n{}",
               report::paragraph("The price of a whole term or machine, or of an hour (/h), over its peak "
                                 "TFLOP/s. Sources: data/prices; each row has the date of its list.",
                                 style));
  return 0;
}

Result<int> print_offers(const CostOptions& options, const report::TextStyle& style) {
  const auto offers = chosen_offers(options);
  PLIMSOLL_TRY(offers);
  using report::Align;
  using enum report::Importance;
  report::Table table{{{"Offer"},
                       {"Devices"},
                       {"Price", Align::right, false, telling},
                       {"An hour of one device", Align::right, false, telling},
                       {"Terms"},
                       {"Date"},
                       {"Source", Align::left, false, detail, true}},
                      {}};
  Json rows = Json::array();
  for (const Offer& offer : *offers) {
    const auto rate = estimate::hourly_rate_of(offer);
    const Money price = offer.price ? *offer.price : Money(offer.per_hour->value());
    table.rows.push_back({offer.name, fmt::format("{} x {}", offer.devices, offer.device),
                          offer.price ? text(price) : text(price) + "/h",
                          rate ? text(Money(rate->per_device.value())) : "-", std::string(name(offer.terms)),
                          offer.date, offer.source});
    rows.push_back({{"offer", offer.name},
                    {"device", offer.device},
                    {"devices", offer.devices},
                    {"terms", name(offer.terms)},
                    {"dollars", price.value()},
                    {"by_hour", !offer.price.has_value()},
                    {"dollars_per_device_hour", rate ? Json(rate->per_device.value()) : Json(nullptr)},
                    {"date", offer.date},
                    {"source", offer.source}});
  }
  if (options.json)
    print_json(Json{{"offers", std::move(rows)}});
  else
    fmt::print("{}", options.csv ? report::to_csv(table) : report::to_text(table, style));
  return 0;
}

/// By name, or the cheapest per device of the device's.
Result<Offer> offer_of(const CostOptions& options) {
  const auto& all = hardware::built_in_prices();
  PLIMSOLL_TRY(all);
  if (!options.offers.empty()) {
    const auto found = hardware::find_offer(*all, options.offers.front());
    PLIMSOLL_TRY(found);
    return **found;
  }
  if (options.device.empty()) return fail("what is paid for is not named; give --device or --offer");
  const auto& catalogue = hardware::built_in_catalogue();
  PLIMSOLL_TRY(catalogue);
  const auto device = catalogue->find(options.device);
  PLIMSOLL_TRY(device);
  const Offer* cheapest = hardware::cheapest_per_device(*all, (*device)->id);
  if (cheapest == nullptr)
    return std::unexpected(Error{fmt::format("{} is in none of the price lists", (*device)->id),
                                 {},
                                 "`plimsoll cost --list` shows the prices that are known."});
  return *cheapest;
}

constexpr std::string_view kBelow = "             ";

void print_energy(const Json& out, const estimate::Footprint& print, const report::TextStyle& style) {
  const auto line = [&](std::string_view label, const std::string& value) {
    fmt::print("{}", report::hanging(label, value, style));
  };
  line("energy       ",
       fmt::format("{} of the device, {:.3g} kWh at the wall", text(print.device), print.kilowatt_hours));
  if (print.carbon) line("carbon       ", si_text(print.carbon->value() * 1000, "g") + " CO2e");
  line(kBelow, print.basis);
  line(kBelow, out["energy"]["source"].get<std::string>());
}

/// The grid that was named, if any.
Result<const hardware::Grid*> grid_of(const CostOptions& options) {
  if (options.country.empty()) return nullptr;
  const auto& carbon = hardware::built_in_carbon();
  PLIMSOLL_TRY(carbon);
  return hardware::find_grid(*carbon, options.country);
}

Result<Json> energy_json(const CostOptions& options, double passes, const hardware::Grid* grid,
                         estimate::Footprint& print) {
  const auto energy = parse_joules(options.energy, "--energy");
  PLIMSOLL_TRY(energy);
  const auto& carbon = hardware::built_in_carbon();
  PLIMSOLL_TRY(carbon);
  const auto overhead = hardware::find_overhead(*carbon, options.pue);
  PLIMSOLL_TRY(overhead);
  print = estimate::footprint(*energy * passes, *overhead, grid);
  return Json{{"joules", print.device.value()},
              {"kilowatt_hours", print.kilowatt_hours},
              {"carbon_kilograms", print.carbon ? Json(print.carbon->value()) : Json(nullptr)},
              {"basis", print.basis},
              {"source", grid != nullptr ? carbon->grid_source : carbon->overhead_source}};
}

Result<int> print_costs(const CostOptions& options, const report::TextStyle& style) {
  const auto time = parse_seconds(options.time, "--time");
  PLIMSOLL_TRY(time);
  const auto offer = offer_of(options);
  PLIMSOLL_TRY(offer);
  const auto grid = grid_of(options);
  PLIMSOLL_TRY(grid);
  const auto rate = estimate::hourly_rate_of(*offer);
  if (!rate) return fail("{} is bought, not rented, and how long it will serve is not known", offer->name);
  std::optional<double> per_epoch;
  if (options.dataset > 0) {
    const auto steps = estimate::steps_of({.samples = options.dataset, .batch = options.batch});
    PLIMSOLL_TRY(steps);
    per_epoch = steps->per_epoch;
  }
  const auto costs = estimate::costs(*rate, options.devices, *time, static_cast<std::int64_t>(options.batch),
                                     per_epoch, options.epochs);
  Json out = {{"dollars_per_pass", costs.per_pass.value()},
              {"dollars_per_million_samples", costs.per_million.value()},
              {"dollars_per_epoch", costs.per_epoch ? Json(costs.per_epoch->value()) : Json(nullptr)},
              {"dollars_in_all", costs.whole ? Json(costs.whole->value()) : Json(nullptr)},
              {"dollars_per_device_hour", rate->per_device.value()},
              {"basis", rate->basis},
              {"source", rate->source},
              {"date", rate->date},
              {"provenance", name(rate->provenance)}};
  estimate::Footprint print;
  if (!options.energy.empty()) {
    auto energy = energy_json(options, per_epoch ? *per_epoch * options.epochs : 1, *grid, print);
    PLIMSOLL_TRY(energy);
    out["energy"] = *std::move(energy);
  }
  if (options.json) {
    print_json(out);
    return 0;
  }
  fmt::print("a pass       {}\na million    {}   samples\n", text(costs.per_pass), text(costs.per_million));
  if (costs.per_epoch)
    fmt::print("an epoch     {}   {:g} steps of {:g}\n", text(*costs.per_epoch), *per_epoch, options.batch);
  if (costs.whole && options.epochs != 1)
    fmt::print("{:<12} {}\n", fmt::format("{:g} epochs", options.epochs), text(*costs.whole));
  fmt::print("{}{}",
             report::hanging(kBelow,
                             fmt::format("{} an hour of a device: {}", text(Money(rate->per_device.value())),
                                         rate->basis),
                             style),
             report::hanging(kBelow, fmt::format("{}, {}", rate->source, rate->date), style));
  if (!options.energy.empty()) print_energy(out, print, style);
  return 0;
}

}  // namespace

void add_cost(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<CostOptions>();
  CommandLine* command =
      app.add_subcommand("cost", "Money, energy and carbon of passes, and what a TFLOP/s costs");
  command->add_flag("--tflops", options->tflops, "Show what a TFLOP/s costs at every offer");
  command->add_flag("--list", options->list, "List the prices that are known, with dates and sources");
  command->add_option("--offer", options->offers, "Machines by name: p3.2xlarge, dgx-1v, …")
      ->delimiter(',')
      ->option_text("NAME,…");
  command->add_option("--device", options->device, "A device, by its id; its cheapest offer is taken")
      ->option_text("DEVICE");
  command->add_option("--time", options->time, "Time of one pass or training step: 62ms")
      ->option_text("TIME");
  command->add_option("--energy", options->energy, "Energy of one pass or training step: 35J")
      ->option_text("ENERGY");
  command->add_option("--devices", options->devices, "Devices that work together (default: 1)")
      ->in_range(1.0, 1e9)
      ->option_text("N");
  command->add_option("--batch,-b", options->batch, "Samples in a pass (default: 1)")
      ->in_range(1.0, 1e9)
      ->option_text("N");
  command->add_option("--dataset-size", options->dataset, "Samples in an epoch")
      ->in_range(1.0, 1e18)
      ->option_text("N");
  command->add_option("--epochs", options->epochs, "Epochs (default: 1)")
      ->in_range(1e-3, 1e9)
      ->option_text("N");
  command
      ->add_option("--country", options->country,
                   "Country whose electricity is used, for CO2e: DNK or Denmark")
      ->option_text("COUNTRY");
  command
      ->add_option("--pue", options->pue,
                   "Energy of the data centre over that of its computers (PUE): aws, google, microsoft, "
                   "average (default), or a number")
      ->option_text("WHOSE");
  auto* json = command->add_flag("--json", options->json, "Print one JSON document");
  command->add_flag("--csv", options->csv, "Print tables as CSV")->excludes(json);
  command->footer(
      "Examples:\n"
      "  plimsoll cost --tflops --offer p3.2xlarge,p2.xlarge,dgx-1v,dgx-1p\n"
      "  plimsoll cost --device h200 --time 62ms --energy 35J --batch 128 --dataset-size 1281167 --country "
      "DNK");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation]() -> Result<int> {
      if (options->tflops) return print_rates(*options, output_style(invocation));
      if (options->list) return print_offers(*options, output_style(invocation));
      if (options->time.empty())
        return fail("it is not clear what to answer; give --time, --tflops or --list");
      return print_costs(*options, output_style(invocation));
    };
  });
}

}  // namespace plimsoll
