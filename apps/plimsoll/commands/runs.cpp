#include <cstdio>
#include <iostream>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "command.hpp"
#include "point_file.hpp"
#include "report/point_lines.hpp"
#include "report/run_comparison.hpp"
#include "report/run_table.hpp"
#include "store/store.hpp"

namespace plimsoll {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string store;
  std::vector<std::string> runs;  ///< as the person named them
  store::Search search{.limit = 50};
  std::vector<std::string> columns;
  std::vector<std::string> metrics;
  std::string format = "csv";
  std::string output;
  bool json = false, csv = false, all = false, yes = false;
};

constexpr std::string_view kVerbs[] = {"show", "compare", "export", "delete", "restore", "purge"};

/// Names and values may hold bytes that are no UTF-8; JSON may not.
void print_json(const Json& document) {
  fmt::print("{}\n", document.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result<std::unique_ptr<store::Store>> open_store(const Options& options) {
  return store::open(options.store, {.create = false});
}

/// The runs that were named, in that order; nothing is done before all of them are known.
Result<std::vector<store::Run>> named_runs(store::Store& store, const Options& options) {
  std::vector<store::Run> out;
  for (const std::string& id : options.runs) {
    Result<store::Run> run = store.find(id);
    if (!run) return std::unexpected(std::move(run).error());
    out.push_back(std::move(*run));
  }
  return out;
}

std::string shown(const store::Run& run) {
  return printable(run.id).substr(0, 8) + (run.name.empty() ? "" : " " + quote(run.name));
}

Result<int> list(const Options& options, const report::TextStyle& style) {
  std::vector<store::Field> columns;
  for (const std::string& name : options.columns) {
    Result<store::Order> field = store::parse_order(name);
    if (!field) return std::unexpected(std::move(field).error().within("--columns"));
    columns.push_back(std::move(field->field));
  }
  const auto store = open_store(options);
  if (!store) return std::unexpected(store.error());
  store::Search search = options.search;
  ++search.limit;  // one more than is shown, to know whether there is more
  Result<std::vector<store::Run>> runs = (*store)->search(search);
  if (!runs) return std::unexpected(std::move(runs).error());
  const bool more = runs->size() > options.search.limit;
  if (more) runs->pop_back();
  if (options.json) {
    Json out = {{"store", (*store)->location()}, {"more", more}, {"runs", Json::array()}};
    for (const store::Run& run : *runs) out["runs"].push_back(report::run_json(run));
    print_json(out);
  } else if (options.csv) {
    fmt::print("{}", report::to_csv(report::run_numbers(*runs)));
  } else if (runs->empty()) {
    fmt::print("No {}runs in {}{}.\n", search.deleted ? "deleted " : "", printable((*store)->location()),
               search.filter.empty() && !search.experiment ? "" : " that match");
  } else {
    fmt::print("{}", report::to_text(report::run_table(*runs, columns), style));
    if (more) fmt::print("\nThere are more: --limit N shows N of them.\n");
  }
  return 0;
}

Result<int> show(const Options& options, const report::TextStyle& style) {
  const auto store = open_store(options);
  if (!store) return std::unexpected(store.error());
  Result<store::Run> run = (*store)->find(options.runs.front());
  if (!run) {
    // `plimsoll runs delte` is read as a run's name.
    if (std::string hint = did_you_mean(options.runs.front(), kVerbs); !hint.empty()) run.error().hint = hint;
    return std::unexpected(std::move(run).error());
  }
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

Result<int> compare(const Options& options, const report::TextStyle& style) {
  const auto store = open_store(options);
  if (!store) return std::unexpected(store.error());
  const Result<std::vector<store::Run>> runs = named_runs(**store, options);
  if (!runs) return std::unexpected(runs.error());
  if (runs->size() < 2)
    return std::unexpected(Error{"one run alone is compared with nothing", {}, "Name two runs or more."});
  const std::vector<report::ComparedRow> rows = report::compare_runs(*runs, options.all);
  if (options.json) {
    print_json(report::comparison_json(*runs, rows));
    return 0;
  }
  const report::Table table = report::comparison_table(*runs, rows);
  fmt::print("{}", options.csv ? report::to_csv(table) : report::to_text(table, style));
  return 0;
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

Result<int> export_points(const Options& options) {
  const auto store = open_store(options);
  if (!store) return std::unexpected(store.error());
  const Result<std::vector<store::Run>> runs = named_runs(**store, options);
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

Result<int> mark(const Options& options, bool deleted) {
  const auto store = open_store(options);
  if (!store) return std::unexpected(store.error());
  const Result<std::vector<store::Run>> runs = named_runs(**store, options);
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

bool person_agrees(std::size_t runs) {
  fmt::print(stderr, "Remove {} deleted run{} with all points and files for good? [y/N] ", runs,
             runs == 1 ? "" : "s");
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

Result<int> purge(const Options& options) {
  const auto store = open_store(options);
  if (!store) return std::unexpected(store.error());
  const Result<std::vector<store::Run>> runs =
      (*store)->search({.limit = std::numeric_limits<std::size_t>::max(), .deleted = true});
  if (!runs) return std::unexpected(runs.error());
  if (!runs->empty() && !options.yes) {
    if (::isatty(STDIN_FILENO) == 0 || options.json)
      return std::unexpected(Error{fmt::format("{} deleted run{} would be removed for good", runs->size(),
                                               runs->size() == 1 ? "" : "s"),
                                   {},
                                   "Say --yes to do it; `plimsoll runs --deleted` lists them."});
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

using Shared = std::shared_ptr<Options>;

void add_common(CLI::App& command, Options& options) {
  command
      .add_option(
          "--store", options.store,
          "The file that the runs are in; else PLIMSOLL_STORE, else ~/.local/share/plimsoll/plimsoll.db")
      ->option_text("PATH");
  command.add_flag("--json", options.json, "One JSON document");
}

void add_runs_argument(CLI::App& command, Options& options, const char* meaning) {
  constexpr int kMostRuns = 1000;
  command.add_option("runs", options.runs, meaning)
      ->required()
      ->expected(1, kMostRuns)
      ->option_text("RUN...");
}

/// An option of the list that was given to a verb would be taken, and do nothing.
Status check_no_list_option(const CLI::App& runs, std::string_view verb) {
  for (const CLI::Option* option : runs.get_options())
    if (option->count() > 0 && !option->check_name("--store") && !option->check_name("--json"))
      return std::unexpected(Error{fmt::format("`runs {}` has no use for {}", verb, option->get_name()),
                                   {},
                                   fmt::format("`plimsoll runs {} --help` says what it takes.", verb)});
  return {};
}

/// `work` is what the verb does: (options, style).
template <class Work>
CLI::App* add_verb(CLI::App& runs, const Shared& options, Invocation& invocation, const char* name,
                   const char* description, Work work) {
  CLI::App* verb = runs.add_subcommand(name, description);
  add_common(*verb, *options);
  verb->callback([options, &runs, &invocation, name, work] {
    invocation.run = [options, &runs, &invocation, name, work]() -> Result<int> {
      PLIMSOLL_TRY(check_no_list_option(runs, name));
      return work(*options, output_style(invocation));
    };
  });
  return verb;
}

void add_list_options(CLI::App& command, Options& options) {
  command.add_option("--filter", options.search.filter, "Only those that match, in MLflow's language")
      ->option_text("EXPRESSION");
  command
      .add_option("--order-by", options.search.order_by,
                  "metrics.loss, \"params.lr DESC\"; may be given again")
      ->allow_extra_args(false)
      ->option_text("FIELD");
  command.add_option("--experiment", options.search.experiment, "Only those of one experiment")
      ->option_text("NAME");
  command.add_option("--limit", options.search.limit, "At most so many (50)")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}))
      ->option_text("N");
  command.add_option("--columns", options.columns, "Fields to show beside: metrics.loss,params.lr")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("FIELD,...");
  command.add_flag("--deleted", options.search.deleted, "The deleted ones instead");
  command.add_flag("--csv", options.csv, "As CSV, with every param, metric and tag")
      ->excludes(command.get_option("--json"));
}

void add_verbs(CLI::App& command, const Shared& options, Invocation& invocation) {
  const auto add = [&](const char* name, const char* description, auto work) {
    return add_verb(command, options, invocation, name, description, work);
  };
  CLI::App* shown = add("show", "All that is kept of a run", show);
  add_runs_argument(*shown, *options, "The run, by the first digits of its id");
  shown->get_option("runs")->expected(1)->option_text("RUN");
  shown->footer("Example:\n  plimsoll runs show 1f3a");

  CLI::App* compared =
      add("compare", "Two runs or more side by side: what differs, and what came of it", compare);
  add_runs_argument(*compared, *options, "The runs; numbers of the others are set against the first");
  compared->add_flag("--all", options->all, "Also what agrees, tags, and what was sampled of the hardware");
  compared->add_flag("--csv", options->csv, "As CSV")->excludes(compared->get_option("--json"));
  compared->footer("Example:\n  plimsoll runs compare 1f3a 9c02");

  CLI::App* exported = add("export", "The points of metrics, one line each",
                           [](const Options& o, const report::TextStyle&) { return export_points(o); });
  add_runs_argument(*exported, *options, "The runs");
  exported->add_option("--format", options->format, "csv (as it is) or json")
      ->check(CLI::IsMember({"csv", "json"}))
      ->option_text("FORMAT");
  exported->add_option("--metric", options->metrics, "Only this one; may be given again")
      ->allow_extra_args(false)
      ->option_text("NAME");
  exported->add_option("--output", options->output, "A file instead of standard output")->option_text("FILE");
  exported->footer(
      "Examples:\n  plimsoll runs export 1f3a --output points.csv\n"
      "  plimsoll runs export 1f3a 9c02 --metric loss --format json");

  CLI::App* removed = add("delete", "Put runs aside; `restore` brings them back",
                          [](const Options& o, const report::TextStyle&) { return mark(o, true); });
  add_runs_argument(*removed, *options, "The runs");
  removed->footer("Example:\n  plimsoll runs delete 1f3a 9c02");
  CLI::App* restored = add("restore", "Bring deleted runs back",
                           [](const Options& o, const report::TextStyle&) { return mark(o, false); });
  add_runs_argument(*restored, *options, "The runs");
  restored->footer("Example:\n  plimsoll runs restore 1f3a");
  CLI::App* purged = add("purge", "Remove the deleted runs for good, with their points and files",
                         [](const Options& o, const report::TextStyle&) { return purge(o); });
  purged->add_flag("--yes", options->yes, "Do not ask");
  purged->footer("Example:\n  plimsoll runs purge --yes");
}

}  // namespace

void add_runs(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("runs", "The runs that were kept: list, search, compare, export, delete");
  add_common(*command, *options);
  add_list_options(*command, *options);
  command->add_option("run", options->runs, "Show this one, by the first digits of its id")
      ->expected(0, 1)
      ->option_text("[RUN]");
  command->require_subcommand(0, 1);
  add_verbs(*command, options, invocation);
  command->footer(
      "Examples:\n"
      "  plimsoll runs\n"
      "  plimsoll runs --filter \"metrics.loss < 0.1 and tags.model LIKE 'res%'\" --order-by metrics.loss\n"
      "  plimsoll runs --experiment vision --columns metrics.accuracy,params.lr\n"
      "  plimsoll runs show 1f3a\n"
      "  plimsoll runs compare 1f3a 9c02\n"
      "Each of its commands explains itself: plimsoll runs COMMAND --help");
  command->callback([options, command, &invocation] {
    if (!command->get_subcommands().empty()) return;
    invocation.run = [options, &invocation] {
      return options->runs.empty() ? list(*options, output_style(invocation))
                                   : show(*options, output_style(invocation));
    };
  });
}

}  // namespace plimsoll
