#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace plimsoll::share {

enum class Way : std::uint8_t {
  exclusive,  ///< one after the other
  naive,      ///< contexts take turns
  mps,        ///< kernels of several processes at once
  mig,        ///< the GPU in slices
};
[[nodiscard]] std::string_view name(Way way);

/// How a GPU is shared: "naive", "mps", "mps:75,25", "mig:3g.71gb,4g.71gb", "mig+mps:3g.71gb".
struct Sharing {
  Way way = Way::naive;
  std::vector<double> caps = {};           ///< of mps: per workload, of one; empty: none
  std::vector<std::string> profiles = {};  ///< of mig: per workload, or the one that all are in
  bool in_one_slice = false;               ///< of mig: all are clients of MPS in the same slice
  friend bool operator==(const Sharing&, const Sharing&) = default;
};
[[nodiscard]] std::string text(const Sharing& sharing);
/// For so many workloads.
[[nodiscard]] Result<Sharing> read_sharing(std::string_view text, std::size_t workloads);

}  // namespace plimsoll::share
