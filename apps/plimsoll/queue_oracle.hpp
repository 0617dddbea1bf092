#pragma once
#include <map>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "queue/oracle.hpp"

namespace plimsoll {

/// What jobs take and what groups of them do on a device, by `estimate` and `beside`, corrected by what was
/// learned.
[[nodiscard]] Result<std::unique_ptr<queue::Oracle>> queue_oracle(const std::string& device,
                                                                  const std::string& calibration,
                                                                  const std::string& figures);

}  // namespace plimsoll
