#pragma once
#include <span>
#include <string>
#include <vector>

#include "plan/mig/services.hpp"
#include "share/beside.hpp"

namespace plimsoll::plan {

/// A model whose process answers so many requests a step.
struct BatchedModel {
  std::string model = {};
  int batch = 1;
  share::Workload workload = {};
};

/// What was not measured, as `beside` tells it of kernels in instances.
struct PredictedProfiles {
  std::vector<ServedProfile> rows = {};
  double low = 1, high = 1;  ///< of a rate over what is told, 95 %, of the least sure row
};

/// Rows of each model in each size of instance: alone and, as clients of MPS inside it, with others of its
/// kind as long as that carries more, has room by the memory's upper bound, and some service's limit is held.
[[nodiscard]] PredictedProfiles predicted_profiles(const hardware::MigTable& table,
                                                   const hardware::Device& device,
                                                   std::span<const BatchedModel> models,
                                                   std::span<const Service> services, double share_of_limit,
                                                   int most_processes, const share::SharingFigures& figures);

}  // namespace plimsoll::plan
