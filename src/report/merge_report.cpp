#include "report/merge_report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;
using plan::merge::Group;
using plan::merge::Method;
using plan::merge::Model;
using plan::merge::Place;
using plan::merge::Totals;

constexpr std::size_t kFirstGroups = 12;
constexpr std::size_t kLongestCell = 60;

std::string share_words(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

/// "Conv 512x512x3x3" of a definition; the rest is told in JSON.
std::string short_definition(const std::string& definition) {
  const std::size_t extents = definition.find(' ');
  return printable(
      definition.substr(0, extents == definition.npos ? extents : definition.find(' ', extents + 1)),
      kLongestCell);
}

/// "classifier.0" where all have one name for it, else "features.21 · features.23"; of many the first. Models
/// only where some have no part in it.
std::string members_words(const MergeReport& report, const Group& group) {
  constexpr std::size_t kNamed = 2;
  std::vector<std::string> layers;
  std::vector<std::size_t> models;
  for (const Place& place : group.members) {
    const std::string& layer = report.models[place.model].layers[place.layer].name;
    if (layers.size() <= kNamed && std::ranges::find(layers, layer) == layers.end()) layers.push_back(layer);
    if (models.empty() || models.back() != place.model) models.push_back(place.model);
  }
  std::string out;
  for (std::size_t i = 0; i < std::min(kNamed, layers.size()); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : " · ", printable(layers[i], kLongestCell));
  if (layers.size() > kNamed) out += " …";
  if (models.size() >= report.models.size() || models.size() > kNamed) return out;
  for (std::size_t i = 0; i < models.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? " of " : " and ",
                       printable(short_path(report.models[models[i]].name), kLongestCell));
  return out;
}

std::string method_words(const MergeReport& report) {
  switch (report.method) {
    case Method::none: return "none: every model keeps its own weights";
    case Method::stem: return "stem: layers from the input on, as long as models agree";
    case Method::greedy: return "greedy: the group that saves most is tried first";
    case Method::all_at_once: return "all-at-once: every group in one trial";
    case Method::random: return "random: groups are tried in an order that the seed draws";
    case Method::plimsoll: return "plimsoll: what saves most for what it is thought to cost is tried first";
    case Method::exact: return "exact: every sharing, the one that saves most first, until one holds";
  }
  return {};
}

Table models_table(const MergeReport& report) {
  using enum Importance;
  Table table{{{"Model", Align::left, true, always},
               {"Weights", Align::right, false, always},
               {"Layers", Align::right, false, telling},
               {"15 % of them hold", Align::right, false, ordinary}},
              {}};
  for (const Model& model : report.models) {
    const plan::merge::Weight weight = heaviest(model, report.scope, kHeaviestShare);
    table.rows.push_back(
        {printable(short_path(model.name), kLongestCell), text(weight.bytes),
         fmt::format("{}", weight.layers),
         weight.bytes.count() == 0 ? "nothing" : share_words(weight.heaviest / weight.bytes)});
  }
  return table;
}

std::string totals_line(std::string_view label, std::string_view meaning, const Totals& totals,
                        const TextStyle& style) {
  return hanging(fmt::format("{:<10}", label),
                 fmt::format("{}: {} saved, {} left. {}", share_words(totals.share()), text(totals.saved()),
                             text(totals.together), meaning),
                 style);
}

std::string summary(const MergeReport& report, const TextStyle& style) {
  std::string out = totals_line("ceiling", "All groups, were they all to hold", report.plan.ceiling, style) +
                    totals_line("stem", "Layers from the input on alone", report.plan.stem, style);
  if (report.identical)
    out += totals_line("identical", "Tensors that hold the same numbers already: nothing to train",
                       *report.identical, style);
  if (report.training) out += "\n" + merge_training_text(*report.training, style);
  if (report.method != Method::none) out += hanging("method    ", method_words(report), style);
  for (const std::string& note : report.notes) out += hanging("note      ", printable(note), style);
  if (!report.written.empty())
    out += hanging(
        "written   ",
        fmt::format("{}: {}", printable(report.written),
                    report.trained ? "models that share one file of weights and give the outputs they gave"
                                   : "models that share one file of weights, the first model's where "
                                     "layers are shared: the others are to be trained anew"),
        style);
  return out;
}

Json totals_json(const Totals& totals) {
  return {{"apart_bytes", totals.apart.count()},
          {"union_bytes", totals.together.count()},
          {"saved_bytes", totals.saved().count()},
          {"saved_share", totals.share()}};
}

Json group_json(const MergeReport& report, const Group& group) {
  Json members = Json::array();
  for (const Place& place : group.members)
    members.push_back(
        {{"model", place.model}, {"layer", report.models[place.model].layers[place.layer].name}});
  return {{"definition", group.definition},
          {"kind", plan::merge::name(group.kind)},
          {"bytes", group.bytes.count()},
          {"saves_bytes", group.saves().count()},
          {"effort", expected_effort(report.models, group)},
          {"members", std::move(members)}};
}

}  // namespace

std::string merge_title(const MergeReport& report) {
  const Totals& saved = report.plan.saved;
  return fmt::format("{} model{} · {} apart, {} together · {} saved", report.models.size(),
                     report.models.size() == 1 ? "" : "s", text(saved.apart), text(saved.together),
                     share_words(saved.share()));
}

Table merge_table(const MergeReport& report, std::size_t most) {
  using enum Importance;
  Table table{{{"Definition", Align::left, true, always},
               {"Layers", Align::left, true, telling},
               {"Copies", Align::right, false, ordinary},
               {"Each", Align::right, false, ordinary},
               {"Saves", Align::right, false, always},
               {"So far", Align::right, false, always}},
              {}};
  Bytes so_far;
  for (const Group& group : report.plan.chosen) {
    if (table.rows.size() == most) break;
    so_far += group.saves();
    table.rows.push_back({short_definition(group.definition), members_words(report, group),
                          fmt::format("{}", group.members.size()), text(group.bytes), text(group.saves()),
                          share_words(so_far / report.plan.saved.apart)});
  }
  return table;
}

std::string merge_text(const MergeReport& report, bool all, const TextStyle& style) {
  std::string out = bold(merge_title(report), style) + "\n\n" + to_text(models_table(report), style) + "\n";
  const std::vector<Group>& chosen = report.plan.chosen;
  if (report.plan.groups.empty())
    out +=
        paragraph("No layer of one is equal to a layer of another: there is nothing to share.", style) + "\n";
  if (!chosen.empty()) {
    out += to_text(merge_table(report, all ? chosen.size() : kFirstGroups), style);
    if (!all && chosen.size() > kFirstGroups)
      out += paragraph(fmt::format("{} groups more; --all shows them.", chosen.size() - kFirstGroups), style);
    out += "\n";
  }
  return out + summary(report, style);
}

Json merge_json(const MergeReport& report) {
  Json out;
  out["models"] = Json::array();
  for (const Model& model : report.models) {
    const plan::merge::Weight weight = heaviest(model, report.scope, kHeaviestShare);
    out["models"].push_back({{"name", model.name},
                             {"bytes", model.bytes.count()},
                             {"counted_bytes", weight.bytes.count()},
                             {"layers", weight.layers},
                             {"heaviest_bytes", weight.heaviest.count()}});
  }
  out["heaviest_share_of_layers"] = kHeaviestShare;
  out["within"] = report.scope.within;
  out["heads"] = report.scope.heads;
  out["as_published"] = report.scope.as_published;
  out["method"] = plan::merge::name(report.method);
  out["plan"] = totals_json(report.plan.saved);
  out["ceiling"] = totals_json(report.plan.ceiling);
  out["stem"] = totals_json(report.plan.stem);
  out["identical"] = report.identical ? totals_json(*report.identical) : Json(nullptr);
  out["groups"] = Json::array();
  for (const Group& group : report.plan.chosen) out["groups"].push_back(group_json(report, group));
  out["written"] =
      report.written.empty() ? Json(nullptr) : Json{{"folder", report.written}, {"trained", report.trained}};
  out["training"] = report.training ? merge_training_json(*report.training) : Json(nullptr);
  out["notes"] = report.notes;
  return out;
}

}  // namespace plimsoll::report
