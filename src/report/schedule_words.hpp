#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/schedule_report.hpp"

/// Tables and sentences that text and page of a plan of jobs share. Private to report.
namespace plimsoll::report {

/// By number from 1, which the charts have too.
[[nodiscard]] Table schedule_jobs_table(const ScheduleReport& report);
[[nodiscard]] Table schedule_alternatives_table(const ScheduleReport& report);
/// A label and what it stands for.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> schedule_totals(const ScheduleReport& report);
[[nodiscard]] std::string schedule_title(const ScheduleReport& report);
/// The job of that number, printable; a number where it has no name.
[[nodiscard]] std::string scheduled_name(const plan::schedule::Plan& plan, std::size_t job);
/// The first so many names, and how many more; "nobody" where there are none.
[[nodiscard]] std::string beside_words(const plan::schedule::Plan& plan,
                                       const std::vector<std::size_t>& besides, std::size_t most);
/// Nothing where no place has a price.
[[nodiscard]] std::optional<double> money_of(const plan::schedule::Plan& plan,
                                             const plan::schedule::Outcome& outcome);
/// What another way comes to against the plan, of what the plan is for.
[[nodiscard]] std::optional<double> ratio_of(const ScheduleReport& report,
                                             const plan::schedule::Outcome& outcome);

}  // namespace plimsoll::report
