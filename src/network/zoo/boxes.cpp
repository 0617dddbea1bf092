#include "network/zoo/boxes.hpp"

namespace plimsoll::network::zoo {

TensorId head_rows(Blocks& b, const std::string& name, Image head, std::int64_t values) {
  const TensorId split =
      b.add("Reshape", name + ".view",
            {head.id, b.integers({0, head.channels / values, values, head.size.height, head.size.width})});
  const TensorId last = b.add("Transpose", name + ".permute", {split}, {{"perm", {0, 3, 4, 1, 2}}});
  const std::int64_t rows = head.size.height * head.size.width * (head.channels / values);
  return b.add("Reshape", name + ".reshape", {last, b.integers({0, rows, values})});
}

Halves halves(Blocks& b, const std::string& name, TensorId boxes) {
  const auto parts = b.add_many("Split", name, {boxes, b.integers({2, 2})}, 2, {{"axis", -1}});
  return {parts[0], parts[1]};
}

TensorId decode_boxes(Blocks& b, const std::string& name, TensorId offsets, TensorId centres, TensorId sizes,
                      BoxCoder coder) {
  const Halves parts = halves(b, name + ".split", offsets);
  const TensorId shift = b.add("Div", name + ".div", {parts.first, b.real(coder.centre_weight)});
  const TensorId moved =
      b.add("Add", name + ".centre", {b.add("Mul", name + ".mul", {shift, sizes}), centres});
  const TensorId growth = b.add("Div", name + ".div_1", {parts.second, b.real(coder.size_weight)});
  // torchvision caps the growth at 1000/16 so that exp() does not overflow.
  const TensorId capped = b.add("Clip", name + ".clip", {growth, kNoTensor, b.real(4.135166556742356)});
  const TensorId grown = b.add("Mul", name + ".size", {b.add("Exp", name + ".exp", {capped}), sizes});
  const TensorId half = b.add("Mul", name + ".half", {grown, b.real(0.5)});
  return b.add("Concat", name,
               {b.add("Sub", name + ".low", {moved, half}), b.add("Add", name + ".high", {moved, half})},
               {{"axis", -1}});
}

}  // namespace plimsoll::network::zoo
