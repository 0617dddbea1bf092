#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "hardware/mig.hpp"
#include "plan/mig/service_files.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

struct PlannedScenario {
  plan::Scenario scenario;
  plan::ServicePlan plan;
};

struct ServicesReport {
  const hardware::Device& device;
  const hardware::MigTable& table;
  double share_of_limit = plan::kBatchShareOfLimit;
  std::vector<PlannedScenario> scenarios = {};
};

/// One scenario with all its instances, several as a table.
[[nodiscard]] std::string services_text(const ServicesReport& report, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json services_json(const ServicesReport& report);

}  // namespace plimsoll::report
