#pragma once
#include <string>

#include "network/zoo/blocks.hpp"

namespace plimsoll::network::zoo {

/// A head's channels (anchors x values) as rows: batch x (height · width · anchors) x values.
[[nodiscard]] TensorId head_rows(Blocks& b, const std::string& name, Image head, std::int64_t values);

/// Boxes as torchvision's BoxCoder knows them.
struct BoxCoder {
  double centre_weight = 1;
  double size_weight = 1;
};
/// Corners (x1, y1, x2, y2) from offsets against reference boxes given as centre and size, along the last
/// axis.
[[nodiscard]] TensorId decode_boxes(Blocks& b, const std::string& name, TensorId offsets, TensorId centres,
                                    TensorId sizes, BoxCoder coder);

/// The two halves of the last axis of ... x 4.
struct Halves {
  TensorId first;
  TensorId second;
};
[[nodiscard]] Halves halves(Blocks& b, const std::string& name, TensorId boxes);

}  // namespace plimsoll::network::zoo
