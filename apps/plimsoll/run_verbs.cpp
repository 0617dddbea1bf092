#include "run_verbs.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "diagnose/recording_reader.hpp"
#include "json_output.hpp"
#include "named_runs.hpp"
#include "point_file.hpp"
#include "report/point_lines.hpp"
#include "report/run_comparison.hpp"
#include "report/run_table.hpp"

namespace plimsoll {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kVerbs[] = {"show", "compare", "export", "delete", "restore", "purge"};

/// One document, but put together run by run: thousands of them as one tree take ten times the room of their
/// text.
void print_list(const std::vector<store::Run>& runs, const std::string& location, bool more) {
  fmt::print("{{\"store\":{},\"more\":{},\"runs\":[", json_text(location), more);
  for (std::size_t i = 0; i < runs.size(); ++i)
    fmt::print("{}{}", i == 0 ? "" : ",", json_text(report::run_json(runs[i])));
  fmt::print("]}}\n");
}

Result<std::unique_ptr<store::Store>> open_store(const RunsOptions& options) {
  return store::open(options.store, {.create = false});
}

std::string shown(const store::Run& run) {
  return printable(run.id).substr(0, 8) + (run.name.empty() ? "" : " " + quote(run.name));
}

/// The metrics that were asked for, or all of the run's.
Result<std::vector<std::string>> chosen_metrics(const store::Run& run,
                                                const std::vector<std::string>& asked) {
  std::vector<std::string> out;
  std::vector<std::string_view> known;
  for (const auto& [name, metric] : run.metrics) known.emplace_back(name);
  if (asked.empty()) return std::vector<std::string>(known.begin(), known.end());
  for (const std::string& name : asked) {
    if (!run.metrics.contains(name)) {
      std::string hint = did_you_mean(name, known);
      if (hint.empty()) hint = fmt::format("`plimsoll runs show {}` lists its metrics.", run.id.substr(0, 8));
      return std::unexpected(
          Error{fmt::format("run {} has no metric {}", shown(run), quote(name)), {}, hint});
    }
    out.push_back(name);
  }
  return out;
}

Result<int> mark(const RunsOptions& options, bool deleted) {
  const auto store = open_store(options);
  if (!store) return std::unexpected(store.error());
  const Result<std::vector<store::Run>> runs =
      named_runs(**store, options.runs, deleted ? store::View::active : store::View::deleted);
  if (!runs) return std::unexpected(runs.error());
  const char* const done = deleted ? "deleted" : "restored";
  Json out = {{done, Json::array()}};
  for (const store::Run& run : *runs) {
    PLIMSOLL_TRY(deleted ? (*store)->remove(run.id) : (*store)->restore(run.id));
    out[done].push_back(run.id);
    if (!options.json) fmt::print("{} {}\n", done, shown(run));
  }
  if (options.json)
    print_json(out);
  else if (deleted)
    fmt::print("`plimsoll runs restore RUN` brings it back, `plimsoll runs purge` removes it for good.\n");
  return 0;
}

/// The fields of --columns, then those by which the list was filtered and ordered: who asks for a loss below
/// 1 wants to see it. What the list shows anyway is not repeated.
Result<std::vector<store::Field>> shown_columns(const RunsOptions& options) {
  std::vector<store::Field> out;
  const auto add = [&out](const store::Field& field, bool asked) {
    if (std::ranges::find(out, field) == out.end() && (asked || report::adds_to_list(field)))
      out.push_back(field);
  };
  for (const std::string& name : options.columns) {
    const Result<store::Order> field = store::parse_order(name);
    if (!field) return std::unexpected(Error(field.error()).within("--columns"));
    add(field->field, true);
  }
  // Those that cannot be read are refused by the search, which says where.
  if (const Result<store::Filter> filter = store::parse_filter(options.search.filter); filter)
    for (const store::Comparison& comparison : *filter) add(comparison.field, false);
  for (const std::string& name : options.search.order_by)
    if (const Result<store::Order> order = store::parse_order(name); order) add(order->field, false);
  return out;
}

bool person_agrees(std::size_t runs) {
  fmt::print(stderr, "Remove {} deleted run{} with all points and files for good? [y/N] ", runs,
             runs == 1 ? "" : "s");
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace

Result<int> list_runs(const RunsOptions& options, const report::TextStyle& style) {
  const Result<std::vector<store::Field>> columns = shown_columns(options);
  if (!columns) return std::unexpected(columns.error());
  const auto store = open_store(options);
  if (!store) return std::unexpected(store.error());
  store::Search search = options.search;
  if (options.deleted) search.view = store::View::deleted;
  ++search.limit;  // one more than is shown, to know whether there is more
  Result<std::vector<store::Run>> runs = (*store)->search(search);
  if (!runs) return std::unexpected(std::move(runs).error());
  const bool more = runs->size() > options.search.limit;
  if (more) runs->pop_back();
  if (options.json) {
    print_list(*runs, (*store)->location(), more);
  } else if (options.csv) {
    fmt::print("{}", report::to_csv(report::run_numbers(*runs)));
  } else if (runs->empty()) {
    fmt::print("No {}runs in {}{}.\n", options.deleted ? "deleted " : "", printable((*store)->location()),
               search.filter.empty() && !search.experiment ? "" : " that match");
  } else {
    fmt::print("{}", report::to_text(report::run_table(*runs, *columns), style));
    if (more) fmt::print("\nThere are more: --limit N shows N of them.\n");
  }
  return 0;
}

Result<int> show_run(const RunsOptions& options, const report::TextStyle& style) {
  const auto store = open_store(options);
  if (!store) return std::unexpected(store.error());
  Result<store::Run> run = named_run(**store, options.runs.front());
  if (!run) {
    // `plimsoll runs delte` is read as a run's name.
    if (std::string hint = did_you_mean(options.runs.front(), kVerbs); !hint.empty()) run.error().hint = hint;
    return std::unexpected(std::move(run).error());
  }
  diagnose::count_points(**store, *run);
  const Result<std::vector<store::File>> files = (*store)->files(run->id);
  if (!files) return std::unexpected(files.error());
  if (!options.json) {
    fmt::print("{}", report::run_details(*run, *files, style));
    return 0;
  }
  Json out = report::run_json(*run);
  out["files"] = Json::array();
  for (const store::File& file : *files) out["files"].push_back({{"path", file.path}, {"bytes", file.bytes}});
  print_json(out);
  return 0;
}

Result<int> compare_runs(const RunsOptions& options, const report::TextStyle& style) {
  const auto store = open_store(options);
  if (!store) return std::unexpected(store.error());
  const Result<std::vector<store::Run>> runs = named_runs(**store, options.runs);
  if (!runs) return std::unexpected(runs.error());
  if (runs->size() < 2)
    return std::unexpected(Error{"there is only one run to compare", {}, "Name two runs or more."});
  const std::vector<report::ComparedRow> rows = report::compare_runs(*runs, options.all);
  if (options.json) {
    print_json(report::comparison_json(*runs, rows));
    return 0;
  }
  const report::Table table = report::comparison_table(*runs, rows);
  fmt::print("{}", options.csv ? report::to_csv(table) : report::to_text(table, style));
  return 0;
}

Result<int> export_points(const RunsOptions& options, const report::TextStyle& /*style*/) {
  const auto store = open_store(options);
  if (!store) return std::unexpected(store.error());
  const Result<std::vector<store::Run>> runs = named_runs(**store, options.runs);
  if (!runs) return std::unexpected(runs.error());
  std::vector<std::pair<const store::Run*, std::string>> chosen;
  for (const store::Run& run : *runs) {
    const Result<std::vector<std::string>> metrics = chosen_metrics(run, options.metrics);
    if (!metrics) return std::unexpected(metrics.error());
    for (const std::string& metric : *metrics) chosen.emplace_back(&run, metric);
  }
  Result<PointFile> file = PointFile::open(options.output);
  if (!file) return std::unexpected(std::move(file).error());
  const bool json = options.json || options.format == "json";
  report::PointLines lines(json ? report::PointFormat::json : report::PointFormat::csv,
                           [&file](std::string_view text) { return file->write(text); });
  PLIMSOLL_TRY(lines.begin());
  for (const auto& [run, metric] : chosen) {
    const Result<std::vector<store::Point>> points = (*store)->history(run->id, metric);
    if (!points) return std::unexpected(points.error());
    PLIMSOLL_TRY(lines.add(*run, metric, *points));
  }
  PLIMSOLL_TRY(lines.end());
  PLIMSOLL_TRY(file->finish());
  if (!options.output.empty())
    fmt::print(stderr, "{} points written to {}\n", lines.written(), printable(options.output));
  return 0;
}

Result<int> delete_runs(const RunsOptions& options, const report::TextStyle& /*style*/) {
  return mark(options, true);
}

Result<int> restore_runs(const RunsOptions& options, const report::TextStyle& /*style*/) {
  return mark(options, false);
}

Result<int> purge_runs(const RunsOptions& options, const report::TextStyle& /*style*/) {
  const auto store = open_store(options);
  if (!store) return std::unexpected(store.error());
  const Result<std::vector<store::Run>> runs =
      (*store)->search({.limit = std::numeric_limits<std::size_t>::max(), .view = store::View::deleted});
  if (!runs) return std::unexpected(runs.error());
  if (!runs->empty() && !options.yes) {
    if (::isatty(STDIN_FILENO) == 0 || options.json)
      return std::unexpected(Error{fmt::format("{} deleted run{} would be removed for good", runs->size(),
                                               runs->size() == 1 ? "" : "s"),
                                   {},
                                   "Give --yes to do it; `plimsoll runs --deleted` lists them."});
    if (!person_agrees(runs->size())) {
      fmt::print("Nothing was removed.\n");
      return 1;
    }
  }
  const Result<std::size_t> purged = (*store)->purge();
  if (!purged) return std::unexpected(purged.error());
  if (options.json)
    print_json({{"purged", *purged}});
  else
    fmt::print("removed {} run{} for good\n", *purged, *purged == 1 ? "" : "s");
  return 0;
}

}  // namespace plimsoll
