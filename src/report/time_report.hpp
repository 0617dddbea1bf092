#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "estimate/time/time.hpp"
#include "network/network.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// Time and energy of one pass or training step, ready to be shown. A view.
struct TimeReport {
  const network::Network* network = nullptr;
  const estimate::TimeEstimate* estimate = nullptr;
  std::int64_t batch = 1;
  bool training = false;
};

/// The operator, or "optimizer" and the like; safe to print.
[[nodiscard]] std::string layer_name(const TimeReport& report, const estimate::LayerTime& layer);

/// A few lines: time with its interval, rate, energy, what it is bound by.
[[nodiscard]] std::string time_text(const TimeReport& report, const TextStyle& style);
/// Per layer: forward, backward, PALEO's terms, what it is bound by.
[[nodiscard]] std::string layer_times_text(const TimeReport& report, const TextStyle& style);

/// The objects `time` and `energy` of the machine-readable answer, and one per layer; unknown is null.
[[nodiscard]] nlohmann::ordered_json time_json(const TimeReport& report);
[[nodiscard]] nlohmann::ordered_json energy_json(const TimeReport& report);
[[nodiscard]] nlohmann::ordered_json layer_times_json(const TimeReport& report);

}  // namespace plimsoll::report
