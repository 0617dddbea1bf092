#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "estimate/figures.hpp"
#include "report/figure_writing.hpp"
#include "report/json_values.hpp"
#include "report/memory_report.hpp"
#include "report/time_report.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostTensors = 50;

Json fits(const std::optional<bool>& f) {
  return f ? Json(*f) : Json(nullptr);
}

Json largest(const MemoryReport& r) {
  const std::optional<estimate::LargestBatch>& l = r.largest;
  if (!l) return nullptr;
  Json out = {{"batch", l->batch}};
  add_value(out, estimate::memory_figure("minimum device", l->minimum_device));
  add_value(out, estimate::memory_figure("capacity", l->capacity));
  out.update({{"bounded", l->bounded}, {"time", nullptr}, {"energy", nullptr}});
  if (!r.largest_time) return out;
  const TimeReport time{&r.inspection.network, &*r.largest_time, l->batch,
                        r.setting.mode == network::Mode::train};
  out["time"] = time_json(time);
  out["energy"] = energy_json(time);
  return out;
}

Json tensors(const estimate::MemoryEstimate& e) {
  Json out = Json::array();
  for (const estimate::Resident& r : e.at_peak) {
    if (out.size() == kMostTensors) break;
    out.push_back(
        {{"tensor", printable(r.tensor)}, {"bytes", r.bytes.count()}, {"purpose", name(r.purpose)}});
  }
  return out;
}

}  // namespace

Json parts_json(const estimate::MemoryEstimate& e) {
  Json out = Json::array();
  for (const BarPart& part : memory_parts(e))
    if (part.bytes > Bytes())
      out.push_back(
          {{"part", part.label}, {"bytes", part.bytes.count()}, {"share", part.bytes / e.minimum_device()}});
  return out;
}

Json to_json(std::span<const estimate::Remedy> remedies) {
  Json out = Json::array();
  for (const estimate::Remedy& m : remedies) {
    Json row = {{"what", printable(m.what)}};
    add_value(row, estimate::memory_figure("minimum device", m.minimum_device));
    row["fits"] = fits(m.fits);
    out.push_back(std::move(row));
  }
  return out;
}

Json to_json(const MemoryReport& r) {
  const estimate::MemoryEstimate& e = r.estimate;
  Json out;
  for (const Figure& figure : memory_figures(e))
    figure.low ? add_figure(out, figure) : add_value(out, figure);
  out["model_state"] = {{"weights_bytes", e.state.weights.count()},
                        {"gradients_bytes", e.state.gradients.count()},
                        {"optimizer_state_bytes", e.state.optimizer.count()},
                        {"bytes", e.state.all().count()}};
  if (r.setting.mode == network::Mode::infer) out["model_state"] = nullptr;
  out["fits"] = fits(e.fits);
  out["peak"] = {{"phase", name(e.peak_phase)},
                 {"operator", e.peak_operator.empty() ? Json(nullptr) : Json(printable(e.peak_operator))}};
  out["by_purpose"] = Json::object();
  for (const estimate::PurposeShare& share : e.by_purpose)
    out["by_purpose"][std::string(name(share.purpose))] = share.bytes.count();
  out["parts"] = parts_json(e);
  out["at_peak"] = tensors(e);
  out["unruled"] = Json::array();
  for (const std::string& kind : e.unruled) out["unruled"].push_back(printable(kind));
  out["largest_batch"] = largest(r);
  out["remedies"] = to_json(r.remedies);
  out["others"] = Json::array();
  for (const OtherUser& o : r.others)
    out["others"].push_back({{"pid", o.pid}, {"name", printable(o.name)}, {"bytes", json_bytes(o.bytes)}});
  out["notes"] = memory_notes(r);
  return out;
}

}  // namespace plimsoll::report
