#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/recording.hpp"
#include "report/run_figures.hpp"
#include "report/steps.hpp"
#include "report/table.hpp"
#include "report/verdict.hpp"

namespace plimsoll::report {

/// One series over the span of a report.
struct AverageRow {
  std::string metric;
  std::string label;  ///< "SM activity", with the GPU's number where the run has several
  Shown shown = Shown::plain;
  std::string unit = {};
  std::string source = {};
  Average over;
  std::optional<double> total = {};  ///< of a counter: how much it grew
};

/// Everything that is said of one run, in whatever form.
struct RunReport {
  Recording recording;
  /// Of the run that it is about. Of a whole run also what its command told after its end, as some do who log
  /// by themselves; what was sampled is judged over figures.span, which ends with the run.
  Span span;
  RunFigures figures;
  Verdict verdict;
  std::vector<AverageRow> averages;
  Steps epochs;
  Steps steps;
};

struct ReportOptions {
  std::optional<double> from = {};  ///< seconds since the run's start
  std::optional<double> to = {};
  std::size_t most_rows = 200;  ///< of steps and epochs
};

[[nodiscard]] RunReport report_of(Recording recording, const ReportOptions& options);

/// What is known about the run itself, as label and text: command, workload, GPU, host… Printable.
struct Fact {
  std::string label;
  std::string text;
};
[[nodiscard]] std::vector<Fact> facts_of(const RunReport& report);

/// "finished after 2.00 min"
[[nodiscard]] std::string outcome_text(const Recording& recording);

/// The runs side by side, one row each.
[[nodiscard]] Table comparison_table(std::span<const RunReport> reports);

/// The rows of a table of steps or epochs for people, without columns of which nothing is known.
[[nodiscard]] Table step_table(const Steps& steps, std::string_view what);
/// What has to be said about them: joined rows, marks, whose figures. Sentences; may be empty.
[[nodiscard]] std::string step_notes(const Steps& steps, std::string_view what);

[[nodiscard]] std::string run_report_text(std::span<const RunReport> reports, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json to_json(std::span<const RunReport> reports);

}  // namespace plimsoll::report
