#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "share/beside.hpp"

namespace plimsoll::share {

/// A slice of a GPU: nothing of it but power is shared with other slices.
struct Slice {
  std::string profile;   ///< "3g.71gb"
  double sms = 1;        ///< of the GPU's
  double bandwidth = 1;  ///< of the memory's, and of the L2
  double bytes = 0;
  int start = 0;  ///< on the axis of eight parts of the memory
  friend bool operator==(const Slice&, const Slice&) = default;
};

/// What a device can be divided into: the names of its profiles, the smallest first.
[[nodiscard]] std::vector<std::string> profiles_of(const hardware::Device& device);

/// Placed together, as NVIDIA's table has it. Fails where the device knows no MIG, a profile is not its own,
/// or they do not go together.
[[nodiscard]] Result<std::vector<Slice>> slices_of(std::span<const std::string> profiles,
                                                   const hardware::Device& device);

/// Kernels in a slice, as shares of what the slice has.
[[nodiscard]] std::vector<Kernel> kernels_in(const std::vector<Kernel>& kernels, const Slice& slice,
                                             const SharingFigures& figures);

/// A workload in a slice of its own.
[[nodiscard]] Member in_slice(const Workload& workload, const Slice& slice, const SharingFigures& figures);

}  // namespace plimsoll::share
