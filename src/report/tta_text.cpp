#include <fmt/format.h>

#include "report/paragraph.hpp"
#include "report/tta_report.hpp"
#include "report/tta_words.hpp"

namespace plimsoll::report {
namespace {

constexpr std::size_t kMostRunRows = 40;  ///< of all set-ups together; JSON and page have all

std::string text_section(std::string_view title, const Table& table, const TextStyle& style) {
  if (table.rows.empty()) return "";
  return fmt::format("\n{}\n{}", bold(title, style), to_text(table, style));
}

}  // namespace

std::string tta_text(const TtaReport& report, const TextStyle& style) {
  const Table expected = tta_expected_table(report);
  if (report.study.setups.empty()) return to_text(expected, style);
  std::string out =
      fmt::format("{}\n\n", bold(tta_title(report), style)) + to_text(tta_setup_table(report), style) + "\n";
  for (const std::string& line : tta_comparisons(report)) out += paragraph(line, style);
  for (const std::string& line : tta_sentences(report)) out += paragraph(line, style);
  out += text_section("Expected where its step is estimated", expected, style);
  out += text_section(tta_generalisation_title(report), tta_generalisation_table(report), style);
  if (const Table runs = tta_run_table(report); runs.rows.size() <= kMostRunRows)
    out += text_section("Runs", runs, style);
  out += text_section("How it moves with the threshold", tta_threshold_table(report), style);
  out += text_section("How it moves with how often it was evaluated", tta_interval_table(report), style);
  return out;
}

}  // namespace plimsoll::report
