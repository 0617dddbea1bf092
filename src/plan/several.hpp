#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "estimate/memory/memory.hpp"
#include "estimate/target.hpp"
#include "network/inference.hpp"
#include "network/setting.hpp"

namespace plimsoll::plan {

/// How several devices carry a network that is too large for one (docs/parallel.md).
enum class Parallelism : std::uint8_t {
  data,             ///< each trains a part of the batch, and holds everything
  zero1,            ///< the same, with the optimizer's state divided
  zero2,            ///< and gradients
  zero3,            ///< and weights
  tensor,           ///< all share every layer: heads and hidden widths are divided
  pipeline,         ///< each has some of the layers
  tensor_pipeline,  ///< stages, of which several share every layer
};
[[nodiscard]] std::string_view name(Parallelism how);  ///< "zero3", "tensor-pipeline"

/// The fewest devices with which one way carries the network.
struct Way {
  Parallelism how = Parallelism::zero3;
  std::optional<std::int64_t> devices = {};      ///< absent: not with as many as may be
  std::int64_t tensor = 1, pipeline = 1;         ///< that share a layer; stages
  std::optional<std::int64_t> local_batch = {};  ///< of each device, where the batch is divided
  bool checkpoint = false;    ///< only with activations recomputed, which was not asked for
  Bytes minimum_device = {};  ///< of the device that needs most
  Bytes upper_device = {};    ///< 95 % of runs need no more; never above the capacity
  std::optional<Seconds> seconds = {}, low = {}, high = {};  ///< of a pass or step
  std::optional<double> samples_per_second = {};             ///< of all together
  std::string no_time = {};                                  ///< why the time is not known
  std::string reason = {};                                   ///< why it does not do
};

struct SeveralDevices {
  std::vector<Way> ways = {};
  std::optional<std::size_t> fewest = {};  ///< devices; of equals the quickest
  /// In training the most samples a second of each device, where that is known of all; else the fewest.
  std::optional<std::size_t> best = {};
  std::string why = {};  ///< it is the best, or there is none
};

struct SeveralLimits {
  std::int64_t most_sharded = 4096;  ///< devices that train parts of a batch: powers of two up to this
};

/// How many devices of that kind the network needs in this setting, and how: `batch` is of all together, and
/// each has a sample at least. Pure. A way counts only where
/// even the upper bound of its memory fits. Fails where the device's memory is unknown, or what it runs
/// cannot be told.
[[nodiscard]] Result<SeveralDevices> several_devices(const network::Network& network,
                                                     const estimate::ShapesForBatch& shapes,
                                                     std::int64_t batch, const network::Setting& setting,
                                                     const estimate::Target& target,
                                                     const SeveralLimits& limits = {});

}  // namespace plimsoll::plan
