#include "report/scaling.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace plimsoll::report {
namespace {

using estimate::MoneyPerRate;
using estimate::ParallelStep;
using hardware::Arithmetic;
using Json = nlohmann::ordered_json;

std::string money_cell(const MoneyPerRate& row) {
  if (!row.by_hour) return text(Money(row.per_teraflops));
  return fmt::format("{}/h", text(Money(row.per_teraflops)));
}

}  // namespace

Table scaling_table(std::span<const ParallelStep> rows) {
  Table table{{{"Devices", Align::right},
               {"Batch each", Align::right},
               {"Batch", Align::right},
               {"Compute", Align::right},
               {"Bubble", Align::right},
               {"Within", Align::right},
               {"Gradients", Align::right},
               {"Exposed", Align::right},
               {"Step", Align::right},
               {"Samples/s", Align::right},
               {"Speedup", Align::right},
               {"Efficiency", Align::right}},
              {}};
  for (const ParallelStep& row : rows)
    table.rows.push_back({fmt::format("{}", row.devices), fmt::format("{:g}", row.local_batch),
                          fmt::format("{:g}", row.global_batch), text(row.compute), text(row.bubble),
                          text(row.inner), text(row.communication), text(row.exposed), text(row.step),
                          count_text(row.samples_per_second), fmt::format("{:.2f}", row.speedup),
                          fmt::format("{:.1f} %", 100 * row.efficiency)});
  return table;
}

Json scaling_json(std::span<const ParallelStep> rows) {
  Json out = Json::array();
  for (const ParallelStep& row : rows)
    out.push_back({{"devices", row.devices},
                   {"local_batch", row.local_batch},
                   {"global_batch", row.global_batch},
                   {"compute_seconds", row.compute.value()},
                   {"bubble_seconds", row.bubble.value()},
                   {"within_replica_seconds", row.inner.value()},
                   {"gradients_seconds", row.communication.value()},
                   {"exposed_seconds", row.exposed.value()},
                   {"step_seconds", row.step.value()},
                   {"samples_per_second", row.samples_per_second},
                   {"speedup", row.speedup},
                   {"efficiency", row.efficiency}});
  return out;
}

Table money_per_rate_table(std::span<const MoneyPerRate> rows) {
  std::vector<Arithmetic> columns;
  for (int i = 0; i < hardware::kArithmetics; ++i) {
    const auto arithmetic = static_cast<Arithmetic>(i);
    if (std::ranges::find(rows, arithmetic, &MoneyPerRate::arithmetic) != rows.end())
      columns.push_back(arithmetic);
  }
  Table table{{{"Offer"}, {"Devices"}, {"Price", Align::right}, {"Terms"}, {"Date"}}, {}};
  for (const Arithmetic arithmetic : columns)
    table.columns.push_back({fmt::format("{} $ per TFLOP/s", name(arithmetic)), Align::right});
  table.columns.push_back({"TFLOP/s of"});
  const hardware::Offer* last = nullptr;
  for (const MoneyPerRate& row : rows) {
    const hardware::Offer& offer = *row.offer;
    if (&offer != last) {
      table.rows.push_back({offer.name, fmt::format("{} x {}", offer.devices, offer.device),
                            offer.price ? text(*offer.price) : text(Money(offer.per_hour->value())) + "/h",
                            std::string(name(offer.terms)), offer.date});
      table.rows.back().resize(table.columns.size(), "-");
      table.rows.back().back() = row.stated ? "the price list" : "the catalogue";
    }
    last = &offer;
    const auto column = std::ranges::find(columns, row.arithmetic) - columns.begin();
    table.rows.back()[static_cast<std::size_t>(5 + column)] = money_cell(row);
  }
  return table;
}

Json money_per_rate_json(std::span<const MoneyPerRate> rows) {
  Json out = Json::array();
  for (const MoneyPerRate& row : rows)
    out.push_back({{"offer", row.offer->name},
                   {"device", row.offer->device},
                   {"devices", row.offer->devices},
                   {"terms", name(row.offer->terms)},
                   {"arithmetic", name(row.arithmetic)},
                   {"flops_per_second", row.rate.value()},
                   {"rate_of", row.stated ? "price list" : "catalogue"},
                   {"dollars_per_teraflops", row.per_teraflops},
                   {"by_hour", row.by_hour},
                   {"date", row.offer->date},
                   {"source", row.offer->source}});
  return out;
}

}  // namespace plimsoll::report
