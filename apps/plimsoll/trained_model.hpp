#pragma once
#include <optional>
#include <string>

#include "base/error.hpp"
#include "estimate/parallel.hpp"
#include "inspect_model.hpp"
#include "network/setting.hpp"

namespace plimsoll {

/// One device that trains: how long its step takes at any batch, and what it must exchange with others.
struct OneDevice {
  estimate::StepOf step_of;
  std::optional<Bytes> gradients = {};
  std::optional<BytesPerSecond> link = {};    ///< one direction
  std::optional<std::int64_t> sequence = {};  ///< tokens of a sample, of a language model
  std::string words;                          ///< where the step's time comes from
};

struct TrainedModel {
  std::string model;
  InspectOptions inspect;
  std::string device;
};

/// By the estimate of time. What step_of needs is kept alive in it.
[[nodiscard]] Result<OneDevice> estimated_device(const TrainedModel& training);

/// By one step that somebody measured, at `batch`: other batches in proportion.
[[nodiscard]] OneDevice measured_device(Seconds step, double batch, double backward_share);

}  // namespace plimsoll
