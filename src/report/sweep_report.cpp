#include "report/sweep_report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "estimate/figures.hpp"
#include "estimate/time/communication.hpp"
#include "report/estimate_table.hpp"
#include "report/figure_writing.hpp"
#include "report/paragraph.hpp"
#include "report/throughput.hpp"

namespace plimsoll::report {
namespace {

using estimate::SweepPoint;
using Json = nlohmann::ordered_json;

constexpr std::string_view kUnknown = "unknown";

bool training(const SweepReport& report) {
  return report.setting.mode == network::Mode::train;
}

/// The largest batch that fits, as far as the sweep tells: "128", "256+", "128 to 255" where it has gaps.
std::string fits_to(const SweepRow& row) {
  if (row.largest)
    return row.largest->batch == 0 ? "none"
                                   : fmt::format("{}{}", row.largest->batch, row.largest->bounded ? "" : "+");
  const SweepPoint* last = row.swept.last_that_fits();
  const SweepPoint* large = row.swept.first_too_large();
  if (last == nullptr && large == nullptr) return std::string(kUnknown);
  if (last == nullptr) return large->batch == 1 ? "none" : fmt::format("below {}", large->batch);
  if (large == nullptr) return fmt::format("{}+", last->batch);
  return large->batch == last->batch + 1 ? std::to_string(last->batch)
                                         : fmt::format("{} to {}", last->batch, large->batch - 1);
}

std::string pass_cell(const SweepPoint* point) {
  return point != nullptr && point->time ? text(point->time->seconds) : std::string(kUnknown);
}

std::string energy_cell(const SweepPoint& point) {
  if (!point.time || !point.time->joules) return std::string(kUnknown);
  return text(Joules(point.time->joules->value() / static_cast<double>(point.batch)));
}

std::vector<std::string> cells(const SweepRow& row) {
  const SweepPoint* best = row.swept.best();
  const SweepPoint* knee = row.swept.knee();
  const SweepPoint& first = row.swept.points.front();
  std::vector<std::string> out = {device_word(*row.device), fits_to(row)};
  if (best == nullptr) {
    // Nothing fits: the one figure left is what the smallest batch would take.
    out.push_back(pass_cell(&first));
    for (int i = 0; i < 6; ++i) out.emplace_back(first.time ? "-" : kUnknown);
    out.emplace_back(first.time ? name(first.time->provenance) : "");
    return out;
  }
  out.push_back(pass_cell(&first));
  // Where the sweep begins beyond the knee, it may lie below.
  out.push_back(fmt::format("{}{}", knee == &first && first.batch > 1 ? "≤" : "", knee->batch));
  out.push_back(pass_cell(knee));
  out.push_back(std::to_string(best->batch));
  out.push_back(throughput_text(*best->samples_per_second()));
  out.push_back(energy_cell(*best));
  out.emplace_back(estimate::bound_by(*best->time));
  out.emplace_back(name(best->time->provenance));
  return out;
}

Json point_json(const SweepPoint& point) {
  Json out = {{"batch", point.batch}};
  add_value(out, estimate::memory_figure("peak allocated", point.peak_allocated));
  add_value(out, estimate::memory_figure("device used", point.device_used));
  out["fits"] = point.fits ? Json(*point.fits) : Json(nullptr);
  const std::optional<estimate::TimeEstimate>& e = point.time;
  add_figure(out, e ? time_figure(*e) : Figure{.unit = Unit::seconds});
  add_value(out, e ? eager_figure(*e) : Figure{.name = "eager", .unit = Unit::seconds});
  out["samples_per_second"] = point.samples_per_second() ? Json(*point.samples_per_second()) : Json(nullptr);
  add_figure(out, e ? energy_figure(*e) : Figure{.unit = Unit::joules});
  out["bottleneck"] = e ? Json(estimate::bound_by(*e)) : Json(nullptr);
  out["share_of_peak"] = e && e->share_of_peak ? Json(*e->share_of_peak) : Json(nullptr);
  return out;
}

Json batch_or_null(const SweepPoint* point) {
  return point == nullptr ? Json(nullptr) : Json(point->batch);
}

Json row_json(const SweepRow& row) {
  const auto capacity = hardware::capacity(*row.device);
  Json points = Json::array();
  for (const SweepPoint& point : row.swept.points) points.push_back(point_json(point));
  Json largest = nullptr;
  if (row.largest) {
    largest = {{"batch", row.largest->batch}};
    add_value(largest, estimate::memory_figure("minimum device", row.largest->minimum_device));
    largest["bounded"] = row.largest->bounded;
  }
  Json out = {{"device", row.device->id}, {"name", row.device->name}};
  add_value(out, estimate::memory_figure("capacity", capacity));
  out.update({{"provenance", name(row.calibrated ? Provenance::calibrated : Provenance::datasheet)},
              {"best_batch", batch_or_null(row.swept.best())},
              {"knee_batch", batch_or_null(row.swept.knee())},
              {"last_batch_that_fits", batch_or_null(row.swept.last_that_fits())},
              {"first_batch_too_large", batch_or_null(row.swept.first_too_large())},
              {"largest_batch", std::move(largest)},
              {"no_time", row.swept.no_time.empty() ? Json(nullptr) : Json(printable(row.swept.no_time))},
              {"points", std::move(points)}});
  return out;
}

}  // namespace

std::string sweep_title(const SweepReport& report) {
  const network::Setting& s = report.setting;
  const std::string mode =
      training(report) ? fmt::format("training with {}", network::name(s.optimizer)) : "inference";
  const std::string batches = report.batches.size() == 1
                                  ? fmt::format("batch {}", report.batches.front())
                                  : fmt::format("{} batches from {} to {}", report.batches.size(),
                                                report.batches.front(), report.batches.back());
  return fmt::format("{} · {} in {} · {}", printable(report.model), mode, network::name(s.precision),
                     batches);
}

Table sweep_table(const SweepReport& report) {
  using enum Importance;
  Table t{{{"Device", Align::left, true},
           {"Fits to", Align::right, false, telling},
           {fmt::format("Batch {}", report.batches.front()), Align::right},
           {"Knee", Align::right, false, telling},
           {training(report) ? "Step" : "Pass", Align::right},
           {"Best", Align::right, false, telling},
           {"Samples/s", Align::right, false, telling},
           {"Energy", Align::right, false, detail},
           {"Bound by", Align::left, false, detail},
           {"From", Align::left, false, detail}},
          {}};
  for (const SweepRow& row : report.rows) t.rows.push_back(cells(row));
  return t;
}

std::vector<std::string> sweep_notes(const SweepReport& report) {
  const std::string_view pass = training(report) ? "step" : "pass";
  std::vector<std::string> notes = {fmt::format(
      "Fits to: the largest batch in the device's memory. Batch {}: time of its {}. Knee: the smallest batch "
      "that "
      "reaches {:.0f} % of the best throughput, with its time; beyond it time grows as the batch does. Best: "
      "the "
      "batch with the most samples/s of those that fit, with its energy per sample and what binds it.",
      report.batches.front(), pass, 100 * estimate::kKneeShare)};
  std::vector<std::string> without;
  for (const SweepRow& row : report.rows)
    if (!row.swept.no_time.empty()) without.push_back(device_word(*row.device));
  if (!without.empty())
    notes.push_back(fmt::format("Too few figures are known of {} to tell a time.", fmt::join(without, ", ")));
  for (const std::string& note : report.notes) notes.push_back(printable(note));
  return notes;
}

std::string sweep_text(const SweepReport& report, const TextStyle& style) {
  std::string out = wrap(bold(sweep_title(report), style), text_width(style), "") + '\n';
  out += to_text(sweep_table(report), style) + '\n';
  for (const std::string& note : sweep_notes(report)) out += wrap(note, text_width(style), "");
  return out;
}

Json sweep_json(const SweepReport& report) {
  Json devices = Json::array();
  for (const SweepRow& row : report.rows) devices.push_back(row_json(row));
  return {{"model", report.model},
          {"mode", network::name(report.setting.mode)},
          {"precision", network::name(report.setting.precision)},
          {"optimizer", training(report) ? Json(network::name(report.setting.optimizer)) : Json(nullptr)},
          {"batches", report.batches},
          {"devices", std::move(devices)}};
}

}  // namespace plimsoll::report
