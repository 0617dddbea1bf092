#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "estimate/figures.hpp"
#include "measure/figures.hpp"
#include "report/figure_writing.hpp"
#include "report/json_values.hpp"
#include "report/memory_report.hpp"
#include "report/several.hpp"
#include "report/time_report.hpp"
#include "report/weighing.hpp"
#include "report/weighing_words.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;

Json number(std::int64_t n) {
  return n == network::kUnbounded ? Json(nullptr) : Json(n);
}
Json seconds(const std::optional<Seconds>& s) {
  return s ? Json(s->value()) : Json(nullptr);
}
template <class T>
Json value(const std::optional<T>& v) {
  return v ? Json(*v) : Json(nullptr);
}

Json memory_json(const WeighedDevice& d) {
  if (!d.memory) return nullptr;
  Json out;
  add_figure(out, peak_allocated_figure(*d.memory));
  add_value(out, device_used_figure(*d.memory));
  add_value(out, minimum_device_figure(*d.memory));
  add_value(out, estimate::memory_figure("capacity", d.memory->capacity));
  out["parts"] = parts_json(*d.memory);
  return out;
}

Json cost_json(const WeighedDevice& d, const Weighing& w) {
  if (!d.cost) return nullptr;
  const WeighedCost& c = *d.cost;
  return {{"of", printable(w.work.words)},
          {"passes", w.work.passes},
          {"dollars", c.money.value()},
          {"seconds", c.time.value()},
          {"offer", printable(c.offer)},
          {"devices_of_offer", c.devices},
          {"dollars_per_device_hour", c.rate.per_device.value()},
          {"date", printable(c.rate.date)},
          {"source", printable(c.rate.source)},
          {"kilowatt_hours", c.footprint ? Json(c.footprint->kilowatt_hours) : Json(nullptr)},
          {"carbon_kilograms",
           c.footprint && c.footprint->carbon ? Json(c.footprint->carbon->value()) : Json(nullptr)},
          {"basis", c.footprint ? Json(printable(c.footprint->basis)) : Json(nullptr)}};
}

Json measured_json(const WeighedDevice& d) {
  if (!d.measured) return nullptr;
  const measure::Row& row = *d.measured;
  Json out;
  add_figure(out, seconds_figure(row));
  out["samples"] = row.measured ? row.measured->samples.size() : 0;
  out["captured"] = d.measured_captured();
  add_value(out, measured_figure(row, measure::MemoryFigure::peak_allocated));
  add_figure(out, joules_figure(row));
  out["error"] = {{"seconds", value(time_error(d))}, {"peak_allocated", value(memory_error(d))}};
  if (row.failure) out["failure"] = printable(row.failure->text(), 400);
  if (row.does_not_fit) out["fits"] = false;
  out["doubts"] = Json::array();
  for (const std::string& doubt : row.doubts) out["doubts"].push_back(printable(doubt, 400));
  return out;
}

Json use_json(const WeighedDevice& d) {
  if (!d.use) return nullptr;
  Json users = Json::array();
  for (const OtherUser& user : d.use->users)
    users.push_back({{"pid", user.pid}, {"name", printable(user.name)}, {"bytes", json_bytes(user.bytes)}});
  return {{"gpu", d.use->number},
          {"total_bytes", json_bytes(d.use->total)},
          {"used_bytes", json_bytes(d.use->used)},
          {"free_bytes", json_bytes(d.use->free)},
          {"sm_activity", value(d.use->sm_activity)},
          {"utilization", value(d.use->utilization)},
          {"processes", std::move(users)}};
}

Json device_json(const WeighedDevice& d, const Weighing& w) {
  Json row = {{"id", printable(d.device.id)},
              {"name", printable(d.device.name)},
              {"this_machine", d.here},
              {"memory_bytes", json_bytes(d.floors.capacity)}};
  add_value(row, d.memory ? minimum_device_figure(*d.memory)
                          : estimate::memory_figure("minimum device", std::nullopt));
  row.update({{"fits", value(d.fits())},
              {"largest_batch", d.largest ? Json(d.largest->batch) : Json(nullptr)},
              {"compute_floor_seconds", seconds(d.floors.compute)},
              {"memory_floor_seconds", seconds(d.floors.memory)},
              {"binds", name(d.floors.binding())}});
  if (!d.floors.missing.empty()) row["missing"] = d.floors.missing;
  row["in_use"] = use_json(d);
  row["memory"] = memory_json(d);
  row["time"] = nullptr;
  row["energy"] = nullptr;
  if (d.time) {
    const TimeReport time{&w.inspection.network, &*d.time, w.batch, w.setting.mode == network::Mode::train};
    row["time"] = time_json(time);
    row["energy"] = energy_json(time);
  }
  row["cost"] = cost_json(d, w);
  row["measured"] = measured_json(d);
  row["several"] = d.several ? to_json(*d.several) : Json(nullptr);
  if (!d.remedies.empty()) row["remedies"] = to_json(std::span(d.remedies));
  return row;
}

}  // namespace

Json to_json(const Weighing& w) {
  const program::Counts& c = w.inspection.counts;
  Json dimensions = Json::array();
  for (const network::BoundSymbol& s : w.inspection.shapes.bound())
    dimensions.push_back({{"name", printable(s.name)}, {"value", s.value}, {"assumed", s.assumed}});
  Json out = {{"model", printable(w.inspection.model)},
              {"mode", network::name(w.setting.mode)},
              {"precision", network::name(w.setting.precision)},
              {"batch", w.batch},
              {"dimensions", dimensions},
              {"parameters", number(c.parameters)}};
  add_value(out, estimate::memory_figure("weights", w.needs.weights));
  if (w.setting.mode == network::Mode::train) {
    out["optimizer"] = network::name(w.setting.optimizer);
    out["gradient_bytes"] = w.needs.gradients.count();
    out["optimizer_state_bytes"] = w.needs.optimizer_state.count();
  }
  out["memory_floor_bytes"] = w.needs.memory().count();
  out["macs"] = number(c.forward.macs.high);
  out["flops"] = number(c.forward.flops.high);
  out["backward_flops"] = number(c.backward.flops.high);
  out["traffic_floor_bytes"] = w.needs.traffic.count();
  out["complete"] = w.needs.complete;
  out["devices"] = Json::array();
  for (const WeighedDevice& d : w.devices) out["devices"].push_back(device_json(d, w));
  out["notes"] = weighing_notes(w);
  return out;
}

}  // namespace plimsoll::report
