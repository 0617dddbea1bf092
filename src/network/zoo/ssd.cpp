#include <string>
#include <vector>

#include <fmt/format.h>

#include "network/zoo/blocks.hpp"
#include "network/zoo/boxes.hpp"
#include "network/zoo/families.hpp"

namespace plimsoll::network::zoo {
namespace {

// Liu et al. 2015, as torchvision's ssd300_vgg16.
constexpr std::int64_t kSsdAnchors[] = {4, 6, 6, 6, 4, 4};
constexpr std::int64_t kDetections = 200;
constexpr Option kSsdOptions[] = {
    kInput,
    kChannels,
    {"classes", "how many classes, the background among them", "91", Option::Kind::integer, 2, 1e4}};

Image conv_relu(Blocks& b, const std::string& prefix, int& index, Image x, Convolution c) {
  c.bias = true;
  x = b.conv(fmt::format("{}.{}", prefix, index), x, c);
  x = b.activate(fmt::format("{}.{}", prefix, index + 1), x, Activation::relu);
  index += 2;
  return x;
}

// VGG-16 up to its fourth stage; the third pooling rounds up so that 300 gives 38.
Image vgg_features(Blocks& b, Image x) {
  const std::string prefix = "backbone.features";
  int index = 0;
  for (int stage = 0; stage < 4; ++stage) {
    for (int i = 0; i < (stage < 2 ? 2 : 3); ++i)
      x = conv_relu(b, prefix, index, x, {.out = std::int64_t{64} << stage, .kernel = 3, .pad = 1});
    if (stage < 3)
      x = b.max_pool(fmt::format("{}.{}", prefix, index++), x,
                     {.kernel = 2, .stride = 2, .ceil = stage == 2});
  }
  return x;
}

// Each position divided by its length over the channels, times a learned scale.
Image rescale(Blocks& b, Image x) {
  const std::string name = "backbone.normalize";
  const TensorId length = b.add("ReduceL2", name + ".norm", {x.id, b.integers({1})}, {{"keepdims", 1}});
  const TensorId safe = b.add("Clip", name + ".clip", {length, b.real(1e-12)});
  const TensorId unit = b.add("Div", name, {x.id, safe});
  const TensorId scale =
      b.add("Reshape", name + ".view",
            {b.builder().parameter("backbone.scale_weight", {x.channels}), b.integers({1, -1, 1, 1})});
  return {b.add("Mul", name + ".mul", {scale, unit}), x.channels, x.size};
}

// The fifth stage and the two layers that were fully connected, as convolutions.
Image vgg_end(Blocks& b, Image x) {
  const std::string prefix = "backbone.extra.0";
  x = b.max_pool(prefix + ".0", x, {.kernel = 2, .stride = 2});
  int index = 1;
  for (int i = 0; i < 3; ++i) x = conv_relu(b, prefix, index, x, {.out = 512, .kernel = 3, .pad = 1});
  x = b.max_pool(prefix + ".7.0", x, {.kernel = 3, .stride = 1, .pad = 1});
  index = 1;
  x = conv_relu(b, prefix + ".7", index, x, {.out = 1024, .kernel = 3, .pad = 6, .dilation = 6});
  return conv_relu(b, prefix + ".7", index, x, {.out = 1024});
}

std::vector<Image> feature_maps(Blocks& b, Image x) {
  struct Extra {
    std::int64_t middle, out, stride, pad;
  };
  constexpr Extra kExtras[] = {{256, 512, 2, 1}, {128, 256, 2, 1}, {128, 256, 1, 0}, {128, 256, 1, 0}};
  x = vgg_features(b, x);
  std::vector<Image> maps = {rescale(b, x)};
  x = vgg_end(b, x);
  maps.push_back(x);
  int block = 1;
  for (const Extra& extra : kExtras) {
    const std::string prefix = fmt::format("backbone.extra.{}", block++);
    int index = 0;
    x = conv_relu(b, prefix, index, x, {.out = extra.middle});
    x = conv_relu(b, prefix, index, x,
                  {.out = extra.out, .kernel = 3, .stride = extra.stride, .pad = extra.pad});
    maps.push_back(x);
  }
  return maps;
}

// One 3x3 convolution per map, their rows joined: batch x boxes x values.
TensorId head(Blocks& b, const std::string& name, const std::vector<Image>& maps, std::int64_t values) {
  std::vector<TensorId> rows;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const std::string layer = fmt::format("{}.module_list.{}", name, i);
    rows.push_back(head_rows(
        b, layer,
        b.conv(layer, maps[i], {.out = kSsdAnchors[i] * values, .kernel = 3, .pad = 1, .bias = true}),
        values));
  }
  return b.add("Concat", name, rows, {{"axis", 1}});
}

std::int64_t anchor_count(const std::vector<Image>& maps) {
  std::int64_t n = 0;
  for (std::size_t i = 0; i < maps.size(); ++i)
    n += kSsdAnchors[i] * maps[i].size.height * maps[i].size.width;
  return n;
}

Result<Network> build_ssd300(const Entry& entry, const Arguments& arguments, Mode mode) {
  const std::int64_t classes = arguments.integer("classes", 91);
  Blocks b(entry.name, mode);
  const std::vector<Image> maps = feature_maps(b, b.image_input("input", arguments.image()));
  const TensorId logits = head(b, "head.classification_head", maps, classes);
  const TensorId offsets = head(b, "head.regression_head", maps, 4);
  if (b.training()) {
    b.output(logits);
    b.output(offsets);
    return std::move(b).finish();
  }
  const Halves anchors = halves(b, "anchors.split", b.builder().buffer("anchors", {anchor_count(maps), 4}));
  const TensorId boxes = decode_boxes(b, "boxes", offsets, anchors.first, anchors.second, {10, 5});
  const TensorId scores = b.add("Softmax", "scores", {logits}, {{"axis", -1}});
  const TensorId by_class = b.add("Transpose", "scores.transpose", {scores}, {{"perm", {0, 2, 1}}});
  b.output(boxes);
  b.output(scores);
  b.output(b.add("NonMaxSuppression", "detections",
                 {boxes, by_class, b.integers({kDetections}), b.real(0.45), b.real(0.01)}));
  return std::move(b).finish();
}

}  // namespace

std::vector<Entry> ssd_entries() {
  return {{"ssd300_vgg16", "SSD300 on VGG-16", kDetection, "3x300x300", kSsdOptions, build_ssd300}};
}

}  // namespace plimsoll::network::zoo
