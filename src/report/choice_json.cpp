#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "report/choice.hpp"
#include "report/figure_writing.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;
using plan::Aspect;
using plan::Candidate;
using plan::Check;
using plan::Known;

Figure as_figure(const std::optional<Known>& known, std::string name, Unit unit) {
  Figure out{.name = std::move(name), .unit = unit};
  if (!known) return out;
  out.value = known->figure.value;
  out.low = known->low;
  out.high = known->high;
  out.provenance = known->figure.provenance;
  out.source = known->figure.source;
  return out;
}

/// null where unknown.
Json to_json(const std::optional<Known>& known, Unit unit) {
  if (!known) return nullptr;
  const hardware::DeviceFigure& figure = known->figure;
  Json out = figure_json(as_figure(known, "", unit));
  out["bound"] = hardware::name(figure.bound);
  out["date"] = figure.date.empty() ? Json(nullptr) : Json(printable(figure.date));
  return out;
}

template <class T>
Json number(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const Check& check) {
  const std::optional<Unit> unit = aspect_unit(check.aspect);
  return {{"limit", plan::name(check.aspect)},
          {"verdict", plan::name(check.standing)},
          {"figure", to_json(check.figure, unit.value_or(Unit::share))},
          {"bar", number(check.limit)},
          {"fails_by", number(check.excess)},
          {"unit", unit ? symbol(*unit) : ""},
          {"note", check.note.empty() ? Json(nullptr) : Json(printable(check.note))}};
}

Json to_json(const Candidate& c, const plan::Question& question) {
  Json checks = Json::array();
  for (const Check& check : c.checks) checks.push_back(to_json(check));
  return {{"device", c.device->id},
          {"device_name", printable(c.device->name)},
          {"network", printable(question.variants[c.variant].name)},
          {"depth", number(question.variants[c.variant].depth)},
          {"precision", hardware::name(c.arithmetic)},
          {"batch", c.batch},
          {"pass", to_json(c.pass, Unit::seconds)},
          {"image", to_json(c.image, Unit::seconds)},
          {"energy", to_json(c.energy, Unit::joules)},
          {"accuracy", to_json(c.accuracy, Unit::share)},
          {"meets", c.count(plan::Standing::met)},
          {"fails", c.count(plan::Standing::failed)},
          {"unknown", c.count(plan::Standing::unknown)},
          {"front", c.on_front},
          {"limits", std::move(checks)}};
}

Json to_json(const std::optional<plan::Transfer>& transfer) {
  if (!transfer) return nullptr;
  return {{"bytes", transfer->size.count()},
          {"needed_bits_per_second", number(transfer->needed)},
          {"seconds", transfer->time ? Json(transfer->time->value()) : Json(nullptr)},
          {"keeps_up", number(transfer->keeps_up)}};
}

Json imaging_json(const plan::Imaging& imaging) {
  const auto storage = plan::storage(imaging);
  const auto budget = plan::budget_per_image(imaging);
  Json out = {{"patches", imaging.patches()},
              {"budget_seconds", budget ? Json(budget->value()) : Json(nullptr)},
              {"image_bytes", storage ? Json(storage->image.count()) : Json(nullptr)}};
  out["cycle_bytes"] = storage && storage->cycle ? Json(storage->cycle->count()) : Json(nullptr);
  out["send_all"] = storage ? to_json(storage->all) : Json(nullptr);
  out["send_relevant"] = storage ? to_json(storage->relevant) : Json(nullptr);
  return out;
}

/// What a candidate is told by, in the order of the columns.
std::vector<Figure> candidate_figures(const Candidate& c) {
  return {as_figure(c.image, "image", Unit::seconds), as_figure(c.energy, "", Unit::joules),
          as_figure(c.accuracy, "accuracy", Unit::share)};
}

}  // namespace

std::optional<Unit> aspect_unit(Aspect aspect) {
  switch (aspect) {
    case Aspect::memory: return Unit::bytes;
    case Aspect::latency:
    case Aspect::boot: return Unit::seconds;
    case Aspect::power: return Unit::watts;
    case Aspect::mass: return Unit::kilograms;
    case Aspect::size: return Unit::metres;
    case Aspect::price: return Unit::dollars_per_hour;
    case Aspect::accuracy: return Unit::share;
    case Aspect::precision:
    case Aspect::updates: break;
  }
  return std::nullopt;
}

Json choice_json(const ChoiceReport& report) {
  const plan::Limits& limits = report.question.limits;
  Json candidates = Json::array();
  for (const std::size_t i : report.choice.ranked)
    candidates.push_back(to_json(report.choice.candidates[i], report.question));
  Json out = {{"model", printable(report.model)}, {"imaging", imaging_json(report.imaging)}};
  out["energy_ceiling_joules"] =
      limits.latency && limits.power ? Json((*limits.power * *limits.latency).value()) : Json(nullptr);
  out["certain"] = report.choice.certain();
  out["recommended"] = report.choice.recommended
                           ? to_json(report.choice.candidates[*report.choice.recommended], report.question)
                           : Json(nullptr);
  out["reason"] = printable(report.choice.reason);
  out["candidates"] = std::move(candidates);
  return out;
}

std::string choice_csv(const ChoiceReport& report) {
  Table table{{{"device"}, {"network"}, {"precision"}, {"batch"}}, {}};
  for (const Figure& figure : candidate_figures({}))
    for (std::string& title : csv_titles(figure)) table.columns.push_back({std::move(title)});
  table.columns.push_back({"image_provenance"});
  table.columns.push_back({"front"});
  if (!report.choice.candidates.empty())
    for (const Check& check : report.choice.candidates.front().checks)
      for (const char* part : {"_verdict", "_fails_by"})
        table.columns.push_back({fmt::format("{}{}", plan::name(check.aspect), part)});
  for (const std::size_t i : report.choice.ranked) {
    const Candidate& c = report.choice.candidates[i];
    std::vector<std::string> row = {printable(c.device->id),
                                    printable(report.question.variants[c.variant].name),
                                    std::string(hardware::name(c.arithmetic)), fmt::format("{}", c.batch)};
    for (const Figure& figure : candidate_figures(c))
      for (std::string& cell : csv_cells(figure)) row.push_back(std::move(cell));
    row.emplace_back(c.image ? name(c.image->figure.provenance) : "");
    row.emplace_back(c.on_front ? "yes" : "no");
    for (const Check& check : c.checks) {
      row.emplace_back(plan::name(check.standing));
      row.push_back(check.excess ? fmt::format("{}", *check.excess) : "");
    }
    table.rows.push_back(std::move(row));
  }
  return to_csv(table);
}

}  // namespace plimsoll::report
