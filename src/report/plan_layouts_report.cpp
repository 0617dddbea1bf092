#include "report/plan_layouts_report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/figure.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/json_values.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;
using hardware::MigPlacement;
using hardware::MigProfile;
using hardware::MigTable;

/// "4g.20gb, 1g.5gb × 3", the largest first.
std::string multiset_words(const MigTable& table, const plan::ProfileCounts& counts) {
  std::string out;
  for (std::size_t i = counts.size(); i-- > 0;)
    if (counts[i] > 0)
      out += fmt::format("{}{}{}", out.empty() ? "" : ", ", table.profiles[i].name,
                         counts[i] > 1 ? fmt::format(" × {}", counts[i]) : "");
  return out.empty() ? "nothing" : out;
}

std::string placement_words(const MigTable& table, const std::vector<MigPlacement>& placed) {
  std::vector<std::string> words;
  for (const MigPlacement& placement : placed) words.push_back(hardware::text(table, placement));
  return words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, ", "));
}

struct PartsTaken {
  int compute = 0, memory = 0;
};
PartsTaken parts_taken(const MigTable& table, const plan::ProfileCounts& counts) {
  PartsTaken out;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    out.compute += counts[i] * table.profiles[i].compute;
    out.memory += counts[i] * table.profiles[i].memory;
  }
  return out;
}

Table profiles_table(const LayoutsReport& report) {
  using enum Importance;
  Table table{{{"Profile", Align::left, false, always},
               {"Compute", Align::right, false, always},
               {"Memory", Align::right, false, always},
               {"SMs", Align::right, false, telling},
               {"Bytes", Align::right, false, telling},
               {"At most", Align::right, false, ordinary},
               {"Starts", Align::left, false, ordinary}},
              {}};
  for (const std::size_t i : report.profiles) {
    const MigProfile& profile = report.table.profiles[i];
    const auto bytes = hardware::mig_bytes(report.table, profile, report.device);
    table.rows.push_back({profile.name, fmt::format("{}/{}", profile.compute, report.table.compute_parts),
                          fmt::format("{}/{}", profile.memory, report.table.memory_parts),
                          profile.sms ? fmt::format("{}", *profile.sms) : "unknown",
                          bytes ? text(*bytes) : "unknown", fmt::format("{}", profile.most),
                          fmt::format("{}", fmt::join(profile.starts, ", "))});
  }
  return table;
}

Table multisets_table(const LayoutsReport& report) {
  using enum Importance;
  Table table{{{"Instances", Align::left, false, always},
               {"Compute", Align::right, false, telling},
               {"Memory", Align::right, false, telling},
               {"Ways", Align::right, false, telling},
               {"The first of them", Align::left, false, ordinary, true}},
              {}};
  for (const plan::ProfileCounts& counts : report.multisets) {
    const auto same = [&](const plan::Layout& layout) {
      return plan::counts_of(report.table, layout) == counts;
    };
    const auto first = std::ranges::find_if(report.layouts, same);
    const PartsTaken taken = parts_taken(report.table, counts);
    table.rows.push_back({multiset_words(report.table, counts),
                          fmt::format("{}/{}", taken.compute, report.table.compute_parts),
                          fmt::format("{}/{}", taken.memory, report.table.memory_parts),
                          fmt::format("{}", std::ranges::count_if(report.layouts, same)),
                          placement_words(report.table, *first)});
  }
  return table;
}

std::string change_text(const LayoutsReport& report, const TextStyle& style) {
  const plan::LayoutChange& change = *report.change;
  std::string out = bold(fmt::format("{}: {} torn down, {} created", printable(report.device.name),
                                     change.removed.size(), change.created.size()),
                         style) +
                    "\n\n";
  out += hanging("torn down  ", placement_words(report.table, change.removed), style);
  out += hanging("kept       ", placement_words(report.table, change.kept), style);
  out += hanging("created    ", placement_words(report.table, change.created), style);
  return out + hanging("then       ", placement_words(report.table, change.after()), style);
}

Json placements_json(const MigTable& table, const std::vector<MigPlacement>& placed) {
  Json out = Json::array();
  for (const MigPlacement& placement : placed)
    out.push_back({{"profile", table.profiles[placement.profile].name}, {"start", placement.start}});
  return out;
}

Json counts_json(const MigTable& table, const plan::ProfileCounts& counts) {
  Json out = Json::object();
  for (std::size_t i = counts.size(); i-- > 0;)
    if (counts[i] > 0) out[table.profiles[i].name] = counts[i];
  return out;
}

Json profile_json(const LayoutsReport& report, const MigProfile& profile) {
  return {{"name", profile.name},
          {"compute_parts", profile.compute},
          {"memory_parts", profile.memory},
          {"starts", profile.starts},
          {"most", profile.most},
          {"sms", profile.sms ? Json(*profile.sms) : Json(nullptr)},
          {"bytes", json_bytes(hardware::mig_bytes(report.table, profile, report.device))},
          // A driver's word, or the profile's part of what the device has.
          {"bytes_provenance", name(profile.bytes ? Provenance::measured : Provenance::assumed)}};
}

std::string gpu_entry(const MigTable& table, const plan::ProfileCounts& counts, const std::string& devices) {
  std::string out = fmt::format("    - devices: {}\n", devices);
  if (std::ranges::all_of(counts, [](int count) { return count == 0; }))
    return out + "      mig-enabled: false\n      mig-devices: {}\n";
  out += "      mig-enabled: true\n      mig-devices:\n";
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0) out += fmt::format("        \"{}\": {}\n", table.profiles[i].name, counts[i]);
  return out;
}

}  // namespace

std::string layouts_text(const LayoutsReport& report, const TextStyle& style) {
  if (report.change) return change_text(report, style);
  std::string out = bold(printable(report.device.name), style) + "\n\n";
  out += paragraph(fmt::format("{} layouts to which nothing can be added; {} where places do not count.",
                               report.layouts.size(), report.multisets.size()),
                   style);
  out += "\n" + to_text(profiles_table(report), style);
  return out + "\n" + to_text(multisets_table(report), style);
}

Json layouts_json(const LayoutsReport& report) {
  Json out;
  out["device"] = report.device.id;
  if (report.change) {
    out["removed"] = placements_json(report.table, report.change->removed);
    out["kept"] = placements_json(report.table, report.change->kept);
    out["created"] = placements_json(report.table, report.change->created);
    out["layout"] = placements_json(report.table, report.change->after());
    return out;
  }
  out["compute_parts"] = report.table.compute_parts;
  out["memory_parts"] = report.table.memory_parts;
  out["profiles"] = Json::array();
  for (const std::size_t i : report.profiles)
    out["profiles"].push_back(profile_json(report, report.table.profiles[i]));
  out["layouts"] = Json::array();
  for (const plan::Layout& layout : report.layouts)
    out["layouts"].push_back(placements_json(report.table, layout));
  out["multisets"] = Json::array();
  for (const plan::ProfileCounts& counts : report.multisets)
    out["multisets"].push_back(counts_json(report.table, counts));
  return out;
}

std::string mig_parted_text(const MigTable& table, const std::vector<MigConfiguration>& configurations) {
  std::string out = "version: v1\nmig-configs:\n";
  for (const MigConfiguration& configuration : configurations) {
    out += fmt::format("  {}:\n", configuration.name);
    std::vector<plan::ProfileCounts> written;
    for (const plan::ProfileCounts& counts : configuration.gpus) {
      if (std::ranges::find(written, counts) != written.end()) continue;
      written.push_back(counts);
      std::vector<std::size_t> alike;
      for (std::size_t i = 0; i < configuration.gpus.size(); ++i)
        if (configuration.gpus[i] == counts) alike.push_back(i);
      out +=
          gpu_entry(table, counts, configuration.every ? "all" : fmt::format("[{}]", fmt::join(alike, ", ")));
    }
  }
  return out;
}

}  // namespace plimsoll::report
