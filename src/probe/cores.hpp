#pragma once
#include <filesystem>
#include <optional>
#include <vector>

#include "base/units.hpp"

namespace plimsoll::probe {

/// What of this machine the process may use.
struct Cores {
  std::vector<int> cpus;  ///< numbers of the processors that it may run on
  int threads = 1;        ///< as many as there are of them, fewer where the cgroup allows less time than that
};
[[nodiscard]] Cores cores_here(const std::filesystem::path& root = "/");

/// Memory that can be taken without pushing anything out: what the kernel calls available, or what the
/// cgroup's limit leaves where that is less. Nothing: not known.
[[nodiscard]] std::optional<Bytes> available_memory(const std::filesystem::path& root = "/");

}  // namespace plimsoll::probe
