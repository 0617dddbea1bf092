#include "report/registry_table.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "report/paragraph.hpp"
#include "report/run_table.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestName = 80;

std::string dash_where_empty(const std::string& text) {
  return text.empty() ? "-" : text;
}

std::string aliases_text(const std::map<std::string, std::int64_t>& aliases) {
  std::vector<std::string> out;
  for (const auto& [alias, version] : aliases)
    out.push_back(fmt::format("{} → {}", printable(alias, kLongestName), version));
  return dash_where_empty(fmt::format("{}", fmt::join(out, ", ")));
}

std::string stages_text(const store::RegisteredModel& model) {
  std::vector<std::string> out;
  for (const store::ModelVersion& version : model.latest)
    if (version.stage != store::ModelStage::none)
      out.push_back(fmt::format("{} → {}", name(version.stage), version.version));
  return dash_where_empty(fmt::format("{}", fmt::join(out, ", ")));
}

std::int64_t newest(const store::RegisteredModel& model) {
  std::int64_t out = 0;
  for (const store::ModelVersion& version : model.latest) out = std::max(out, version.version);
  return out;
}

Table versions_table(std::span<const WeighedVersion> versions) {
  Table out{.columns = {{"version", Align::right, false, Importance::always},
                        {"aliases", Align::left, false, Importance::telling, true},
                        {"stage", Align::left, false, Importance::detail},
                        {"registered", Align::left, false, Importance::ordinary},
                        {"run", Align::left, false, Importance::telling},
                        {"parameters", Align::right, false, Importance::telling},
                        {"weights", Align::right, false, Importance::telling},
                        {"work", Align::right, false, Importance::ordinary},
                        {"source", Align::left, true, Importance::detail}},
            .rows = {}};
  for (const WeighedVersion& each : versions) {
    const store::ModelVersion& v = each.version;
    std::vector<std::string> aliases;
    for (const std::string& alias : v.aliases) aliases.push_back(printable(alias, kLongestName));
    out.rows.push_back({fmt::format("{}", v.version),
                        dash_where_empty(fmt::format("{}", fmt::join(aliases, ", "))),
                        v.stage == store::ModelStage::none ? "-" : std::string(name(v.stage)),
                        local_time_text(v.created), dash_where_empty(printable(v.run).substr(0, 8)),
                        each.contents ? count_text(each.contents->parameters) : "-",
                        each.contents ? text(each.contents->weights) : "-",
                        each.contents && each.contents->flops ? text(*each.contents->flops) : "-",
                        dash_where_empty(printable(v.source))});
  }
  return out;
}

Table devices_table(const VersionContents& contents) {
  Table out{.columns = {{"device", Align::left, true, Importance::always},
                        {"memory", Align::right, false, Importance::always},
                        {"fits", Align::left, false, Importance::telling},
                        {"time", Align::right, false, Importance::always},
                        {"95 %", Align::left, false, Importance::telling},
                        {"by its", Align::left, false, Importance::ordinary}},
            .rows = {}};
  for (const VersionOnDevice& each : contents.devices)
    out.rows.push_back(
        {printable(each.device, kLongestName) + (each.here ? " (here)" : ""),
         each.memory ? text(*each.memory) : "unknown",
         !each.fits   ? "unknown"
         : *each.fits ? "yes"
                      : "no",
         each.time ? text(*each.time) : "unknown",
         each.low && each.high ? fmt::format("{} to {}", text(*each.low), text(*each.high)) : "-",
         dash_where_empty(each.basis)});
  return out;
}

/// Names on the left, all as wide as the longest.
class Facts {
 public:
  void add(std::string_view name, const std::string& value) {
    if (!value.empty()) out_ += fmt::format("  {:<11} {}\n", name, value);
  }
  [[nodiscard]] const std::string& text() const { return out_; }

 private:
  std::string out_;
};

Json texts_json(const std::map<std::string, std::string>& texts) {
  Json out = Json::object();
  for (const auto& [key, value] : texts) out[key] = value;
  return out;
}

}  // namespace

Table registry_table(std::span<const store::RegisteredModel> models) {
  Table out{.columns = {{"model", Align::left, true, Importance::always},
                        {"newest", Align::right, false, Importance::always},
                        {"aliases", Align::left, false, Importance::telling, true},
                        {"stages", Align::left, false, Importance::detail, true},
                        {"changed", Align::left, false, Importance::ordinary},
                        {"description", Align::left, false, Importance::detail, true}},
            .rows = {}};
  for (const store::RegisteredModel& model : models) {
    const std::int64_t last = newest(model);
    out.rows.push_back({printable(model.name), last == 0 ? "-" : fmt::format("{}", last),
                        aliases_text(model.aliases), stages_text(model), local_time_text(model.changed),
                        dash_where_empty(printable(model.description, kLongestName))});
  }
  return out;
}

Json registered_json(const store::RegisteredModel& model) {
  Json out = {{"name", model.name},
              {"description", model.description},
              {"created", store::time_text(model.created)},
              {"changed", store::time_text(model.changed)},
              {"newest", newest(model)},
              {"aliases", Json::object()},
              {"stages", Json::object()},
              {"tags", texts_json(model.tags)}};
  for (const auto& [alias, version] : model.aliases) out["aliases"][alias] = version;
  for (const store::ModelVersion& version : model.latest)
    if (version.stage != store::ModelStage::none) out["stages"][name(version.stage)] = version.version;
  return out;
}

std::string registered_details(const store::RegisteredModel& model, std::span<const WeighedVersion> versions,
                               const TextStyle& style) {
  std::string out = bold(printable(model.name), style) + "\n";
  if (!model.description.empty()) out += paragraph(printable(model.description), style);
  for (const auto& [key, value] : model.tags)
    out += fmt::format("  {}: {}\n", printable(key), printable(value, kLongestName));
  out += '\n';
  if (versions.empty()) return out + "It has no versions.\n";
  out += to_text(versions_table(versions), style);
  for (const WeighedVersion& each : versions)
    if (!each.problem.empty())
      out += paragraph(fmt::format("Version {}: its file cannot be read: {}", each.version.version,
                                   printable(each.problem)),
                       style);
  if (std::ranges::any_of(versions, [](const auto& each) { return each.contents.has_value(); }))
    out += paragraph(
        fmt::format(
            "`plimsoll registry NAME/{}` says what a version takes of devices, with --device of which.",
            versions.front().version.version),
        style);
  return out;
}

std::string version_details(const WeighedVersion& weighed, const TextStyle& style) {
  const store::ModelVersion& v = weighed.version;
  std::string out = bold(fmt::format("{} · version {}", printable(v.model), v.version), style) + "\n";
  if (!v.description.empty()) out += paragraph(printable(v.description), style);
  std::vector<std::string> aliases;
  for (const std::string& alias : v.aliases) aliases.push_back(printable(alias, kLongestName));
  Facts facts;
  facts.add("aliases", fmt::format("{}", fmt::join(aliases, ", ")));
  facts.add("stage", v.stage == store::ModelStage::none ? std::string() : std::string(name(v.stage)));
  facts.add("registered", local_time_text(v.created));
  facts.add("run", printable(v.run));
  facts.add("logged", printable(v.logged_model));
  facts.add("source", printable(v.source));
  for (const auto& [key, value] : v.tags)
    facts.add("tag", fmt::format("{}: {}", printable(key), printable(value, kLongestName)));
  if (weighed.contents) {
    const VersionContents& contents = *weighed.contents;
    facts.add("file", printable(contents.path));
    facts.add("parameters", count_text(contents.parameters));
    facts.add("weights", plimsoll::text(contents.weights));
    facts.add("work", contents.flops ? plimsoll::text(*contents.flops) + " for one example" : "unknown");
  }
  out += facts.text() + "\n";
  if (!weighed.problem.empty())
    out += paragraph("What is in it is unknown, as its file cannot be read: " + printable(weighed.problem),
                     style);
  else if (!weighed.contents)
    out += paragraph("What is in it is unknown: no ONNX or safetensors file of it is in this store.", style);
  if (!weighed.contents) return out;
  if (weighed.contents->devices.empty())
    return out +
           paragraph(
               "What it takes of a machine is unknown: safetensors say what the weights are, and not what is "
               "computed with them.",
               style);
  out += fmt::format("A pass over a batch of {}:\n", weighed.contents->batch);
  out += to_text(devices_table(*weighed.contents), style);
  for (const VersionOnDevice& each : weighed.contents->devices)
    if (!each.no_time.empty())
      out += paragraph(fmt::format("{}: {}", printable(each.device, kLongestName), printable(each.no_time)),
                       style);
  return out;
}

Json version_json(const WeighedVersion& weighed) {
  const store::ModelVersion& v = weighed.version;
  Json out = {{"version", v.version},
              {"created", store::time_text(v.created)},
              {"changed", store::time_text(v.changed)},
              {"description", v.description},
              {"stage", name(v.stage)},
              {"status", v.status},
              {"aliases", v.aliases},
              {"source", v.source},
              {"location", v.location},
              {"run", v.run},
              {"run_link", v.run_link},
              {"logged_model", v.logged_model},
              {"tags", texts_json(v.tags)},
              {"file", nullptr}};
  if (!weighed.contents) return out;
  const VersionContents& contents = *weighed.contents;
  out["file"] = {{"path", contents.path},
                 {"parameters", contents.parameters},
                 {"weight_bytes", contents.weights.count()}};
  if (contents.flops) out["file"]["flops"] = static_cast<std::int64_t>(contents.flops->value());
  if (contents.devices.empty()) return out;
  const auto seconds = [](const std::optional<Seconds>& time) { return time ? Json(time->value()) : Json(); };
  out["file"]["batch"] = contents.batch;
  out["file"]["devices"] = Json::array();
  for (const VersionOnDevice& each : contents.devices)
    out["file"]["devices"].push_back(
        {{"device", printable(each.device)},
         {"this_machine", each.here},
         {"minimum_device_bytes", each.memory ? Json(each.memory->count()) : Json()},
         {"fits", each.fits ? Json(*each.fits) : Json()},
         {"seconds", seconds(each.time)},
         {"low_seconds", seconds(each.low)},
         {"high_seconds", seconds(each.high)},
         {"provenance", each.basis.empty() ? Json() : Json(each.basis)},
         {"no_time", each.no_time.empty() ? Json() : Json(each.no_time)}});
  return out;
}

}  // namespace plimsoll::report
