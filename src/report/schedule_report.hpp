#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "plan/schedule/planner.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// Jobs on GPUs over time.
struct ScheduleReport {
  const plan::schedule::Plan* plan = nullptr;  ///< must outlive it
  std::string device = {};                     ///< "NVIDIA H200 SXM"
  std::vector<std::string> why = {};           ///< per job, one sentence; may be empty
  std::string aim = "makespan";                ///< or completion, energy, money: what ratios are of
  std::string currency = "USD";
};

/// The jobs, a chart with a lane for each place, what all comes to, and what other layouts would.
[[nodiscard]] std::string schedule_text(const ScheduleReport& report, const TextStyle& style);
/// In base units. What is unknown is null: the money where no place has a price, a service's speed.
[[nodiscard]] nlohmann::ordered_json schedule_json(const ScheduleReport& report);
/// A page that opens without a network: lanes, memory and activity over the same time, and the tables.
[[nodiscard]] std::string schedule_page(const ScheduleReport& report);

}  // namespace plimsoll::report
