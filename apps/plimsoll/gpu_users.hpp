#pragma once
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "report/memory_report.hpp"

namespace plimsoll {

/// What the processes at work on a GPU of this machine leave of its memory. Absent where the driver does not
/// tell.
struct GpuUse {
  std::optional<Bytes> free;
  std::vector<report::OtherUser> users;
};
[[nodiscard]] GpuUse gpu_use(unsigned gpu);

}  // namespace plimsoll
