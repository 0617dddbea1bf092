#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "report/choice.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;
using plan::Aspect;
using plan::Candidate;
using plan::Check;
using plan::Known;

Json finite(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

/// null where unknown.
Json to_json(const std::optional<Known>& known, std::string_view unit) {
  if (!known) return nullptr;
  const hardware::DeviceFigure& figure = known->figure;
  Json out = {{"value", finite(figure.value)},
              {"unit", unit},
              {"low", finite(known->low)},
              {"high", finite(known->high)},
              {"bound", hardware::name(figure.bound)},
              {"provenance", name(figure.provenance)},
              {"source", printable(figure.source)}};
  out["date"] = figure.date.empty() ? Json(nullptr) : Json(printable(figure.date));
  return out;
}

template <class T>
Json number(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const Check& check) {
  return {{"limit", plan::name(check.aspect)},
          {"verdict", plan::name(check.standing)},
          {"figure", to_json(check.figure, aspect_unit(check.aspect))},
          {"bar", number(check.limit)},
          {"fails_by", number(check.excess)},
          {"unit", aspect_unit(check.aspect)},
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
          {"pass", to_json(c.pass, "s")},
          {"image", to_json(c.image, "s")},
          {"energy", to_json(c.energy, "J")},
          {"accuracy", to_json(c.accuracy, "1")},
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

std::string plain(const std::optional<Known>& known, double Known::*end) {
  return known && std::isfinite((*known).*end) ? fmt::format("{}", (*known).*end) : "";
}

}  // namespace

std::string_view aspect_unit(Aspect aspect) {
  switch (aspect) {
    case Aspect::memory: return "B";
    case Aspect::latency:
    case Aspect::boot: return "s";
    case Aspect::power: return "W";
    case Aspect::mass: return "kg";
    case Aspect::size: return "m";
    case Aspect::price: return "$/h";
    case Aspect::accuracy: return "1";
    case Aspect::precision:
    case Aspect::updates: break;
  }
  return "";
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
  Table table{{{"device"},
               {"network"},
               {"precision"},
               {"batch"},
               {"image_low_s"},
               {"image_high_s"},
               {"image_provenance"},
               {"energy_high_j"},
               {"accuracy"},
               {"front"}},
              {}};
  if (!report.choice.candidates.empty())
    for (const Check& check : report.choice.candidates.front().checks)
      for (const char* part : {"_verdict", "_fails_by"})
        table.columns.push_back({fmt::format("{}{}", plan::name(check.aspect), part)});
  for (const std::size_t i : report.choice.ranked) {
    const Candidate& c = report.choice.candidates[i];
    std::vector<std::string> row = {printable(c.device->id),
                                    printable(report.question.variants[c.variant].name),
                                    std::string(hardware::name(c.arithmetic)),
                                    fmt::format("{}", c.batch),
                                    plain(c.image, &Known::low),
                                    plain(c.image, &Known::high),
                                    c.image ? std::string(name(c.image->figure.provenance)) : "",
                                    plain(c.energy, &Known::high),
                                    plain(c.accuracy, &Known::low),
                                    c.on_front ? "yes" : "no"};
    for (const Check& check : c.checks) {
      row.emplace_back(plan::name(check.standing));
      row.push_back(check.excess ? fmt::format("{}", *check.excess) : "");
    }
    table.rows.push_back(std::move(row));
  }
  return to_csv(table);
}

}  // namespace plimsoll::report
