#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "network/zoo/blocks.hpp"

namespace plimsoll::network::zoo {

struct ResNetLayout {
  bool bottleneck = true;
  std::int64_t blocks[4] = {3, 4, 6, 3};
  std::int64_t groups = 1;
  std::int64_t width_per_group = 64;
};

/// Stem and four stages; gives what each stage ends with. `prefix` stands before every name; frozen: batch
/// normalisation as detectors use it.
[[nodiscard]] std::vector<Image> resnet_stages(Blocks& b, Image x, const ResNetLayout& layout,
                                               const std::string& prefix, bool frozen);

}  // namespace plimsoll::network::zoo
