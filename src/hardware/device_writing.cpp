#include <fmt/format.h>

#include "hardware/calibration_file.hpp"
#include "hardware/device_file.hpp"

namespace plimsoll::hardware {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Figures with their sources, each of which is declared once.
class WrittenSources {
 public:
  OrderedJson figure(const DeviceFigure& figure, std::string_view unit) {
    OrderedJson out = {{"value", figure.value}, {"unit", unit}, {"source", key_of(figure)}};
    if (figure.bound != Bound::exact) out["bound"] = name(figure.bound);
    return out;
  }
  OrderedJson claim(const Claim& claim) {
    return {{"value", claim.holds}, {"source", key_of({0, claim.provenance, claim.source, claim.date})}};
  }
  [[nodiscard]] const OrderedJson& declared() const { return declared_; }
  std::string key_of(const DeviceFigure& figure) {
    OrderedJson source = {{"provenance", name(figure.provenance)}, {"source", figure.source}};
    if (!figure.date.empty()) source["date"] = figure.date;
    for (const auto& [key, value] : declared_.items())
      if (value == source) return key;
    const std::string key = fmt::format("source-{}", declared_.size() + 1);
    declared_[key] = std::move(source);
    return key;
  }

 private:
  OrderedJson declared_ = OrderedJson::object();
};

OrderedJson board_json(const Board& board, WrittenSources& sources) {
  OrderedJson out = OrderedJson::object();
  if (board.mass) out["mass"] = sources.figure(*board.mass, "kg");
  if (board.size) {
    out["size"] = sources.figure((*board.size)[0], "m");
    out["size"]["value"] = {(*board.size)[0].value, (*board.size)[1].value, (*board.size)[2].value};
  }
  if (board.peak_power) out["peak_power"] = sources.figure(*board.peak_power, "W");
  if (board.boot_time) out["boot_time"] = sources.figure(*board.boot_time, "s");
  if (board.updates_in_place) out["updates_in_place"] = sources.claim(*board.updates_in_place);
  if (!board.core.empty()) out["core"] = board.core;
  if (board.clock) out["clock"] = sources.figure(*board.clock, "Hz");
  if (!board.framework.empty()) out["framework"] = board.framework;
  for (const Arithmetic a : board.precisions) out["precisions"].push_back(name(a));
  if (board.most_at_once) out["most_at_once"] = *board.most_at_once;
  for (const Latency& latency : board.latencies) {
    OrderedJson row = {
        {"network", latency.network}, {"precision", name(latency.arithmetic)}, {"batch", latency.batch}};
    if (!latency.conditions.empty()) row["conditions"] = latency.conditions;
    row["time"] = sources.figure(latency.seconds, "s");
    out["latencies"].push_back(std::move(row));
  }
  return out;
}

/// What a datasheet tells, with the sources its figures need.
OrderedJson figures_json(const Device& d, WrittenSources& sources) {
  struct Row {
    const char* key;
    const std::optional<DeviceFigure>* figure;
    const char* unit;
  };
  const Row rows[] = {{"memory", &d.memory, "B"},
                      {"usable_memory", &d.usable_memory, "B"},
                      {"memory_bandwidth", &d.memory_bandwidth, "B/s"},
                      {"l2_cache", &d.l2_cache, "B"},
                      {"context_memory", &d.context_memory, "B"},
                      {"matrix_kernels", &d.matrix_kernels, "B"},
                      {"convolution_kernels", &d.convolution_kernels, "B"},
                      {"link_bandwidth", &d.link_bandwidth, "B/s"},
                      {"power", &d.power, "W"},
                      {"multiprocessors", &d.multiprocessors, "1"}};
  OrderedJson out = OrderedJson::object();
  for (const Row& row : rows)
    if (*row.figure) out[row.key] = sources.figure(**row.figure, row.unit);
  if (!d.link.empty()) out["link"] = d.link;
  if (d.compute_capability)
    out["compute_capability"] =
        fmt::format("{}.{}", d.compute_capability->major, d.compute_capability->minor);
  for (int i = 0; i < kArithmetics; ++i) {
    const auto arithmetic = static_cast<Arithmetic>(i);
    if (const auto& peak = d.peak_of(arithmetic))
      out["peak"][name(arithmetic)] =
          sources.figure(*peak, arithmetic == Arithmetic::int8 ? "OP/s" : "FLOP/s");
  }
  if (d.board) out["board"] = board_json(*d.board, sources);
  return out;
}

}  // namespace

std::string write_device(const Device& d) {
  OrderedJson head = {
      {"version", 1}, {"id", d.id}, {"name", d.name}, {"vendor", d.vendor}, {"kind", name(d.kind)}};
  if (d.year) head["year"] = *d.year;
  if (d.well_known) head["well_known"] = true;
  if (!d.aliases.empty()) head["aliases"] = d.aliases;
  if (!d.reported_names.empty()) head["reported_names"] = d.reported_names;
  if (!d.notes.empty()) head["notes"] = d.notes;
  WrittenSources sources;
  const OrderedJson figures = figures_json(d, sources);
  if (!sources.declared().empty()) head["sources"] = sources.declared();
  head.update(figures);
  std::string out = "{";
  for (const auto& [key, value] : head.items())
    out += fmt::format("{}\n  {}: {}", out.size() == 1 ? "" : ",", OrderedJson(key).dump(), value.dump());
  if (d.calibration) out += fmt::format(",\n  \"calibration\": {}", calibration_text(*d.calibration));
  return out + "\n}\n";
}

}  // namespace plimsoll::hardware
