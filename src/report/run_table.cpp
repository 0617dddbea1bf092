#include "report/run_table.hpp"

#include <array>
#include <cmath>
#include <ctime>
#include <set>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/run_title.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::report {
namespace {

constexpr std::size_t kLongestCell = 400;
constexpr std::size_t kShownDigits = 8;

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

/// The id stands beside it: a run without a name needs it no second time.
std::string name_cell(const store::Run& run) {
  const std::string title = run_title(run);
  return title == short_id(run) ? "-" : title;
}

std::optional<double> latest(const store::Run& run, const std::string& metric) {
  const auto found = run.metrics.find(metric);
  if (found == run.metrics.end()) return std::nullopt;
  return found->second.latest.value;
}

std::string attribute_text(const store::Run& run, store::Field::Attribute attribute) {
  using Attribute = store::Field::Attribute;
  const std::optional<Seconds> duration = run_duration(run);
  switch (attribute) {
    case Attribute::run_id: return run.id;
    case Attribute::run_name: return or_dash(printable(run.name, kLongestCell));
    case Attribute::status: return std::string(store::name(run.status));
    case Attribute::start_time: return local_time_text(run.start);
    case Attribute::end_time: return run.end ? local_time_text(*run.end) : "-";
    case Attribute::duration: return duration ? text(*duration) : "-";
    case Attribute::experiment_name: return printable(run.experiment, kLongestCell);
    case Attribute::user_id: return or_dash(printable(run.user, kLongestCell));
    case Attribute::artifact_uri:
    case Attribute::experiment_id:
    case Attribute::name:
    case Attribute::creation_time:
    case Attribute::last_update_time:
    case Attribute::model_id:
    case Attribute::model_type:
    case Attribute::source_run_id:
    case Attribute::version_number:
    case Attribute::source_path: return "-";  // of other things than runs, or not the store's to know
  }
  return "-";
}

/// In the order of their names: a column for each that any run has.
std::set<std::string> names_in(std::span<const store::Run> runs,
                               const std::map<std::string, std::string> store::Run::* texts) {
  std::set<std::string> out;
  for (const store::Run& run : runs)
    for (const auto& [name, value] : run.*texts) out.insert(name);
  return out;
}

std::string value_of(const std::map<std::string, std::string>& texts, const std::string& name) {
  const auto found = texts.find(name);
  return found == texts.end() ? std::string() : printable(found->second);
}

}  // namespace

std::string run_outcome(const store::Run& run) {
  if (const auto tag = run.tags.find("plimsoll.outcome"); tag != run.tags.end() && !tag->second.empty())
    return printable(tag->second, kLongestCell);
  return lower_case(store::name(run.status));
}

std::optional<Seconds> run_duration(const store::Run& run) {
  if (!run.end) return std::nullopt;
  // Of a store that a stranger wrote the times may be anything; their difference is taken where it cannot
  // overflow.
  return Seconds(1e-6 * (static_cast<double>(*run.end) - static_cast<double>(run.start)));
}

std::optional<Joules> run_energy(const store::Run& run) {
  for (const char* metric : {"summary/gpu_energy_share", "summary/gpu_energy"})
    if (const std::optional<double> joules = latest(run, metric); joules && std::isfinite(*joules))
      return Joules(*joules);
  return std::nullopt;
}

std::string metric_text(double value, std::string_view unit) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  if (unit.empty() || unit == "1") return fmt::format("{:.6g}", value);
  if (unit == "B") return text(Bytes::rounded(value));
  if (unit == "B/s") return text(BytesPerSecond(value));
  if (unit == "s") return text(Seconds(value));
  if (unit == "J") return text(Joules(value));
  if (unit == "W") return text(Watts(value));
  if (unit == "Hz") return si_text(value, unit);
  return fmt::format("{:.6g} {}", value, printable(unit, kLongestCell));
}

std::string local_time_text(store::Time time) {
  const auto seconds = static_cast<std::time_t>(time / 1'000'000);
  std::tm local{};
  std::array<char, 64> text{};
  if (::localtime_r(&seconds, &local) == nullptr ||
      std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &local) == 0)
    return store::time_text(time);
  return text.data();
}

std::string field_name(const store::Field& field) {
  using Kind = store::Field::Kind;
  constexpr std::string_view kAttributes[] = {
      "run_id",          "run_name", "status",       "start_time",    "end_time",       "duration",
      "experiment_name", "user_id",  "artifact_uri", "name",          "creation_time",  "last_update_time",
      "experiment_id",   "model_id", "model_type",   "source_run_id", "version_number", "source_path"};
  static_assert(std::size(kAttributes) == static_cast<std::size_t>(store::Field::Attribute::source_path) + 1);
  switch (field.kind) {
    case Kind::metric: return "metrics." + printable(field.key);
    case Kind::param: return "params." + printable(field.key);
    case Kind::tag: return "tags." + printable(field.key);
    case Kind::dataset: return "datasets." + printable(field.key);
    case Kind::attribute: break;
  }
  return std::string(kAttributes[static_cast<std::size_t>(field.attribute)]);
}

bool adds_to_list(const store::Field& field) {
  using Kind = store::Field::Kind;
  using Attribute = store::Field::Attribute;
  switch (field.kind) {
    case Kind::metric:
    case Kind::param: return true;
    case Kind::tag: return field.key != "plimsoll.outcome" && field.key != "mlflow.runName";
    case Kind::dataset: return false;  // no part of a run's own record
    case Kind::attribute:
      return field.attribute == Attribute::end_time || field.attribute == Attribute::user_id;
  }
  return false;
}

std::string field_text(const store::Run& run, const store::Field& field) {
  using Kind = store::Field::Kind;
  if (field.kind == Kind::attribute) return attribute_text(run, field.attribute);
  if (field.kind == Kind::metric) {
    const auto metric = run.metrics.find(field.key);
    return metric == run.metrics.end()
               ? "-"
               : metric_text(metric->second.latest.value, metric->second.description.unit);
  }
  const auto& texts = field.kind == Kind::param ? run.params : run.tags;
  const auto found = texts.find(field.key);
  return found == texts.end() ? "-" : printable(found->second, kLongestCell);
}

Table run_table(std::span<const store::Run> runs, std::span<const store::Field> columns) {
  using enum Importance;
  Table table{{{"Run"},
               {"Name", Align::left, true, always},
               {"Experiment", Align::left, true},
               {"Outcome", Align::left, true, telling},
               {"Started", Align::left, false, detail},
               {"Duration", Align::right},
               {"Energy", Align::right, false, detail}},
              {}};
  // What was asked for stays before what is always there.
  for (const store::Field& field : columns)
    table.columns.push_back(
        {field_name(field), store::is_number(field) ? Align::right : Align::left, true, telling});
  for (const store::Run& run : runs) {
    const std::optional<Seconds> duration = run_duration(run);
    const std::optional<Joules> energy = run_energy(run);
    table.rows.push_back({printable(run.id).substr(0, kShownDigits), name_cell(run),
                          printable(run.experiment, kLongestCell), run_outcome(run),
                          local_time_text(run.start), duration ? text(*duration) : "-",
                          energy ? text(*energy) : "-"});
    for (const store::Field& field : columns) table.rows.back().push_back(field_text(run, field));
  }
  return table;
}

Table run_numbers(std::span<const store::Run> runs) {
  Table table{
      {{"run_id"}, {"run_name"}, {"experiment"}, {"status"}, {"start"}, {"end"}, {"seconds"}, {"joules"}},
      {}};
  const std::set<std::string> params = names_in(runs, &store::Run::params),
                              tags = names_in(runs, &store::Run::tags);
  std::set<std::string> metrics;
  for (const store::Run& run : runs)
    for (const auto& [name, metric] : run.metrics) metrics.insert(name);
  for (const std::string& name : params) table.columns.push_back({"params." + printable(name)});
  for (const std::string& name : metrics) table.columns.push_back({"metrics." + printable(name)});
  for (const std::string& name : tags) table.columns.push_back({"tags." + printable(name)});
  for (const store::Run& run : runs) {
    const std::optional<Seconds> duration = run_duration(run);
    const std::optional<Joules> energy = run_energy(run);
    std::vector<std::string> row = {printable(run.id),
                                    printable(run.name),
                                    printable(run.experiment),
                                    std::string(store::name(run.status)),
                                    store::time_text(run.start),
                                    run.end ? store::time_text(*run.end) : "",
                                    duration ? fmt::format("{}", duration->value()) : "",
                                    energy ? fmt::format("{}", energy->value()) : ""};
    for (const std::string& name : params) row.push_back(value_of(run.params, name));
    for (const std::string& name : metrics) {
      const std::optional<double> value = latest(run, name);
      row.push_back(value ? fmt::format("{}", *value) : "");
    }
    for (const std::string& name : tags) row.push_back(value_of(run.tags, name));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace plimsoll::report
