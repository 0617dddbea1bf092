#pragma once
#include <array>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "hardware/mig.hpp"

/// NVIDIA's placement table once more, written apart from the code that is tested against it.
namespace plimsoll::plan {

inline const hardware::MigTable& mig_family(std::string_view family) {
  for (const hardware::MigTable& table : hardware::mig_tables())
    if (table.family == family) return table;
  throw std::runtime_error("no such family");
}

/// By the names of the profiles alone.
inline bool stands_by_nvidias_table(const hardware::MigTable& table,
                                    std::span<const hardware::MigPlacement> layout) {
  const bool quarters = table.family == "a30";
  std::array<int, 8> owners{};
  int compute = 0, media = 0;
  for (const hardware::MigPlacement& placement : layout) {
    const std::string& name = table.profiles[placement.profile].name;
    const std::string& smallest = table.profiles.front().name;
    const int slices = name[0] - '0';
    const bool with_media = name.ends_with("+me");
    const bool large = slices == 1 && !with_media && name != smallest;
    const int start = placement.start;
    int size = 0;
    bool right = false;
    if (quarters) {
      size = slices;
      right = start >= 0 && start % size == 0 && start + size <= 4;
    } else if (slices == 1 && !large) {
      size = 1;
      right = start >= 0 && start <= 6;
    } else if (large) {
      size = 2;
      right = start == 0 || start == 2 || start == 4 || start == 6;
    } else if (slices == 2) {
      size = 2;
      right = start == 0 || start == 2 || start == 4;
    } else if (slices == 3) {
      size = 4;
      right = start == 0 || start == 4;
    } else if (slices == 4 || slices == 7) {
      size = slices == 4 ? 4 : 8;
      right = start == 0;
    }
    if (!right) return false;
    for (int part = start; part < start + size; ++part)
      if (owners[static_cast<std::size_t>(part)]++ > 0) return false;
    compute += slices;
    media += with_media ? 1 : 0;
  }
  return compute <= (quarters ? 4 : 7) && media <= 1;
}

}  // namespace plimsoll::plan
