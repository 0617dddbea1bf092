#pragma once
#include <string_view>

#include "network/network.hpp"
#include "network/transformers/vision.hpp"

namespace plimsoll::network::transformers {

/// Texts and images brought into one space and compared (CLIP). Either tower may stand alone.
struct TwoTowers {
  bool text = true, image = true;
  Stack text_stack = {};  ///< causal
  std::int64_t vocabulary = 0, positions = 0;
  VisionEncoder vision = {};
  std::int64_t projection = 0;  ///< width of the common space; 0: not projected
};

[[nodiscard]] Status check(const TwoTowers& towers);

/// Inputs "input_ids", batch x sequence, and "pixel_values". Result: the scores of every text with every
/// image; of one tower alone its projection, else its tokens.
[[nodiscard]] Result<Network> build(const TwoTowers& towers, std::string_view name, Mode mode);

}  // namespace plimsoll::network::transformers
