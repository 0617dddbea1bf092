#include "network/transformers/vision.hpp"

#include <utility>

namespace plimsoll::network::transformers {
namespace {

using zoo::Blocks, zoo::Features, zoo::Image, zoo::Tokens;

Tokens patches_of(Blocks& b, const VisionEncoder& v) {
  const Image image = b.image_input("pixel_values", {v.channels, v.height, v.width});
  const zoo::Size size{v.patch_height, v.patch_width};
  const Image cut =
      b.conv(v.patches, image, {.out = v.stack.width, .kernel = size, .stride = size, .bias = v.patch_bias});
  const std::int64_t count = cut.size.height * cut.size.width;
  const TensorId rows =
      b.add("Reshape", v.patches + ".flatten", {cut.id, b.integers({0, v.stack.width, count})});
  return {b.add("Transpose", v.patches + ".transpose", {rows}, {{"perm", {0, 2, 1}}}), v.stack.width};
}

}  // namespace

Features first_token(Blocks& b, const std::string& name, Tokens x) {
  return {b.add("Gather", name, {x.id, b.integer(0)}, {{"axis", 1}}), x.width};
}

Tokens add_vision(Blocks& b, const VisionEncoder& v) {
  const std::int64_t w = v.stack.width;
  Tokens x = patches_of(b, v);
  const TensorId token = v.flat_tokens ? b.builder().parameter(v.class_token, {w})
                                       : b.builder().parameter(v.class_token, {1, 1, w});
  const TensorId batch = b.add("Shape", v.class_token + ".batch", {x.id}, {{"start", 0}, {"end", 1}});
  const TensorId extents =
      b.add("Concat", v.class_token + ".extents", {batch, b.integers({1, w})}, {{"axis", 0}});
  const TensorId each = b.add("Expand", v.class_token + ".expand", {token, extents});
  x.id = b.add("Concat", v.class_token + ".concat", {each, x.id}, {{"axis", 1}});
  const std::int64_t count = (v.height / v.patch_height) * (v.width / v.patch_width) + 1;
  const TensorId places = v.flat_tokens ? b.builder().parameter(v.position_table + ".weight", {count, w})
                                        : b.builder().parameter(v.position_table, {1, count, w});
  x.id = b.add("Add", v.position_table + ".add", {x.id, places});
  if (v.norm_first) x = add_norm(b, v.first_norm, x, v.stack.norm);
  return add_layers(b, v.stack, x, {});
}

Status check(const VisionEncoder& v) {
  PLIMSOLL_TRY(check(v.stack));
  for (const std::int64_t side : {v.channels, v.height, v.width, v.patch_height, v.patch_width})
    if (side < 1 || side > kMostPixels)
      return fail("an image or a patch has a side of {}; it must be between 1 and {}", side, kMostPixels);
  if (v.patch_height > v.height || v.patch_width > v.width)
    return fail("patches of {}x{} do not fit in an image of {}x{}", v.patch_width, v.patch_height, v.width,
                v.height);
  if (v.classes < 0 || v.classes > kMostVocabulary || v.pooled < 0 || v.pooled > kMostWidth)
    return fail("{} classes, {} pooled values are out of range", v.classes, v.pooled);
  return {};
}

Result<Network> build(const VisionEncoder& v, std::string_view name, Mode mode) {
  PLIMSOLL_TRY(check(v));
  Blocks b(name, mode, kOpset);
  Tokens x = add_vision(b, v);
  if (v.norm_all) x = add_norm(b, v.last_norm, x, v.stack.norm);
  if (v.classes > 0) {
    b.output(b.linear(v.head, first_token(b, "class", x), v.classes).id);
    return std::move(b).finish();
  }
  b.output(x.id);
  if (v.pooled > 0) {
    const Features dense = b.linear(v.pooler, first_token(b, "class", x), v.pooled);
    b.output(b.activate(v.pooler + ".tanh", dense.id, Activation::tanh));
  }
  return std::move(b).finish();
}

}  // namespace plimsoll::network::transformers
