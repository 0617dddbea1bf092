#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/calibration/operator_call.hpp"
#include "engine/device.hpp"

namespace plimsoll::engine {

struct PointTime {
  double seconds = 0;  ///< median per call, of the device's own time
  double spread = 0;   ///< half of the median's interval, as a share of it
  std::optional<std::int64_t> workspace_bytes = {};
};

/// Times operators one after the other. On a device that captures, calls run as one graph, so that what the
/// host needs to start them is not in their time; some milliseconds in all per operator.
class PointTimer {
 public:
  explicit PointTimer(Device& device);
  [[nodiscard]] PointTime time(const OperatorCall& call);
  /// Median seconds of one of each, one after the other.
  [[nodiscard]] double time_together(const std::vector<OperatorCall>& calls);

 private:
  [[nodiscard]] std::optional<std::int64_t> workspace_of(const OperatorCall& call);
  [[nodiscard]] double time_once(const std::function<void()>& pass);
  [[nodiscard]] PointTime time_captured(const std::function<void()>& once);
  [[nodiscard]] PointTime time_on_host(const OperatorCall& call);

  Device& device_;
  std::vector<std::unique_ptr<Marker>> markers_;
};

}  // namespace plimsoll::engine
