#pragma once
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "hardware/mig.hpp"
#include "plan/mig/service_files.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// What one service more would need.
struct OneMoreService {
  plan::Service service;
  plan::ServicePlan plan;  ///< of all with it, as its last
};

struct PlannedScenario {
  plan::Scenario scenario;
  plan::ServicePlan plan;
  std::optional<OneMoreService> one_more = {};
};

/// Of rates that were not measured, over what is told: 95 %, of the least sure.
struct PredictedRates {
  double low = 1, high = 1;
};

struct ServicesReport {
  const hardware::Device& device;
  const hardware::MigTable& table;
  double share_of_limit = plan::kBatchShareOfLimit;
  std::optional<PredictedRates> predicted = {};
  std::vector<PlannedScenario> scenarios = {};
};

/// One scenario with all its instances, several as a table.
[[nodiscard]] std::string services_text(const ServicesReport& report, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json services_json(const ServicesReport& report);

}  // namespace plimsoll::report
