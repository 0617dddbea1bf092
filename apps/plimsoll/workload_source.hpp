#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "estimate_target.hpp"
#include "network/setting.hpp"
#include "share/workload.hpp"

namespace plimsoll {

/// A workload as a person gives it.
struct WorkloadRequest {
  std::string name;
  std::string model;
  network::Setting setting = {};
  std::optional<share::Alone> alone = {};  ///< what was measured of it
  std::string alone_run = {};              ///< or the recorded run that tells it
  double arrivals = 0;                     ///< requests per second; 0: it goes on as fast as it can
};

inline constexpr std::size_t kMostWorkloads = 64;

/// "resnet50,mode=train,batch=32,precision=amp-bf16": MODEL, then what it is run with.
[[nodiscard]] Result<WorkloadRequest> read_workload(std::string_view text);
/// A list of such in JSON, or [[workload]] tables where `name`, which says where it comes from, ends in
/// .toml.
[[nodiscard]] Result<std::vector<WorkloadRequest>> read_workloads(std::string_view json,
                                                                  const std::string& name);

/// On a device, ready to be put beside others.
[[nodiscard]] Result<share::Workload> place_workload(const WorkloadRequest& request,
                                                     const EstimateTarget& on);
/// Several, on all cores; fails as the first that does.
[[nodiscard]] Result<std::vector<share::Workload>> place_workloads(
    const std::vector<WorkloadRequest>& requests, const EstimateTarget& on);

}  // namespace plimsoll
