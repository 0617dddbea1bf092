#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/all_errors.hpp"
#include "estimate_target.hpp"
#include "network/setting.hpp"
#include "plan/mig/predicted_profiles.hpp"
#include "plan/mig/service_files.hpp"

namespace plimsoll {

/// How models of services are run where nothing was measured of them.
struct ServedModels {
  network::Precision precision = network::Precision::fp32;
  std::vector<std::int64_t> batches = {1, 2, 4, 8, 16, 32, 64};
  std::int64_t processes = 3;  ///< at most in one instance
  double share_of_limit = plan::kBatchShareOfLimit;
};

inline constexpr std::int64_t kMostServedBatch = 4096, kMostServedProcesses = 16;

/// What the models of all services do in each instance of a device, by their kernels. Every model that
/// cannot be had is told.
[[nodiscard]] AllErrors<plan::PredictedProfiles> predict_served(const std::vector<plan::Service>& services,
                                                                const EstimateTarget& on,
                                                                const hardware::MigTable& table,
                                                                const share::SharingFigures& figures,
                                                                const ServedModels& how);

}  // namespace plimsoll
