#include "report/kernel_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/inspection.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;
using estimate::Activity;
using estimate::Demand;
using estimate::ProfiledKernel;

/// The names of the extents, each with its number.
Json extents_json(const hardware::OperatorCase& what) {
  const auto& row = hardware::operator_classes()[static_cast<std::size_t>(what.operator_class)];
  Json out = Json::object();
  std::size_t at = 0;
  for (std::string_view names : {row.extents, row.more})
    while (!names.empty()) {
      const std::size_t end = std::min(names.find(' '), names.size());
      out[std::string(names.substr(0, end))] = what.extents[at++];
      names.remove_prefix(std::min(end + 1, names.size()));
    }
  return out;
}

Json demand_json(const Demand& d) {
  return {{"launches", d.launches},
          {"blocks", d.blocks},
          {"warps_per_block", d.warps_per_block},
          {"blocks_per_sm", d.blocks_per_sm},
          {"waves", d.waves},
          {"sm_share", d.sm_share},
          {"occupancy", d.occupancy},
          {"block_seconds", d.block_seconds.value()},
          {"dram_bytes", d.dram_bytes},
          {"dram_share", d.dram_share},
          {"tensor_share", d.tensor_share}};
}

Json of(const Activity& a) {
  return {{"sm", a.sm}, {"occupancy", a.occupancy}, {"dram", a.dram}, {"tensor", a.tensor}};
}

std::string share_text(double share) {
  return fmt::format("{:.0f} %", 100 * share);
}

std::string count_text(double count) {
  return count < 100 ? fmt::format("{:.3g}", count) : grouped(static_cast<std::int64_t>(count));
}

}  // namespace

std::string kernel_layer(const KernelReport& report, const program::Launch& launch) {
  if (launch.op == program::kOptimizerCall) return "optimizer";
  if (launch.sums_gradients) return "sum of gradients";
  if (launch.op == program::kLossCall) return "loss";
  return printable(network::describe(*report.network, report.network->main().operators[launch.op]));
}

std::string phase_words(const program::Launch& launch) {
  std::string out(name(launch.phase));
  if (launch.recomputed) out += ", again";
  if (launch.passes > 1) out += fmt::format(", {} times", grouped(launch.passes));
  return out;
}

std::string kernel_words(const hardware::OperatorCase& what) {
  std::string out(name(what.operator_class));
  if (what.direction != hardware::Direction::forward) out += fmt::format(" {}", name(what.direction));
  std::string extents;
  for (std::size_t i = 0; i < hardware::extent_count(what.operator_class); ++i)
    extents += fmt::format("{}{}", i == 0 ? "" : "x", what.extents[i]);
  return fmt::format("{} {} {}", out, hardware::name(what.arithmetic), extents);
}

Table kernels_table(const KernelReport& report) {
  Table table{{{"Phase"},
               {"Layer", Align::left, true},
               {"Kernel", Align::left, true},
               {"Begins", Align::right, false, Importance::detail},
               {"Time", Align::right, false, Importance::telling},
               {"Bound by", Align::left, false, Importance::telling},
               {"Told by", Align::left, false, Importance::detail}},
              {}};
  if (report.demand != nullptr)
    for (const std::string_view title : {"Blocks", "SMs", "Occupancy", "DRAM"})
      table.columns.push_back({std::string(title), Align::right});
  for (std::size_t i = 0; i < report.profile->kernels.size(); ++i) {
    const ProfiledKernel& kernel = report.profile->kernels[i];
    std::vector<std::string> cells = {phase_words(kernel.launch),
                                      kernel_layer(report, kernel.launch),
                                      kernel_words(report.program->kernels[kernel.launch.kernel]),
                                      text(report.captured ? kernel.begin : kernel.eager_begin),
                                      text(kernel.seconds),
                                      std::string(name(kernel.bottleneck)),
                                      std::string(name(kernel.provenance))};
    if (report.demand != nullptr) {
      const Demand& demand = report.demand->kernels[i];
      cells.insert(cells.end(), {count_text(demand.blocks), share_text(demand.sm_share),
                                 share_text(demand.occupancy), share_text(demand.dram_share)});
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string kernels_text(const KernelReport& report, const TextStyle& style) {
  std::string out;
  if (report.demand != nullptr) {
    const auto line = [&](std::string_view how, const Activity& a) {
      return hanging(
          "activity ",
          fmt::format("{}: SMs {} · occupancy {} · DRAM {} · tensor units {}", how, share_text(a.sm),
                      share_text(a.occupancy), share_text(a.dram), share_text(a.tensor)),
          style);
    };
    out += line("as a captured graph", report.demand->captured);
    if (report.profile->eager > report.profile->seconds * 1.02)
      out += line("run eagerly", report.demand->eager);
    out += '\n';
  }
  return out + to_text(kernels_table(report), style);
}

Json kernels_json(const KernelReport& report) {
  Json out = Json::array();
  for (std::size_t i = 0; i < report.profile->kernels.size(); ++i) {
    const ProfiledKernel& kernel = report.profile->kernels[i];
    const hardware::OperatorCase& what = report.program->kernels[kernel.launch.kernel];
    out.push_back({{"phase", name(kernel.launch.phase)},
                   {"recomputed", kernel.launch.recomputed},
                   {"passes", kernel.launch.passes},
                   {"layer", kernel_layer(report, kernel.launch)},
                   {"class", name(what.operator_class)},
                   {"direction", name(what.direction)},
                   {"arithmetic", hardware::name(what.arithmetic)},
                   {"extents", extents_json(what)},
                   {"flops", kernel.work.flops},
                   {"bytes_read", kernel.work.bytes_read},
                   {"bytes_written", kernel.work.bytes_written},
                   {"seconds", kernel.seconds.value()},
                   {"low_seconds", kernel.low().value()},
                   {"high_seconds", kernel.high().value()},
                   {"provenance", name(kernel.provenance)},
                   {"bottleneck", name(kernel.bottleneck)},
                   {"begin_seconds", kernel.begin.value()},
                   {"eager_begin_seconds", kernel.eager_begin.value()},
                   {"demand", report.demand != nullptr ? demand_json(report.demand->kernels[i]) : Json()}});
  }
  return out;
}

Json activity_json(const KernelReport& report) {
  if (report.demand == nullptr) return nullptr;
  return {{"captured", of(report.demand->captured)}, {"eager", of(report.demand->eager)}};
}

}  // namespace plimsoll::report
