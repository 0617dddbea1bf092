#include <memory>

#include <fmt/format.h>

#include "command.hpp"
#include "run_verbs.hpp"

namespace plimsoll {
namespace {

using SharedRuns = std::shared_ptr<RunsOptions>;

void add_common(CommandLine& command, RunsOptions& options) {
  command
      .add_option(
          "--store", options.store,
          "The store that the runs are in (default: PLIMSOLL_STORE, else plimsoll.db in your data folder)")
      ->option_text("PATH");
  command.add_flag("--json", options.json, "Print one JSON document");
}

void add_runs_argument(CommandLine& command, RunsOptions& options, const char* meaning) {
  constexpr int kMostRuns = 1000;
  command.add_option("runs", options.runs, meaning)->required()->expected(1, kMostRuns)->option_text("RUN…");
}

/// An option of the list that was given to a verb would be taken, and do nothing.
Status check_no_list_option(const CommandLine& runs, std::string_view verb) {
  for (const CommandLineOption* option : runs.options())
    if (option->given() && option->name() != "--store" && option->name() != "--json")
      return std::unexpected(Error{fmt::format("`runs {}` does not take {}", verb, option->name()),
                                   {},
                                   fmt::format("`plimsoll runs {} --help` says what it takes.", verb)});
  return {};
}

using Work = Result<int> (*)(const RunsOptions& options, const report::TextStyle& style);

CommandLine* add_verb(CommandLine& runs, const SharedRuns& options, Invocation& invocation, const char* name,
                      const char* description, Work work) {
  CommandLine* verb = runs.add_subcommand(name, description);
  add_common(*verb, *options);
  verb->callback([options, &runs, &invocation, name, work] {
    invocation.run = [options, &runs, &invocation, name, work]() -> Result<int> {
      PLIMSOLL_TRY(check_no_list_option(runs, name));
      return work(*options, output_style(invocation));
    };
  });
  return verb;
}

void add_list_options(CommandLine& command, RunsOptions& options) {
  command
      .add_option("--filter", options.search.filter, "List only runs that match this, in MLflow's language")
      ->option_text("EXPRESSION");
  command
      .add_option("--order-by", options.search.order_by,
                  "Order by this: metrics.loss, \"params.lr DESC\"; may be given again")
      ->allow_extra_args(false)
      ->option_text("FIELD");
  command.add_option("--experiment", options.search.experiment, "List only runs of this experiment")
      ->option_text("NAME");
  command.add_option("--limit", options.search.limit, "List at most this many (default: 50)")
      ->in_range(std::size_t{1}, std::size_t{1'000'000})
      ->option_text("N");
  command.add_option("--columns", options.columns, "Show these fields, too: metrics.loss,params.lr")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("FIELD,…");
  command.add_flag("--deleted", options.deleted, "List the deleted runs instead");
  command.add_flag("--csv", options.csv, "Print CSV with every param, metric and tag")
      ->excludes(command.get_option("--json"));
}

void add_verbs(CommandLine& command, const SharedRuns& options, Invocation& invocation) {
  const auto add = [&](const char* name, const char* description, Work work) {
    return add_verb(command, options, invocation, name, description, work);
  };
  CommandLine* shown = add("show", "Show all that is kept of a run", show_run);
  add_runs_argument(*shown, *options, "The run, by the first digits of its id, or `last`");
  shown->get_option("runs")->expected(1)->option_text("RUN");
  shown->footer("Examples:\n  plimsoll runs show 1f3a\n  plimsoll runs show last");

  CommandLine* compared =
      add("compare", "Show two runs or more side by side: what differs, and what came of it", compare_runs);
  add_runs_argument(*compared, *options, "The runs; the others are compared with the first");
  compared->add_flag("--all", options->all,
                     "Show also what agrees, tags, and what was sampled of the hardware");
  compared->add_flag("--csv", options->csv, "Print CSV")->excludes(compared->get_option("--json"));
  compared->footer("Example:\n  plimsoll runs compare 1f3a 9c02");

  CommandLine* exported = add("export", "Print the points of metrics, one line each", export_points);
  add_runs_argument(*exported, *options, "The runs");
  exported->add_option("--format", options->format, "csv (default) or json")
      ->one_of({"csv", "json"})
      ->option_text("FORMAT");
  exported->add_option("--metric", options->metrics, "Print only this metric; may be given again")
      ->allow_extra_args(false)
      ->option_text("NAME");
  exported->add_option("--output", options->output, "Write to this file instead of standard output")
      ->option_text("FILE");
  exported->footer(
      "Examples:\n  plimsoll runs export 1f3a --output points.csv\n"
      "  plimsoll runs export 1f3a 9c02 --metric loss --format json");

  CommandLine* removed = add("delete", "Put runs aside; `restore` brings them back", delete_runs);
  add_runs_argument(*removed, *options, "The runs");
  removed->footer("Example:\n  plimsoll runs delete 1f3a 9c02");
  CommandLine* restored = add("restore", "Bring deleted runs back", restore_runs);
  add_runs_argument(*restored, *options, "The runs");
  restored->footer("Example:\n  plimsoll runs restore 1f3a");
  CommandLine* purged =
      add("purge", "Remove the deleted runs for good, with their points and files", purge_runs);
  purged->add_flag("--yes", options->yes, "Do not ask before removing them");
  purged->footer("Example:\n  plimsoll runs purge --yes");
}

}  // namespace

void add_runs(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<RunsOptions>();
  CommandLine* command =
      app.add_subcommand("runs", "List, search, compare, export and delete the runs that were recorded");
  add_common(*command, *options);
  add_list_options(*command, *options);
  command->add_option("run", options->runs, "Show this one, by the first digits of its id, or `last`")
      ->expected(0, 1)
      ->option_text("[RUN]");
  command->require_subcommand(0, 1);
  add_verbs(*command, options, invocation);
  command->footer(
      "Examples:\n"
      "  plimsoll runs\n"
      "  plimsoll runs --filter \"metrics.loss < 0.1 and tags.model LIKE 'res%'\" --order-by metrics.loss\n"
      "  plimsoll runs --experiment vision --columns metrics.accuracy,params.lr\n"
      "  plimsoll runs show last\n"
      "  plimsoll runs compare 1f3a 9c02\n"
      "`plimsoll runs COMMAND --help` explains each of its commands.");
  command->callback([options, command, &invocation] {
    if (command->has_subcommand()) return;
    invocation.run = [options, &invocation] {
      return options->runs.empty() ? list_runs(*options, output_style(invocation))
                                   : show_run(*options, output_style(invocation));
    };
  });
}

}  // namespace plimsoll
