#include <array>

#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "job/setting_json.hpp"
#include "measure/figures.hpp"
#include "nvml/activity.hpp"
#include "report/figure_writing.hpp"
#include "report/measurement.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;
using measure::Measurement;
using measure::MemoryFigure;
using measure::Row;

template <class T>
Json maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json maybe(const std::optional<Bytes>& value) {
  return value ? Json(value->count()) : Json(nullptr);
}
Json maybe(const std::optional<Watts>& value) {
  return value ? Json(value->value()) : Json(nullptr);
}
Json maybe(const std::optional<measure::Extent>& extent) {
  return extent ? Json{{"low", extent->low}, {"high", extent->high}} : Json(nullptr);
}
Json texts(const std::vector<std::string>& lines) {
  Json out = Json::array();
  for (const std::string& line : lines) out.push_back(printable(line));
  return out;
}
Json throttles(std::uint64_t bits) {
  Json out = Json::array();
  for (const nvml::Throttle& throttle : nvml::kThrottles)
    if ((bits & throttle.bit) != 0) out.push_back(throttle.name);
  return out;
}

Json state(const measure::GpuState& s) {
  return {{"sm_clock_hertz", maybe(s.sm_clock)},
          {"memory_clock_hertz", maybe(s.memory_clock)},
          {"temperature_celsius", maybe(s.temperature)},
          {"power_watts", maybe(s.power)},
          {"clocks_low_because", s.throttle ? throttles(*s.throttle) : Json(nullptr)}};
}

Json others(const std::vector<measure::OtherProcess>& processes) {
  Json out = Json::array();
  for (const measure::OtherProcess& p : processes)
    out.push_back({{"pid", p.pid},
                   {"name", p.name.empty() ? Json(nullptr) : Json(printable(p.name))},
                   {"bytes", maybe(p.bytes)},
                   {"activity", maybe(p.activity)}});
  return out;
}

Json conditions(const measure::Conditions& c) {
  Json out = {{"host",
               {{"cores", c.host.cores},
                {"load_average", maybe(c.host.load_average)},
                {"frequency_hertz", maybe(c.host.frequency)},
                {"other_cores", maybe(c.host.other_cores)}}},
              {"gpu", nullptr}};
  if (!c.gpu) return out;
  out["gpu"] = {{"index", c.gpu->index},
                {"name", printable(c.gpu->name)},
                {"mig", c.gpu->sliced},
                {"before", state(c.gpu->before)},
                {"during",
                 {{"sm_clock_hertz", maybe(c.gpu->sm_clock)},
                  {"memory_clock_hertz", maybe(c.gpu->memory_clock)},
                  {"temperature_celsius", maybe(c.gpu->temperature)},
                  {"power_watts", maybe(c.gpu->power)},
                  {"clocks_low_because", c.gpu->sm_clock ? throttles(c.gpu->throttle) : Json(nullptr)}}},
                {"after", state(c.gpu->after)},
                {"other_processes", others(c.gpu->others)}};
  return out;
}

Json seconds(const Row& row, double confidence) {
  if (!row.measured) return nullptr;
  const job::Measured& m = *row.measured;
  return {{"median", row.seconds ? Json(row.seconds->value) : Json(nullptr)},
          {"low", row.seconds ? maybe(row.seconds->low) : Json(nullptr)},
          {"high", row.seconds ? maybe(row.seconds->high) : Json(nullptr)},
          {"confidence", confidence},
          {"samples", m.samples},
          {"passes_per_sample", m.passes_per_sample},
          {"cold", m.cold_seconds},
          {"warm_up", m.warm_up},
          {"stopped", printable(m.stopped, 40)},
          {"clock", printable(m.clock, 40)}};
}

Json energy(const std::optional<measure::Energy>& e) {
  if (!e) return nullptr;
  return {{"window_joules", e->window.value()},
          {"window_seconds", e->seconds},
          {"passes", e->passes},
          {"uncertainty", e->uncertainty},
          {"source", e->source}};
}

Json estimate(const Row& row) {
  if (!row.estimate) return nullptr;
  Json out;
  add_figure(out, estimated_figure(row, MemoryFigure::peak_allocated));
  add_value(out, estimated_figure(row, MemoryFigure::peak_reserved));
  add_value(out, estimated_figure(row, MemoryFigure::device_used));
  return out;
}

/// Estimated over measured, less one.
Json error(const Row& row) {
  if (!row.estimate || !row.measured) return nullptr;
  Json out;
  for (const MemoryFigure which :
       {MemoryFigure::peak_allocated, MemoryFigure::peak_reserved, MemoryFigure::device_used}) {
    const Figure estimated = estimated_figure(row, which);
    add_value(out,
              {.name = estimated.name, .value = estimation_error(estimated, measured_figure(row, which))});
  }
  return out;
}

Json latencies(const Row& row, const Measurement& m) {
  if (!row.latencies) return nullptr;
  const job::Latencies& l = *row.latencies;
  Json percentiles = Json::array();
  for (const measure::Percentile& p : measure::percentiles(l.seconds, m.protocol.confidence))
    percentiles.push_back({{"percent", p.percent},
                           {"seconds", p.seconds ? Json(p.seconds->value) : Json(nullptr)},
                           {"low", p.seconds ? maybe(p.seconds->low) : Json(nullptr)},
                           {"high", p.seconds ? maybe(p.seconds->high) : Json(nullptr)}});
  return {{"scenario", job::name(m.protocol.scenario.arrival)},
          {"queries", l.seconds.size()},
          {"samples", l.samples},
          {"passes", l.passes},
          {"elapsed_seconds", l.elapsed},
          {"samples_per_second",
           l.elapsed > 0 ? Json(static_cast<double>(l.samples) / l.elapsed) : Json(nullptr)},
          {"percentiles", std::move(percentiles)},
          {"seconds", l.seconds}};
}

Json scene(const Row& row, const Measurement& m) {
  const auto seconds = measure::scene_seconds(row, m.protocol.confidence);
  if (!m.scene || !seconds) return nullptr;
  return {{"width", m.scene->width},
          {"height", m.scene->height},
          {"patch_width", m.scene->patch_width},
          {"patch_height", m.scene->patch_height},
          {"patches", m.scene->patches()},
          {"seconds", seconds->value},
          {"low", maybe(seconds->low)},
          {"high", maybe(seconds->high)}};
}

Json layers(const std::optional<job::Layers>& l) {
  if (!l) return nullptr;
  Json list = Json::array();
  double sum = 0;
  for (const job::LayerTime& layer : l->layers) {
    sum += layer.seconds;
    list.push_back(
        {{"name", printable(layer.name)}, {"op", printable(layer.op)}, {"seconds", layer.seconds}});
  }
  return {{"layers", std::move(list)},           {"sum_seconds", sum},
          {"pass_seconds", l->pass_seconds},     {"instrumented_seconds", l->instrumented_seconds},
          {"marker_seconds", l->marker_seconds}, {"passes", l->passes}};
}

Json does_not_fit(const Row& row) {
  if (!row.does_not_fit) return nullptr;
  const job::DoesNotFit& d = *row.does_not_fit;
  return {{"phase", printable(d.phase, 40)},
          {"asked_bytes", maybe(d.asked_bytes)},
          {"free_bytes", maybe(d.free_bytes)},
          {"total_bytes", maybe(d.total_bytes)},
          {"allocated_bytes", maybe(d.allocated_bytes)},
          {"reserved_bytes", maybe(d.reserved_bytes)},
          {"message", printable(d.message, 400)},
          {"other_processes", row.conditions.gpu ? others(row.conditions.gpu->others) : Json::array()}};
}

Json failure(const std::optional<Error>& e) {
  if (!e) return nullptr;
  return {{"message", printable(e->message)}, {"where", printable(e->where)}, {"hint", printable(e->hint)}};
}

Json row_json(const Row& row, const Measurement& m) {
  using enum MemoryFigure;
  Json out = {{"batch", row.batch},
              {"fits", row.does_not_fit ? Json(false)
                       : row.measured   ? Json(true)
                                        : Json(nullptr)},
              {"seconds", seconds(row, m.protocol.confidence)}};
  for (const MemoryFigure which :
       {peak_allocated, peak_reserved, peak_requested, device_used, peak_resident, context})
    add_value(out, measured_figure(row, which));
  add_value(out, joules_figure(row));
  out.update({{"energy", energy(row.energy)},
              {"estimate", estimate(row)},
              {"error", error(row)},
              {"loss", row.measured ? maybe(row.measured->loss) : Json(nullptr)},
              {"does_not_fit", does_not_fit(row)},
              {"failure", failure(row.failure)},
              {"doubts", texts(row.doubts)},
              {"conditions", conditions(row.conditions)}});
  if (row.latencies) out["latencies"] = latencies(row, m);
  if (m.scene) out["scene"] = scene(row, m);
  if (row.layers) out["layers"] = layers(row.layers);
  return out;
}

Json engine(const Measurement& m) {
  for (const Row& row : m.rows) {
    if (!row.hello) continue;
    const job::Hello& h = *row.hello;
    Json out = {{"torch", printable(h.torch, 40)},
                {"cuda", h.cuda ? Json(printable(*h.cuda, 40)) : Json(nullptr)},
                {"cudnn", h.cudnn ? Json(printable(*h.cudnn, 40)) : Json(nullptr)},
                {"device_name", printable(h.device_name, 200)},
                {"threads", h.threads}};
    if (row.prepared) {
      Json recognised = Json::object();
      for (const auto& [kernel, times] : row.prepared->recognised) recognised[printable(kernel, 80)] = times;
      out["operators"] = row.prepared->operators;
      out["recognised"] = std::move(recognised);
      out["folded"] = row.prepared->folded;
      out["in_place"] = row.prepared->in_place;
    }
    return out;
  }
  return nullptr;
}

/// As the engine was told it.
Json setting(const Measurement& m) {
  Json out = job::setting_json(m.setting);
  out["seed"] = m.execution.seed;
  return out;
}

}  // namespace

Json to_json(const Measurement& m) {
  const auto load = measure::load_of(m);
  Json rows = Json::array();
  for (const Row& row : m.rows) rows.push_back(row_json(row, m));
  return {{"model", printable(m.model)},
          {"device", printable(m.device)},
          {"measured", "Plimsoll's engine"},
          {"engine", engine(m)},
          {"setting", setting(m)},
          {"weights", m.weights},
          {"load",
           {{"seconds", load ? Json(load->seconds) : Json(nullptr)},
            {"bytes", load ? Json(load->bytes.count()) : Json(nullptr)}}},
          {"rows", std::move(rows)},
          {"notes", texts(m.notes)}};
}

Table measurement_csv(std::span<const Measurement> measurements) {
  using enum MemoryFigure;
  constexpr std::array kMemoryColumns = {peak_allocated, peak_reserved, device_used, peak_resident};
  Table table{{}, {}};
  const auto add_titles = [&table](const std::vector<std::string>& titles) {
    for (const std::string& title : titles) table.columns.push_back({title});
  };
  const auto estimated = [](const Row& row) {
    Figure out = estimated_figure(row, MemoryFigure::peak_allocated);
    out.name = "estimated " + out.name;
    return out;
  };
  add_titles({"model", "device", "mode", "precision", "batch", "fits", "load_seconds", "load_bytes"});
  add_titles(csv_titles(measure::seconds_figure({})));
  add_titles({"samples", "cold_seconds"});
  for (const MemoryFigure which : kMemoryColumns) add_titles({key(measured_figure({}, which))});
  add_titles(csv_titles(measure::joules_figure({})));
  add_titles(csv_titles(estimated({})));
  const auto text = [](const Json& value) {
    return value.is_null() ? "" : value.is_string() ? value.get<std::string>() : value.dump();
  };
  for (const Measurement& m : measurements) {
    const Json document = to_json(m);
    for (std::size_t i = 0; i < m.rows.size(); ++i) {
      const Json& row = document["rows"][i];
      const Json& seconds = row["seconds"];
      std::vector<std::string> cells = {text(document["model"]),
                                        text(document["device"]),
                                        text(document["setting"]["mode"]),
                                        text(document["setting"]["precision"]),
                                        text(row["batch"]),
                                        text(row["fits"]),
                                        text(document["load"]["seconds"]),
                                        text(document["load"]["bytes"])};
      const auto add = [&cells](std::vector<std::string> more) {
        cells.insert(cells.end(), more.begin(), more.end());
      };
      add(csv_cells(seconds_figure(m.rows[i])));
      add({seconds.is_null() ? "" : std::to_string(seconds["samples"].size()),
           seconds.is_null() ? "" : text(seconds["cold"])});
      for (const MemoryFigure which : kMemoryColumns)
        add({csv_cells(measured_figure(m.rows[i], which)).front()});
      add(csv_cells(joules_figure(m.rows[i])));
      add(csv_cells(estimated(m.rows[i])));
      table.rows.push_back(std::move(cells));
    }
  }
  return table;
}

}  // namespace plimsoll::report
