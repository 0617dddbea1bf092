#include "report/scaling.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "report/throughput.hpp"

namespace plimsoll::report {
namespace {

using estimate::MoneyPerRate;
using estimate::ParallelStep;
using hardware::Arithmetic;
using Json = nlohmann::ordered_json;

constexpr std::string_view kPipelineIdle = "Pipeline idle", kBetweenParts = "Between parts",
                           kGradients = "Gradients", kNotHidden = "Not hidden";

std::string money_cell(const MoneyPerRate& row) {
  if (!row.by_hour) return text(Money(row.per_teraflops));
  return fmt::format("{}/h", text(Money(row.per_teraflops)));
}

}  // namespace

Table scaling_table(std::span<const ParallelStep> rows) {
  using enum Importance;
  Table table{{{"Devices", Align::right},
               {"Batch each", Align::right, false, detail},
               {"Batch", Align::right},
               {"Compute", Align::right},
               {std::string(kPipelineIdle), Align::right},
               {std::string(kBetweenParts), Align::right},
               {std::string(kGradients), Align::right, false, detail},
               {std::string(kNotHidden), Align::right},
               {"Step", Align::right, false, telling},
               {"Samples/s", Align::right, false, telling},
               {"Speedup", Align::right, false, detail},
               {"Efficiency", Align::right, false, telling}},
              {}};
  for (const ParallelStep& row : rows)
    table.rows.push_back({fmt::format("{}", row.devices), fmt::format("{:g}", row.local_batch),
                          fmt::format("{:g}", row.global_batch), text(row.compute), text(row.bubble),
                          text(row.inner), text(row.communication), text(row.exposed), text(row.step),
                          throughput_text(row.samples_per_second), fmt::format("{:.2f}", row.speedup),
                          fmt::format("{:.1f} %", 100 * row.efficiency)});
  // What never happens here needs no column of noughts.
  const std::string never = text(Seconds());
  for (std::size_t c = table.columns.size(); c-- > 0;) {
    const std::string& title = table.columns[c].title;
    if (title != kPipelineIdle && title != kBetweenParts && title != kGradients && title != kNotHidden)
      continue;
    // A sum that is hidden altogether is told; one that is never made is not.
    if (title == kNotHidden &&
        std::ranges::any_of(rows, [](const ParallelStep& row) { return row.communication > Seconds(); }))
      continue;
    if (!std::ranges::all_of(table.rows, [&](const auto& row) { return row[c] == never; })) continue;
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(c));
    for (auto& row : table.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(c));
  }
  return table;
}

std::string scaling_notes(const Table& table) {
  const auto has = [&](std::string_view title) {
    return std::ranges::find(table.columns, title, &Column::title) != table.columns.end();
  };
  std::string out;
  if (has(kPipelineIdle))
    out += fmt::format("{}: stages that wait for the first and the last micro-batch. ", kPipelineIdle);
  if (has(kBetweenParts))
    out += fmt::format("{}: what the devices that share one copy of the network send each other. ",
                       kBetweenParts);
  if (has(kNotHidden))
    out +=
        fmt::format("{}: the part of the gradients' sum that the backward pass does not cover. ", kNotHidden);
  if (!out.empty()) out.pop_back();
  return out;
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
  using enum Importance;
  Table table{{{"Offer"},
               {"Devices", Align::left, false, detail},
               {"Price", Align::right, false, telling},
               {"Terms", Align::left, false, detail},
               {"Date", Align::left, false, detail}},
              {}};
  for (const Arithmetic arithmetic : columns)
    table.columns.push_back({fmt::format("{} $ per TFLOP/s", name(arithmetic)), Align::right});
  table.columns.push_back({"TFLOP/s of", Align::left, false, detail});
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
