#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "estimate/memory/allocator.hpp"
#include "estimate/memory/lowering.hpp"
#include "estimate/memory/recording.hpp"
#include "hardware/device.hpp"
#include "network/inference.hpp"
#include "network/setting.hpp"

namespace plimsoll::estimate {

/// How several GPUs train one network.
enum class Sharding : std::uint8_t {
  none,
  data_parallel,  ///< each holds everything; gradients are reduced in buckets
  zero1,          ///< optimizer state divided
  zero2,          ///< and gradients
  zero3,          ///< and weights
};

enum class ZeroGrad : std::uint8_t { before_forward, before_backward, keep };  ///< keep: set_to_none=False

/// Everything about a run that its memory depends on, beside the network and the device.
struct MemorySetting {
  network::Mode mode = network::Mode::infer;
  network::Precision precision = network::Precision::fp32;
  network::Optimizer optimizer = network::Optimizer::sgd;
  network::Loss loss = network::Loss::cross_entropy;
  network::InPlace in_place = network::InPlace::automatic;
  ZeroGrad zero_grad = ZeroGrad::before_forward;
  bool fused_optimizer = false;
  bool checkpoint =
      false;           ///< activations kept at about the square root of the layers, the rest computed again
  int accumulate = 1;  ///< passes per optimizer step
  int gpus = 1;
  Sharding sharding = Sharding::none;
  /// Causal attention keeps its keys and values, as decoders do by default.
  bool key_value_cache = true;
  std::int64_t context = 0;  ///< tokens already in the key-value cache; inference
  std::vector<std::string> frozen = {};
  /// Of the device's calibration, for workspaces of convolutions as they were measured; null: by rule. Must
  /// outlive the setting.
  const hardware::OperatorCurves* curves = nullptr;
  AllocatorSettings allocator = {};  ///< its capacity is the device's
  friend bool operator==(const MemorySetting&, const MemorySetting&) = default;
};

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
  Bytes weights;
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

/// What the run needs on the device. Pure. A device other than a GPU has no caching allocator, no context and
/// no library workspaces: there reserved is allocated.
[[nodiscard]] Result<MemoryEstimate> estimate_memory(const network::Network& network,
                                                     const network::Shapes& shapes,
                                                     const MemorySetting& setting,
                                                     const hardware::Device& device);

/// For many devices at once: what lower() is asked for a run on the device. Devices with equal options run
/// the same program; what no program can depend on is left as it is by default.
[[nodiscard]] LoweringOptions lowering_options(const MemorySetting& setting, const hardware::Device& device);

/// What a device has beside the allocator's memory, and what of it the recording depends on.
struct MemoryRoom {
  bool caching = true;             ///< a GPU's allocator
  std::int64_t library_bytes = 0;  ///< cuBLAS's workspace per thread
  std::optional<Bytes> context, capacity;
};
[[nodiscard]] MemoryRoom memory_room(const network::Network& network, const hardware::Device& device);

/// The allocations of a program that was lowered with these options.
[[nodiscard]] Recording record_run(const Program& program, const MemorySetting& setting,
                                   std::int64_t library_bytes);

/// Whether the recording, which needs `natural` where memory is plenty, runs in that room. As
/// estimate_memory() says it, without the search for the smallest capacity.
[[nodiscard]] std::optional<bool> fits(const Recording& recording, const Replay& natural,
                                       const MemoryRoom& room, AllocatorSettings allocator);

/// Memory over one iteration, for a chart: what is allocated after each event of the last one.
struct TimelinePoint {
  std::size_t event = 0;
  Phase phase = Phase::forward;
  std::array<std::int64_t, kPurposes> bytes{};  ///< by Purpose
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
[[nodiscard]] Result<Timeline> memory_timeline(const network::Network& network, const network::Shapes& shapes,
                                               const MemorySetting& setting, const hardware::Device& device);

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
                                                 const ShapesForBatch& shapes, const MemorySetting& setting,
                                                 const hardware::Device& device);

/// One change to the setting, and what it gives.
struct Measure {
  std::string what;  ///< "half the batch", "--precision amp-bf16"
  Bytes minimum_device;
  std::optional<bool> fits;
};
[[nodiscard]] Result<std::vector<Measure>> what_would_lower(const network::Network& network,
                                                            const ShapesForBatch& shapes, std::int64_t batch,
                                                            const MemorySetting& setting,
                                                            const hardware::Device& device);

}  // namespace plimsoll::estimate
