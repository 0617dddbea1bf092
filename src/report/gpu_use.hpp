#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace plimsoll::report {

/// Another process on the same GPU. What it uses is not in the estimate's capacity any more.
struct OtherUser {
  std::uint32_t pid = 0;
  std::string name = {};
  std::optional<Bytes> bytes = {};  ///< absent where the driver does not tell
};

/// What the processes at work on a GPU of this machine leave of it. Absent where the driver does not tell.
struct GpuUse {
  unsigned number = 0;
  std::optional<Bytes> total = {}, used = {}, free = {};
  std::vector<OtherUser> users = {};
  std::optional<double> sm_activity = {};  ///< share of its multiprocessors' time, all of them together
  std::optional<double> utilization = {};  ///< share of the time in which any kernel ran, however small
};

}  // namespace plimsoll::report
