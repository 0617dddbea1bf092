#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "diagnose/averages.hpp"
#include "diagnose/improvements.hpp"
#include "diagnose/laps.hpp"
#include "diagnose/recording.hpp"
#include "diagnose/run_figures.hpp"
#include "diagnose/together.hpp"
#include "diagnose/verdict.hpp"
#include "learn/run_target.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// Everything that is said of one run, in whatever form.
struct RunReport {
  diagnose::Recording recording;
  /// Of the run that it is about. Of a whole run also what its command told after its end, as some do who log
  /// by themselves; what was sampled is judged over figures.span, which ends with the run.
  diagnose::Span span;
  diagnose::RunFigures figures;
  diagnose::Verdict verdict;
  std::vector<diagnose::AverageRow> averages;
  diagnose::Laps epochs;
  diagnose::Laps steps;
  std::optional<diagnose::Together> together = {};  ///< where it was predicted beside others
  std::optional<learn::RunTarget> target = {};      ///< where its tag says what it is for
  std::vector<diagnose::Improvement> improvements = {};
};

struct ReportOptions {
  std::optional<double> from = {};  ///< seconds since the run's start
  std::optional<double> to = {};
  std::size_t most_rows = 200;  ///< of steps and epochs
};

/// `others`: those that ran beside it.
[[nodiscard]] RunReport report_of(diagnose::Recording recording, const ReportOptions& options,
                                  std::span<const diagnose::Recording> others = {});

/// What is known about the run itself, as label and text: command, workload, GPU, host… Printable.
struct Fact {
  std::string label;
  std::string text;
};
[[nodiscard]] std::vector<Fact> facts_of(const RunReport& report);

/// "finished after 2.00 min"
[[nodiscard]] std::string outcome_text(const diagnose::Recording& recording);

/// The runs side by side, one row each.
[[nodiscard]] Table comparison_table(std::span<const RunReport> reports);

/// The rows of a table of steps or epochs for people, without columns of which nothing is known.
[[nodiscard]] Table lap_table(const diagnose::Laps& laps, std::string_view what);
/// What has to be said about them: joined rows, marks, whose figures. Sentences; may be empty.
[[nodiscard]] std::string lap_notes(const diagnose::Laps& laps, std::string_view what);

[[nodiscard]] std::string run_report_text(std::span<const RunReport> reports, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json to_json(std::span<const RunReport> reports);

}  // namespace plimsoll::report
