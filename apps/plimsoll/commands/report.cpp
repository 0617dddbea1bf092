#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "command.hpp"
#include "diagnose/recording_reader.hpp"
#include "json_output.hpp"
#include "named_runs.hpp"
#include "report/run_page.hpp"
#include "report/run_report.hpp"
#include "report/run_title.hpp"
#include "store/store.hpp"

namespace plimsoll {
namespace {

struct ReportOptions {
  std::vector<std::string> runs;
  std::string workload;
  std::string html;
  std::string store;
  std::optional<double> from;
  std::optional<double> to;
  bool json = false;
};

/// More cannot be told apart by colour, nor compared by eye.
constexpr std::size_t kMostCompared = 16;
constexpr std::size_t kSamplesInAll = 4'000'000;  ///< of all runs together, about 60 bytes each

/// In a filter a quote within a text is written twice.
std::string filter_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += c;
  }
  return out + "'";
}

Result<std::vector<store::Run>> runs_of_workload(store::Store& store, const std::string& workload) {
  store::Search search;
  search.filter = fmt::format("tags.`plimsoll.workload` = {}", filter_text(workload));
  search.limit = kMostCompared + 1;
  Result<std::vector<store::Run>> found = store.search(search);
  if (found && found->empty())
    return std::unexpected(Error{fmt::format("there is no run of the workload {}", quote(workload)),
                                 store.location(), "`plimsoll runs` lists the runs."});
  // The newest come first; people number them as they were started.
  if (found) std::ranges::reverse(*found);
  return found;
}

Result<std::vector<store::Run>> chosen_runs(store::Store& store, const ReportOptions& options) {
  std::vector<store::Run> out;
  if (!options.workload.empty()) {
    Result<std::vector<store::Run>> found = runs_of_workload(store, options.workload);
    if (!found) return std::unexpected(std::move(found).error());
    out = std::move(*found);
  }
  for (const std::string& id : options.runs) {
    Result<store::Run> run = named_run(store, id);
    if (!run) return std::unexpected(std::move(run).error());
    const auto same = [&](const store::Run& other) { return other.id == run->id; };
    if (std::ranges::none_of(out, same)) out.push_back(std::move(*run));
  }
  if (out.size() > kMostCompared)
    return std::unexpected(
        Error{fmt::format("these are more than {} runs: too many to compare on one page", kMostCompared),
              {},
              "Name those that matter by the beginning of their ids."});
  return out;
}

Status check_moments(const ReportOptions& options) {
  for (const auto& [name, moment] : {std::pair("--from", options.from), {"--to", options.to}})
    if (moment && !(*moment >= 0 && *moment < 1e12))
      return std::unexpected(Error{fmt::format("{} {:g} is not a moment of a run", name, *moment),
                                   {},
                                   "It is counted in seconds from the run's start."});
  return {};
}

Status check_span(const ReportOptions& options, const diagnose::Recording& recording) {
  const double from = options.from.value_or(0), to = options.to.value_or(recording.seconds);
  if (from < to || (!options.from && !options.to)) return {};
  return std::unexpected(Error{
      fmt::format("there is nothing between {:g} s and {:g} s", from, to), report::run_title(recording.run),
      fmt::format("The run took {:g} s; --from and --to count from its start.", recording.seconds)});
}

/// Those that ran beside a run; what is gone from the store is left out.
std::vector<diagnose::Recording> companions(store::Store& store, const store::Run& run) {
  constexpr diagnose::ReadLimits kLittle{.samples = 20'000, .own_metrics = 20};
  std::vector<diagnose::Recording> out;
  for (const std::string& id : diagnose::companions_of(run))
    if (auto other = named_run(store, id))
      if (auto recording = diagnose::read_recording(store, *std::move(other), kLittle))
        out.push_back(*std::move(recording));
  return out;
}

Result<int> run(const ReportOptions& options, const report::TextStyle& style) {
  if (options.runs.empty() && options.workload.empty())
    return std::unexpected(
        Error{"no run is named; give the first digits of its id, `last`, or --workload NAME",
              {},
              "`plimsoll runs` lists the runs."});
  PLIMSOLL_TRY(check_moments(options));
  Result<std::unique_ptr<store::Store>> store = store::open(options.store, {.create = false});
  if (!store) return std::unexpected(std::move(store).error());
  Result<std::vector<store::Run>> chosen = chosen_runs(**store, options);
  if (!chosen) return std::unexpected(std::move(chosen).error());
  diagnose::ReadLimits limits;
  limits.samples = std::min(limits.samples, kSamplesInAll / chosen->size());
  std::vector<report::RunReport> reports;
  for (store::Run& one : *chosen) {
    Result<diagnose::Recording> recording = diagnose::read_recording(**store, std::move(one), limits);
    if (!recording) return std::unexpected(std::move(recording).error());
    PLIMSOLL_TRY(check_span(options, *recording));
    const std::vector<diagnose::Recording> others = companions(**store, recording->run);
    reports.push_back(
        report::report_of(std::move(*recording), {.from = options.from, .to = options.to}, others));
  }
  if (!options.html.empty()) {
    PLIMSOLL_TRY(write_file(options.html, report::run_page(reports)));
    fmt::print(stderr, "the page is in {}\n", printable(options.html));
  }
  if (options.json)
    print_json(report::to_json(reports));
  else if (options.html.empty())
    fmt::print("{}", report::run_report_text(reports, style));
  return 0;
}

}  // namespace

void add_report(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<ReportOptions>();
  CommandLine* command = app.add_subcommand(
      "report",
      "What a run really did: its bottleneck, what was wasted, what to try; as text or as one page");
  command
      ->add_option("runs", options->runs,
                   "Runs, each by the first digits of its id, or `last`; several are compared")
      ->option_text("RUN…");
  command->add_option("--workload", options->workload, "All runs of this workload")->option_text("NAME");
  command->add_option("--html", options->html, "Write one page that opens without a network, with charts")
      ->option_text("FILE");
  command
      ->add_option("--from", options->from,
                   "Leave out what came before this many seconds from the run's start")
      ->option_text("S");
  command->add_option("--to", options->to, "Leave out what came after this many seconds from the run's start")
      ->option_text("S");
  command
      ->add_option(
          "--store", options->store,
          "The store that the runs are in (default: PLIMSOLL_STORE, else plimsoll.db in your data folder)")
      ->option_text("PATH");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll report last                                the newest run: verdict, averages, epochs\n"
      "  plimsoll report 3f2a91c0 --from 60 --to 120         of the second minute\n"
      "  plimsoll report 3f2a 81bc --html compare.html       two runs on one page, with charts\n"
      "  plimsoll report --workload sweep --html sweep.html  all runs of a workload");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation] { return run(*options, output_style(invocation)); };
  });
}

}  // namespace plimsoll
