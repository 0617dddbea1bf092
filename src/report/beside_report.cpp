#include "report/beside_report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;

struct NamedCause {
  std::string_view key, words;
  double share;
};

std::vector<NamedCause> named(const share::Causes& c) {
  return {{"waits", "waits for the others' blocks", c.waits},
          {"bandwidth", "bandwidth and caches", c.bandwidth},
          {"slices", "turns of the others", c.slices},
          {"fewer_sms", "fewer SMs", c.fewer_sms},
          {"mps", "MPS itself", c.mps},
          {"host", "cores of the host", c.host},
          {"power", "power", c.power}};
}

std::string percent(double share) {
  return fmt::format("{:.0f} %", 100 * share);
}

Table members_table(const BesideReport& report, const share::Beside& way) {
  using enum Importance;
  Table table{{{"Workload", Align::left, true, always},
               {"Alone", Align::right, false, telling},
               {"Beside", Align::right, false, always},
               {"Speed", Align::right, false, always},
               {"95 %", Align::right, false, telling},
               {"Needs", Align::right},
               {"A step is longer by", Align::left, false, telling, true}},
              {}};
  for (std::size_t i = 0; i < report.workloads.size(); ++i) {
    const SharingWorkload& workload = report.workloads[i];
    const share::Member& member = way.members[i];
    const double alone = 1 / workload.alone.value();
    table.rows.push_back({printable(workload.name), fmt::format("{:.4g}/s", alone),
                          fmt::format("{:.4g}/s", member.steps_per_second),
                          fmt::format("{:.2f}", member.speed),
                          fmt::format("{:.2f}–{:.2f}", member.low, member.high), text(workload.minimum),
                          cause_words(member.causes)});
  }
  return table;
}

Table ways_table(const BesideReport& report) {
  using enum Importance;
  Table table{{{"Sharing", Align::left, false, always},
               {"Slowest", Align::right, false, always},
               {"Combined", Align::right, false, always},
               {"Power", Align::right, false, telling},
               {"Energy", Align::right, false, telling},
               {"Speeds", Align::left, false, ordinary, true}},
              {}};
  for (const share::Beside& way : report.ways) {
    std::string speeds;
    for (const share::Member& member : way.members)
      speeds += fmt::format("{}{:.2f}", speeds.empty() ? "" : ", ", member.speed);
    table.rows.push_back({share::text(way.sharing), fmt::format("{:.2f}", way.slowest()),
                          fmt::format("{:.2f}", way.combined), way.watts ? text(*way.watts) : "unknown",
                          way.energy_ratio ? percent(*way.energy_ratio) : "unknown", speeds});
  }
  return table;
}

std::string memory_words(const BesideReport& report) {
  const std::optional<bool> fits = report.fits;
  const share::Sharing& sharing = report.ways.front().sharing;
  if (sharing.in_one_slice) {
    const auto& capacity = report.ways.front().members.front().capacity;
    return fmt::format("{} at least for all together, in one slice of {}: {}", text(report.minimum),
                       capacity ? text(*capacity) : "unknown size",
                       fits.value_or(true) ? "fits" : "does not fit");
  }
  if (sharing.way == share::Way::mig) {
    std::string out;
    for (std::size_t i = 0; i < report.workloads.size(); ++i) {
      const auto& capacity = report.ways.front().members[i].capacity;
      out += fmt::format("{}{} of {}", out.empty() ? "" : ", ", text(report.workloads[i].minimum),
                         capacity ? text(*capacity) : "unknown");
    }
    return fmt::format("{} at least, in slices: {}", out, fits.value_or(true) ? "fits" : "does not fit");
  }
  std::string out = fmt::format("{} at least for all together", text(report.minimum));
  if (report.capacity)
    out += fmt::format(" of {}: {}", text(*report.capacity), fits.value_or(true) ? "fits" : "does not fit");
  return out;
}

std::string summary(const BesideReport& report, const share::Beside& way, const TextStyle& style) {
  std::string out = hanging("together  ",
                            fmt::format("{:.2f} times what one alone does{}", way.combined,
                                        way.watts ? fmt::format(", at {}", text(*way.watts)) : ""),
                            style);
  if (way.energy_ratio)
    out += hanging("energy    ",
                   fmt::format("{} of the joules of one after the other", percent(*way.energy_ratio)), style);
  for (std::size_t i = 0; i < way.members.size(); ++i)
    if (const auto& latency = way.members[i].latency)
      out += hanging(
          "latency   ",
          latency->saturated
              ? fmt::format(
                    "{}: more is asked than it can answer beside the others; its queue grows without end",
                    printable(report.workloads[i].name))
              : fmt::format("{}: half of its requests within {}, 99 % within {} (alone {} and {})",
                            printable(report.workloads[i].name), text(latency->median), text(latency->p99),
                            text(latency->alone_median), text(latency->alone_p99)),
          style);
  out += hanging("memory    ", memory_words(report), style);
  if (way.provenance == Provenance::assumed)
    out += hanging("note      ",
                   "what turns, launches and caches cost on this GPU nobody measured: taken from an H200",
                   style);
  return out;
}

}  // namespace

std::string cause_words(const share::Causes& causes) {
  std::vector<NamedCause> all = named(causes);
  std::ranges::stable_sort(all, std::greater(), &NamedCause::share);
  std::string out;
  for (const NamedCause& cause : all)
    if (cause.share >= 0.005)
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", cause.words, percent(cause.share));
  return out.empty() ? "nothing" : out;
}

std::string beside_text(const BesideReport& report, const TextStyle& style) {
  const share::Beside& way = report.ways.front();
  std::string out = fmt::format(
      "{}\n\n",
      bold(fmt::format("{} on {}, {}",
                       report.workloads.size() == 1 ? "One workload"
                                                    : fmt::format("{} workloads", report.workloads.size()),
                       printable(report.device), share::text(way.sharing)),
           style));
  if (report.why) out += paragraph(*report.why, style) + "\n";
  out += to_text(members_table(report, way), style) + "\n" + summary(report, way, style);
  if (report.ways.size() > 1) out += "\n" + to_text(ways_table(report), style);
  return out;
}

Json beside_json(const BesideReport& report) {
  const auto way_json = [&](const share::Beside& way) {
    Json members = Json::array();
    for (std::size_t i = 0; i < way.members.size(); ++i) {
      const share::Member& member = way.members[i];
      const SharingWorkload& workload = report.workloads[i];
      Json causes = Json::object();
      for (const NamedCause& cause : named(member.causes)) causes[std::string(cause.key)] = cause.share;
      members.push_back({{"name", workload.name},
                         {"speed", member.speed},
                         {"low", member.low},
                         {"high", member.high},
                         {"alone_seconds", workload.alone.value()},
                         {"seconds", workload.alone.value() / member.speed},
                         {"steps_per_second", member.steps_per_second},
                         {"measured", workload.measured},
                         {"causes", std::move(causes)},
                         {"memory", {{"minimum_device_bytes", workload.minimum.count()}}}});
      if (const auto& latency = member.latency)
        members.back()["latency"] = {{"median_seconds", latency->median.value()},
                                     {"p99_seconds", latency->p99.value()},
                                     {"alone_median_seconds", latency->alone_median.value()},
                                     {"alone_p99_seconds", latency->alone_p99.value()},
                                     {"saturated", latency->saturated}};
    }
    Json out;
    out["sharing"] = share::text(way.sharing);
    out["workloads"] = std::move(members);
    out["combined"] = way.combined;
    out["slowest"] = way.slowest();
    out["watts"] = way.watts ? Json(way.watts->value()) : Json(nullptr);
    out["energy_ratio"] = way.energy_ratio ? Json(*way.energy_ratio) : Json(nullptr);
    out["provenance"] = name(way.provenance);
    return out;
  };
  Json out = way_json(report.ways.front());
  out["device"] = report.device;
  out["memory"] = {{"minimum_device_bytes", report.minimum.count()}, {"fits", nullptr}};
  if (const auto fits = report.fits) out["memory"]["fits"] = *fits;
  out["why"] = report.why ? Json(*report.why) : Json(nullptr);
  Json others = Json::array();
  for (std::size_t i = 1; i < report.ways.size(); ++i) others.push_back(way_json(report.ways[i]));
  out["others"] = std::move(others);
  return out;
}

}  // namespace plimsoll::report
