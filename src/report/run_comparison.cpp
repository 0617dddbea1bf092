#include "report/run_comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/run_table.hpp"
#include "store/host_series.hpp"

namespace plimsoll::report {
namespace {

using Kind = ComparedRow::Kind;
using Value = ComparedRow::Value;
using Json = nlohmann::ordered_json;

/// What a run's summary holds, in the order in which one asks.
constexpr std::string_view kSummary[] = {
    "summary/gpu_energy_share", "summary/gpu_energy",      "summary/host_energy", "summary/sm_activity_mean",
    "summary/sm_share_mean",    "summary/gpu_memory_peak", "summary/memory_peak", "summary/cpu_seconds",
};
/// How a run was made, shown where it differs.
constexpr std::string_view kCircumstances[] = {"plimsoll.workload", "plimsoll.mode", "plimsoll.devices",
                                               "plimsoll.host", "plimsoll.git.revision"};

template <class Texts>
ComparedRow text_row(Kind kind, std::span<const store::Run> runs, const std::string& name,
                     Texts store::Run::* texts) {
  ComparedRow row{kind, name};
  for (const store::Run& run : runs) {
    const auto found = (run.*texts).find(name);
    row.values.push_back(found == (run.*texts).end() ? Value() : Value(found->second));
  }
  return row;
}

template <class Entries>
std::set<std::string> names(std::span<const store::Run> runs, Entries store::Run::* entries) {
  std::set<std::string> out;
  for (const store::Run& run : runs)
    for (const auto& entry : run.*entries) out.insert(entry.first);
  return out;
}

ComparedRow metric_row(std::span<const store::Run> runs, const std::string& name) {
  ComparedRow row{Kind::metric, name};
  for (const store::Run& run : runs) {
    const auto found = run.metrics.find(name);
    row.values.push_back(found == run.metrics.end() ? Value() : Value(found->second.latest.value));
    if (found != run.metrics.end() && row.unit.empty()) row.unit = found->second.description.unit;
  }
  return row;
}

std::vector<ComparedRow> fact_rows(std::span<const store::Run> runs) {
  ComparedRow experiment{Kind::fact, "experiment"}, outcome{Kind::fact, "outcome"},
      duration{Kind::fact, "duration", "s"};
  for (const store::Run& run : runs) {
    const auto seconds = run_duration(run);
    experiment.values.emplace_back(run.experiment);
    outcome.values.emplace_back(run_outcome(run));
    duration.values.push_back(seconds ? Value(seconds->value()) : Value());
  }
  std::vector<ComparedRow> out;
  if (experiment.differs()) out.push_back(std::move(experiment));
  out.push_back(std::move(outcome));
  out.push_back(std::move(duration));
  return out;
}

bool known(const ComparedRow& row) {
  return std::ranges::any_of(row.values, [](const Value& v) { return v.has_value(); });
}

std::string value_text(const ComparedRow& row, std::size_t at) {
  const Value& value = row.values[at];
  if (!value) return "-";
  if (const auto* words = std::get_if<std::string>(&*value)) return printable(*words, 400);
  const double number = std::get<double>(*value);
  std::string out = metric_text(number, row.unit);
  if (at == 0 || !row.values[0]) return out;
  const double first = std::get<double>(*row.values[0]);
  const double change = 100 * (number - first) / std::abs(first);
  if (std::isfinite(change) && number != first) out += fmt::format(" ({:+.3g} %)", change);
  return out;
}

std::string row_title(const ComparedRow& row) {
  switch (row.kind) {
    case Kind::param: return "params." + printable(row.name);
    case Kind::metric: return "metrics." + printable(row.name);
    case Kind::tag: return "tags." + printable(row.name);
    case Kind::fact: break;
  }
  return row.name;
}

std::string_view kind_name(Kind kind) {
  constexpr std::string_view kNames[] = {"param", "fact", "metric", "tag"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace

bool ComparedRow::differs() const {
  const auto same = [](const Value& a, const Value& b) {
    // Two that are not a number agree in that.
    const auto* x = a ? std::get_if<double>(&*a) : nullptr;
    const auto* y = b ? std::get_if<double>(&*b) : nullptr;
    return a == b || (x != nullptr && y != nullptr && std::isnan(*x) && std::isnan(*y));
  };
  return std::ranges::any_of(values, [&](const Value& v) { return !same(v, values.front()); });
}

std::vector<ComparedRow> compare_runs(std::span<const store::Run> runs, bool all) {
  std::vector<ComparedRow> out, same;
  for (const std::string& name : names(runs, &store::Run::params)) {
    ComparedRow row = text_row(Kind::param, runs, name, &store::Run::params);
    (row.differs() ? out : same).push_back(std::move(row));
  }
  if (all) std::ranges::move(same, std::back_inserter(out));
  std::ranges::move(fact_rows(runs), std::back_inserter(out));
  std::set<std::string> tags = names(runs, &store::Run::tags);
  if (!all)
    std::erase_if(tags, [](const std::string& name) {
      return std::ranges::find(kCircumstances, name) == std::end(kCircumstances);
    });
  for (const std::string& name : tags) {
    ComparedRow row = text_row(Kind::tag, runs, name, &store::Run::tags);
    if (all || row.differs()) out.push_back(std::move(row));
  }
  for (const std::string_view name : kSummary)
    if (ComparedRow row = metric_row(runs, std::string(name)); known(row)) out.push_back(std::move(row));
  for (const std::string& name : names(runs, &store::Run::metrics)) {
    if (std::ranges::find(kSummary, name) != std::end(kSummary)) continue;
    if (all || store::is_own_metric(name)) out.push_back(metric_row(runs, name));
  }
  return out;
}

Table comparison_table(std::span<const store::Run> runs, std::span<const ComparedRow> rows) {
  Table table{{{"", Align::left, true}}, {}};
  for (const store::Run& run : runs)
    table.columns.push_back(
        {printable(run.id).substr(0, 8) + (run.name.empty() ? "" : " " + printable(run.name, 100)),
         Align::left, false, Importance::telling, true});
  for (const ComparedRow& row : rows) {
    std::vector<std::string> cells = {row_title(row)};
    for (std::size_t i = 0; i < row.values.size(); ++i) cells.push_back(value_text(row, i));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Json comparison_json(std::span<const store::Run> runs, std::span<const ComparedRow> rows) {
  Json out = {{"runs", Json::array()}, {"rows", Json::array()}};
  for (const store::Run& run : runs) out["runs"].push_back({{"id", run.id}, {"name", run.name}});
  for (const ComparedRow& row : rows) {
    Json values = Json::array();
    for (const Value& value : row.values) {
      if (!value)
        values.push_back(nullptr);
      else if (const auto* number = std::get_if<double>(&*value))
        values.push_back(number_json(*number));
      else
        values.push_back(std::get<std::string>(*value));
    }
    out["rows"].push_back({{"kind", kind_name(row.kind)},
                           {"name", row.name},
                           {"unit", row.unit},
                           {"differs", row.differs()},
                           {"values", std::move(values)}});
  }
  return out;
}

}  // namespace plimsoll::report
