#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/all_errors.hpp"
#include "base/units.hpp"
#include "hardware/mig.hpp"

/// Services with rates and limits of latency on the fewest GPUs, each cut into MIG instances. What an
/// instance carries was measured: rows of a profile, not a model.
namespace plimsoll::plan {

/// What a model does in an instance of so many compute parts: one batch at a time in each process.
struct ServedProfile {
  std::string model = {};
  int compute = 1;
  int batch = 1;
  int processes = 1;
  double rate = 0;  ///< requests a second, all processes together
  Seconds latency;  ///< of a batch
  friend bool operator==(const ServedProfile&, const ServedProfile&) = default;
};

struct Service {
  std::string name = {};
  std::string model = {};
  double rate = 0;  ///< requests a second that come
  Seconds limit;    ///< within which each is answered
  friend bool operator==(const Service&, const Service&) = default;
};

/// The part of a service's limit that a batch may take, less than it: a request waits for a batch to fill
/// while another runs, hence half, and a tenth is kept back (ParvaGPU's rule).
inline constexpr double kBatchShareOfLimit = 0.9 / 2;

/// Of one service, on one instance.
struct PlacedSegment {
  hardware::MigPlacement placement;
  std::size_t service = 0;
  int batch = 1;
  int processes = 1;
  double rate = 0;
  Seconds latency;
  friend bool operator==(const PlacedSegment&, const PlacedSegment&) = default;
};
using ServedGpu = std::vector<PlacedSegment>;  ///< by start

struct ServicePlan {
  std::vector<ServedGpu> gpus = {};
  /// Fewer parts carry no such rates, whatever is chosen: added up over the services.
  std::int64_t least_compute = 0, least_memory = 0;
  std::size_t bound = 0;   ///< GPUs: those parts, mixtures of both, and large instances, over what one holds
  bool exhausted = false;  ///< one GPU less was tried in every way
  [[nodiscard]] bool proven() const { return gpus.size() == bound || exhausted; }
};

inline constexpr std::size_t kMostServices = 1'000;
inline constexpr std::size_t kMostServiceGpus = 10'000;

/// The fewest GPUs that are found, and what cannot be undercut. Fails for every service that cannot be had:
/// a model without a profile, a limit that no batch holds.
[[nodiscard]] AllErrors<ServicePlan> plan_services(const hardware::MigTable& table,
                                                   std::span<const ServedProfile> profiles,
                                                   std::span<const Service> services,
                                                   double share_of_limit = kBatchShareOfLimit);

}  // namespace plimsoll::plan
