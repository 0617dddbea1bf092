#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "estimate/memory/allocations.hpp"
#include "estimate/memory/allocator.hpp"
#include "estimate/memory/sharding.hpp"
#include "estimate/target.hpp"
#include "hardware/device.hpp"
#include "network/inference.hpp"
#include "network/setting.hpp"

namespace plimsoll::estimate {

struct PurposeShare {
  Purpose purpose = Purpose::weight;
  Bytes bytes;
};

/// A tensor that is in memory at the peak.
struct Resident {
  std::string tensor;
  Purpose purpose = Purpose::activation;
  Bytes bytes;
};

struct MemoryEstimate {
  Bytes weights;     ///< of the whole network
  ModelState state;  ///< what each device keeps
  Bytes peak_allocated;
  Bytes low, high;  ///< 95 % of runs allocate between these at their peak
  Bytes peak_reserved;
  Bytes minimum_reserved;  ///< the smallest capacity of the allocator with which the run succeeds
  /// With the context and the libraries' own memory; absent for a device that no figure is known for.
  std::optional<Bytes> context;
  bool context_assumed = false;  ///< taken from another GPU
  [[nodiscard]] Bytes device_used() const { return peak_reserved + context.value_or(Bytes()); }
  [[nodiscard]] Bytes minimum_device() const { return minimum_reserved + context.value_or(Bytes()); }

  std::optional<Bytes> capacity;  ///< what programs can have of the device
  std::optional<bool> fits;       ///< minimum_device against it

  Phase peak_phase = Phase::load;
  std::string peak_operator;
  std::vector<PurposeShare> by_purpose;  ///< at the peak, largest first
  std::vector<Resident> at_peak;         ///< largest first
  std::vector<std::string> unruled;  ///< kinds of operators without a memory rule; they widen the interval
  std::vector<std::string> notes;
};

/// What the run of a program, lowered for the target, needs on its device. Pure. A device other than a GPU
/// has no caching allocator, no context and no library workspaces: there reserved is allocated.
[[nodiscard]] Result<MemoryEstimate> estimate_memory(const network::Network& network, const Program& program,
                                                     const network::Setting& setting,
                                                     const hardware::Device& device);

/// The same without the search for the smallest capacity: what it takes with room to spare stands for it.
[[nodiscard]] Result<MemoryEstimate> estimate_peak(const network::Network& network, const Program& program,
                                                   const network::Setting& setting,
                                                   const hardware::Device& device);

/// What a device has beside the allocator's memory, and what of it the allocations depends on.
struct MemoryRoom {
  bool caching = true;             ///< a GPU's allocator
  std::int64_t library_bytes = 0;  ///< cuBLAS's workspace per thread
  std::optional<Bytes> context, capacity;
};
[[nodiscard]] MemoryRoom memory_room(const network::Network& network, const hardware::Device& device);

/// Whether allocations that need `natural` where memory is plenty succeed in that room. As estimate_memory()
/// says it, without the search for the smallest capacity.
[[nodiscard]] std::optional<bool> fits(const Allocations& allocations, const Replay& natural,
                                       const MemoryRoom& room, const network::AllocatorOptions& allocator);

/// Memory over one iteration, for a chart: what is allocated after each event of the last one.
struct TimelinePoint {
  std::size_t event = 0;
  Phase phase = Phase::forward;
  std::array<std::int64_t, program::kPurposes> bytes{};  ///< by Purpose
};
struct Timeline {
  struct Span {  ///< one tensor from its allocation to its end, in events from the iteration's begin
    std::string tensor, op;
    Purpose purpose = Purpose::activation;
    std::int64_t bytes = 0;
    std::size_t begin = 0, end = 0;
  };
  std::vector<TimelinePoint> points;
  std::vector<Span> spans;
  std::size_t events = 0;
};
[[nodiscard]] Timeline memory_timeline(const network::Network& network, const Program& program,
                                       const network::Setting& setting, const hardware::Device& device);

/// Infers the shapes for another batch.
using ShapesForBatch = std::function<Result<network::Shapes>(std::int64_t batch)>;

struct LargestBatch {
  std::int64_t batch = 0;  ///< 0: not even one fits
  Bytes minimum_device;    ///< that it needs
  Bytes capacity;
  bool bounded = true;  ///< false: the largest that was tried (2^20) still fits
};
/// Found by search. Fails where the device's memory is unknown.
[[nodiscard]] Result<LargestBatch> largest_batch(const network::Network& network,
                                                 const ShapesForBatch& shapes,
                                                 const network::Setting& setting, const Target& target);

/// One change to the setting that may lower what it needs, and what that gives.
struct Remedy {
  std::string what;  ///< "half the batch", "--precision amp-bf16"
  Bytes minimum_device;
  std::optional<bool> fits;
};
[[nodiscard]] Result<std::vector<Remedy>> remedies(const network::Network& network,
                                                   const ShapesForBatch& shapes, std::int64_t batch,
                                                   const network::Setting& setting, const Target& target);

}  // namespace plimsoll::estimate
