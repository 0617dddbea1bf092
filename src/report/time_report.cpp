#include "report/time_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "estimate/figures.hpp"
#include "estimate/time/communication.hpp"
#include "report/figure_writing.hpp"
#include "report/paragraph.hpp"
#include "report/probe_words.hpp"
#include "report/stored_weights.hpp"
#include "report/throughput.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;
using estimate::LayerTime;

Json seconds_or_null(const std::optional<Seconds>& s) {
  return s ? Json(s->value()) : Json(nullptr);
}

/// Forward and backward, of one of the passes of a step.
Seconds pass_seconds(const estimate::TimeEstimate& e) {
  return (e.forward + e.backward) / static_cast<double>(e.passes);
}

Json communication_json(const estimate::TimeEstimate& e) {
  if (!e.communication) return nullptr;
  const estimate::CommunicationTime& c = *e.communication;
  return {{"seconds", c.seconds.value()},
          {"exposed_seconds", c.exposed.value()},
          {"low_exposed_seconds", c.low.value()},
          {"high_exposed_seconds", c.high.value()},
          {"sent_bytes", c.bytes},
          {"link_bytes_per_second", c.link.bandwidth.value()},
          {"link_latency_seconds", c.latency_known ? Json(c.link.latency.value()) : Json(nullptr)}};
}

}  // namespace

std::string layer_name(const TimeReport& report, const LayerTime& layer) {
  if (layer.op == program::kOptimizerCall) return "optimizer";
  if (layer.op == program::kLossCall) return "loss and sums of gradients";
  return printable(network::describe(*report.network, report.network->main().operators[layer.op]));
}

std::string time_text(const TimeReport& report, const TextStyle& style) {
  constexpr std::string_view kBelow = "         ";
  const estimate::TimeEstimate& e = *report.estimate;
  const Figure time = time_figure(e), energy = energy_figure(e);
  std::string out = hanging("time     ",
                            fmt::format("{} a {} ({}), {} samples/s{}, bound by {} [{}]", value_text(time),
                                        report.training ? "step" : "pass", percent_around(time),
                                        throughput_text(e.samples(report.batch) / e.seconds.value()),
                                        e.devices > 1 ? fmt::format(" on {} GPUs", e.devices) : "",
                                        bound_by(e), name(e.provenance)),
                            style);
  if (report.training)
    out += hanging(
        kBelow,
        fmt::format(
            "forward {} · backward {}{} · optimizer {}", text(e.forward), text(e.backward),
            e.recomputed > Seconds() ? fmt::format(" (of it {} forward again)", text(e.recomputed)) : "",
            text(e.optimizer)),
        style);
  if (e.passes > 1)
    out += hanging(kBelow,
                   fmt::format("{} passes a step, {} each: forward and backward of {} samples", e.passes,
                               text(pass_seconds(e)), report.batch),
                   style);
  if (e.communication)
    out += hanging(kBelow,
                   fmt::format("communication {}, {} of it not hidden ({} to {}): {} sent by each GPU at {} "
                               "one way{}",
                               text(e.communication->seconds), text(e.communication->exposed),
                               text(e.communication->low), text(e.communication->high),
                               text(Bytes::rounded(e.communication->bytes)),
                               si_text(e.communication->link.bandwidth.value(), "B/s"),
                               e.communication->latency_known ? "" : ", latency left out"),
                   style);
  if (e.eager > e.seconds * 1.02)
    out += hanging(
        kBelow,
        fmt::format("{} run eagerly: launches decide{}", text(e.eager),
                    e.eager_launch ? fmt::format(" ({} each [{}])", text(Seconds(e.eager_launch->value)),
                                                 name(e.eager_launch->provenance))
                                   : ""),
        style);
  std::vector<std::string> more;
  if (e.share_of_peak)
    more.push_back(fmt::format("{} of the datasheet's peak", percent_text(*e.share_of_peak)));
  if (e.load) more.push_back(fmt::format("weights loaded in {}", text(*e.load)));
  if (!more.empty()) out += hanging(kBelow, fmt::format("{}", fmt::join(more, " · ")), style);
  if (!e.stored_formats.empty()) out += hanging(kBelow, stored_time_text(e.stored_formats), style);
  if (energy.value)
    out += hanging(
        "energy   ",
        fmt::format("{} a {}{} ({}), {} on average", value_text(energy), report.training ? "step" : "pass",
                    e.devices > 1 ? " of each GPU" : "", percent_around(energy), value_text(power_figure(e))),
        style);
  return out;
}

std::string layer_times_text(const TimeReport& report, const TextStyle& style) {
  using enum Importance;
  Table table{.columns = {{"Layer", Align::left, true},
                          {"Forward", Align::right, false, telling},
                          {"Backward", Align::right, false, telling},
                          {"Read", Align::right, false, detail},
                          {"Compute", Align::right, false, detail},
                          {"Write", Align::right, false, detail},
                          {"Share", Align::right, false, telling},
                          {"Bound by", Align::left}},
              .rows = {}};
  for (const LayerTime& layer : report.estimate->layers)
    table.rows.push_back(
        {layer_name(report, layer), text(layer.forward), report.training ? text(layer.backward) : "",
         text(layer.read), text(layer.compute), text(layer.write),
         fmt::format("{:.1f} %", 100 * ((layer.forward + layer.backward) / report.estimate->seconds)),
         std::string(name(layer.bottleneck))});
  if (!report.training) {
    table.columns.erase(table.columns.begin() + 2);
    for (auto& row : table.rows) row.erase(row.begin() + 2);
  }
  return to_text(table, style);
}

Json time_json(const TimeReport& report) {
  const estimate::TimeEstimate& e = *report.estimate;
  Json out;
  add_figure(out, time_figure(e));
  add_value(out, eager_figure(e));
  out.update({{"launch", e.eager_launch ? Json{{"seconds", e.eager_launch->value},
                                               {"provenance", name(e.eager_launch->provenance)}}
                                        : Json(nullptr)},
              {"forward_seconds", e.forward.value()},
              {"backward_seconds", e.backward.value()},
              {"optimizer_seconds", e.optimizer.value()},
              {"passes", e.passes},
              {"pass_seconds", pass_seconds(e).value()},
              {"recomputed_seconds", e.recomputed.value()},
              {"devices", e.devices},
              {"samples_per_second",
               e.seconds > Seconds() ? Json(e.samples(report.batch) / e.seconds.value()) : Json(nullptr)},
              {"communication", communication_json(e)},
              {"bottleneck", bound_by(e)},
              {"flops", e.flops},
              {"bytes", e.bytes},
              {"share_of_peak", e.share_of_peak ? Json(*e.share_of_peak) : Json(nullptr)},
              {"provenance", name(e.provenance)},
              {"load_seconds", seconds_or_null(e.load)}});
  if (!e.stored_formats.empty()) out["stored_formats"] = e.stored_formats;
  return out;
}

Json energy_json(const TimeReport& report) {
  Json out;
  add_figure(out, energy_figure(*report.estimate));
  add_value(out, power_figure(*report.estimate));
  return out;
}

Json layer_times_json(const TimeReport& report) {
  Json out = Json::array();
  for (const LayerTime& layer : report.estimate->layers)
    out.push_back({{"name", layer_name(report, layer)},
                   {"forward_seconds", layer.forward.value()},
                   {"backward_seconds", layer.backward.value()},
                   {"low_seconds", layer.low.value()},
                   {"high_seconds", layer.high.value()},
                   {"read_seconds", layer.read.value()},
                   {"compute_seconds", layer.compute.value()},
                   {"write_seconds", layer.write.value()},
                   {"flops", layer.flops},
                   {"bytes", layer.bytes},
                   {"kernels", layer.kernels},
                   {"bottleneck", name(layer.bottleneck)}});
  return out;
}

}  // namespace plimsoll::report
