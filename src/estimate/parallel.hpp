#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"

/// Many devices that train one network. docs/parallel.md derives every formula.
namespace plimsoll::estimate {

/// How gradients are summed over all devices.
enum class Communication : std::uint8_t {
  ring,              ///< reduce-scatter and all-gather along a ring, as NCCL does
  tree,              ///< summed up a binary tree and sent down again
  butterfly,         ///< recursive doubling: pairs exchange all of it in every round
  halving_doubling,  ///< the butterfly that exchanges halves: reduce-scatter, then all-gather
  parameter_server,  ///< some devices keep the weights, all others send and fetch
};
[[nodiscard]] std::string_view name(Communication communication);
[[nodiscard]] std::optional<Communication> communication_named(std::string_view name);

/// A device's link, in one direction: datasheets that add both directions print twice this.
struct Link {
  BytesPerSecond bandwidth;
  Seconds latency;  ///< of one message, software included
};

/// Time to sum `size` bytes over n devices so that all have the sum. Links are full duplex and all devices
/// reach all others at full rate; adding numbers takes no time. 0 for one device.
[[nodiscard]] Seconds all_reduce(Communication communication, Bytes size, std::int64_t devices,
                                 const Link& link, std::int64_t servers = 1);

/// Time in which every device gets all of `size` bytes of which each has a part, or keeps its part of their
/// sum (reduce-scatter): one half of a ring's sum.
[[nodiscard]] Seconds all_gather(Bytes size, std::int64_t devices, const Link& link);

/// One step of one device, as measured or estimated.
struct StepTime {
  Seconds forward, backward, update;
  [[nodiscard]] Seconds whole() const { return forward + backward + update; }
};
using StepOf = std::function<Result<StepTime>(double local_batch)>;

/// How the devices are divided. Their number is data_parallel · tensor · pipeline.
struct Split {
  std::int64_t tensor = 1;         ///< devices that share every layer
  std::int64_t pipeline = 1;       ///< stages of consecutive layers
  std::int64_t micro_batches = 1;  ///< into which a local batch is cut for the pipeline
  /// Bytes that tensor-parallel devices must sum for one sample in forward and backward together: partial
  /// results of layers (Megatron: 4 per transformer layer, each sequence · hidden values).
  Bytes tensor_sums_per_sample{};
  /// Bytes that one sample's activations have between two stages; its gradient comes back as large.
  Bytes between_stages_per_sample{};
  [[nodiscard]] std::int64_t devices_per_replica() const { return tensor * pipeline; }
};

struct ParallelSetting {
  Communication communication = Communication::ring;
  std::int64_t servers = 1;
  Link link = {};
  Bytes gradients = {};  ///< of the whole network
  /// Share of the backward pass behind which the sum of gradients can hide: 0 none, 1 all of it.
  double overlap = 0;
  Split split = {};
};

struct ParallelStep {
  std::int64_t devices = 1;
  double local_batch = 0;  ///< of one replica
  double global_batch = 0;
  Seconds compute = {};        ///< of one device, waiting of the pipeline excluded
  Seconds bubble = {};         ///< the pipeline fills and drains
  Seconds inner = {};          ///< communication within a replica: tensor sums, activations between stages
  Seconds communication = {};  ///< sum of the gradients over the replicas
  Seconds exposed = {};        ///< what of it nothing hides
  Seconds step = {};
  double samples_per_second = 0;
  double speedup = 1;     ///< against one device: samples per second
  double efficiency = 1;  ///< speedup over devices
};

/// One step on `devices`, which the split must divide.
[[nodiscard]] Result<ParallelStep> parallel_step(const ParallelSetting& setting, std::int64_t devices,
                                                 double local_batch, const StepOf& step_of);

enum class Scaling : std::uint8_t {
  strong,  ///< the global batch stays: more devices, smaller pieces
  weak,    ///< the batch per replica stays: more devices, larger steps
};
/// One row per number of devices; speedups are against one device that holds the whole network and has the
/// same `batch`: the global one in strong scaling, the local one in weak.
[[nodiscard]] Result<std::vector<ParallelStep>> scaling(const ParallelSetting& setting, Scaling kind,
                                                        double batch, std::span<const std::int64_t> devices,
                                                        const StepOf& step_of);

/// Where only one step at one batch is known: time in proportion to the batch, the update's apart.
[[nodiscard]] StepOf proportional(StepTime known, double batch);

}  // namespace plimsoll::estimate
