#pragma once
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "batches.hpp"
#include "calibrated_device.hpp"
#include "estimate/memory/memory.hpp"
#include "estimate/time/time.hpp"
#include "gpu_users.hpp"
#include "report/weighing.hpp"
#include "weigh_options.hpp"

namespace plimsoll {

/// A device to weigh on: named, of this machine, or well known.
struct WeighTarget {
  CalibratedDevice calibrated;
  bool here = false;
  bool in_full = false;
  std::optional<GpuUse> use = {};  ///< of this machine's GPU
};

/// The devices named, or this machine's GPUs and CPU and the well-known ones.
[[nodiscard]] Result<std::vector<WeighTarget>> weigh_targets(const WeighOptions& options,
                                                             const GpuWatch& watch);

/// Memory and time of one network at one batch, on one device after another: what it executes is found once
/// for all devices on which the same program runs.
class Scales {
 public:
  Scales(const WeighOptions& options, const Batches& batches, const network::Shapes& shapes,
         const estimate::Needs& needs)
      : options_(options), batches_(batches), shapes_(shapes), needs_(needs) {}

  [[nodiscard]] Result<report::WeighedDevice> weigh(const WeighTarget& target);

 private:
  [[nodiscard]] Status add_room(report::WeighedDevice& row, const estimate::Target& target);
  [[nodiscard]] const Result<program::Program>& program_for(const program::Platform& platform);

  const WeighOptions& options_;
  const Batches& batches_;
  const network::Shapes& shapes_;
  const estimate::Needs& needs_;
  std::deque<std::pair<program::Platform, Result<program::Program>>> programs_;
};

}  // namespace plimsoll
