#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/tta_report.hpp"

/// Tables and sentences that text and page of times to a target share. Private to report.
namespace plimsoll::report {

[[nodiscard]] std::string tta_title(const TtaReport& report);
/// "1.23 min", "4.5 epochs", "-"
[[nodiscard]] std::string clock_text(const std::optional<double>& value, learn::Clock clock);
/// "1.2 min (1.1 min to 1.4 min)"
[[nodiscard]] std::string clock_interval_text(const std::optional<learn::Interval>& interval,
                                              learn::Clock clock);
[[nodiscard]] Table tta_setup_table(const TtaReport& report);
[[nodiscard]] Table tta_run_table(const TtaReport& report);
[[nodiscard]] Table tta_threshold_table(const TtaReport& report);
[[nodiscard]] Table tta_interval_table(const TtaReport& report);
[[nodiscard]] std::string tta_generalisation_title(const TtaReport& report);
[[nodiscard]] Table tta_generalisation_table(const TtaReport& report);
[[nodiscard]] Table tta_expected_table(const TtaReport& report);
[[nodiscard]] std::vector<std::string> tta_sentences(const TtaReport& report);
/// Which of two set-ups is faster, or why nobody can say.
[[nodiscard]] std::vector<std::string> tta_comparisons(const TtaReport& report);

}  // namespace plimsoll::report
