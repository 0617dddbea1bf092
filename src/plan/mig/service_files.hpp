#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/all_errors.hpp"
#include "plan/mig/services.hpp"

/// Services and what was measured of them, as CSV.
namespace plimsoll::plan {

/// Rows that were measured on one kind of GPU.
struct GpuProfiles {
  std::string gpu = {};  ///< as the file names it; empty where it names none
  std::vector<ServedProfile> rows = {};
};

/// Services that are to be there at one time.
struct Scenario {
  std::string name = {};  ///< empty where the file names none
  std::vector<Service> services = {};
};

inline constexpr std::size_t kLargestServiceFile = std::size_t{16} << 20;
inline constexpr std::size_t kMostServiceRows = 200'000;

/// Columns model, mig_compute_slices, batch, processes, throughput_total_req_s, latency_s, and gpu where
/// there are several; others are passed over. By GPU, in the order in which they come.
[[nodiscard]] AllErrors<std::vector<GpuProfiles>> parse_served_profiles(std::string_view text);

/// Columns model, request_rate_req_s, latency_slo_ms; service, where one model serves twice, and scenario.
[[nodiscard]] AllErrors<std::vector<Scenario>> parse_services(std::string_view text);

}  // namespace plimsoll::plan
