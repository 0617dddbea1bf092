#include <string>
#include <vector>

#include <fmt/format.h>

#include "network/zoo/blocks.hpp"
#include "network/zoo/families.hpp"

namespace plimsoll::network::zoo {
namespace {

// ---- DenseNet: Huang et al. 2016.

constexpr std::int64_t kGrowth = 32;
constexpr int kDenseBlocks[4] = {6, 12, 24, 16};

Image norm_relu(Blocks& b, const std::string& prefix, const std::string& index, Image x) {
  return b.activate(prefix + "relu" + index, b.batch_norm(prefix + "norm" + index, x), Activation::relu);
}

Image dense_block(Blocks& b, const std::string& name, Image x, int layers) {
  std::vector<Image> features = {x};
  for (int i = 1; i <= layers; ++i) {
    const std::string layer = fmt::format("{}.denselayer{}.", name, i);
    Image y = i == 1 ? x : b.concat(layer + "concat", features);
    y = b.conv(layer + "conv1", norm_relu(b, layer, "1", y), {.out = 4 * kGrowth});
    y = b.conv(layer + "conv2", norm_relu(b, layer, "2", y), {.out = kGrowth, .kernel = 3, .pad = 1});
    features.push_back(y);
  }
  return b.concat(name, features);
}

Result<Network> build_densenet121(const Entry& entry, const Arguments& arguments, Mode mode) {
  Blocks b(entry.name, mode);
  Image x = b.image_input("input", arguments.image());
  x = b.conv("features.conv0", x, {.out = 64, .kernel = 7, .stride = 2, .pad = 3});
  x = b.max_pool("features.pool0", norm_relu(b, "features.", "0", x), {.kernel = 3, .stride = 2, .pad = 1});
  for (int block = 0; block < 4; ++block) {
    x = dense_block(b, fmt::format("features.denseblock{}", block + 1), x, kDenseBlocks[block]);
    if (block == 3) break;
    const std::string transition = fmt::format("features.transition{}.", block + 1);
    x = b.conv(transition + "conv", norm_relu(b, transition, "", x), {.out = x.channels / 2});
    x = b.average_pool(transition + "pool", x, {.kernel = 2, .stride = 2});
  }
  x = b.activate("relu", b.batch_norm("features.norm5", x), Activation::relu);
  const Features f = b.flatten("flatten", b.global_average_pool("avgpool", x));
  b.output(b.linear("classifier", f, arguments.integer("classes", 1000)).id);
  return std::move(b).finish();
}

// ---- SqueezeNet: Iandola et al. 2016. A fire module squeezes, then expands by 1x1 and 3x3 in equal parts.

struct Fire {
  int index;
  std::int64_t squeeze;  ///< 0 for a pooling
  std::int64_t expand = 0;
};
struct SqueezeNet {
  std::string_view name;
  std::string_view title;
  Convolution stem;
  std::vector<Fire> layers;
};

const std::vector<SqueezeNet>& squeezenets() {
  static const std::vector<SqueezeNet> kNets = {
      {"squeezenet1_0", "SqueezeNet 1.0", {.out = 96, .kernel = 7, .stride = 2, .bias = true},
       {{2, 0}, {3, 16, 64}, {4, 16, 64}, {5, 32, 128}, {6, 0}, {7, 32, 128}, {8, 48, 192}, {9, 48, 192}, {10, 64, 256},
        {11, 0}, {12, 64, 256}}},
      {"squeezenet1_1", "SqueezeNet 1.1", {.out = 64, .kernel = 3, .stride = 2, .bias = true},
       {{2, 0}, {3, 16, 64}, {4, 16, 64}, {5, 0}, {6, 32, 128}, {7, 32, 128}, {8, 0}, {9, 48, 192}, {10, 48, 192},
        {11, 64, 256}, {12, 64, 256}}}};
  return kNets;
}

Image fire(Blocks& b, const std::string& name, Image x, const Fire& f) {
  x = b.activate(name + ".squeeze_activation", b.conv(name + ".squeeze", x, {.out = f.squeeze, .bias = true}), Activation::relu);
  const Image parts[] = {
      b.activate(name + ".expand1x1_activation", b.conv(name + ".expand1x1", x, {.out = f.expand, .bias = true}), Activation::relu),
      b.activate(name + ".expand3x3_activation",
                 b.conv(name + ".expand3x3", x, {.out = f.expand, .kernel = 3, .pad = 1, .bias = true}), Activation::relu)};
  return b.concat(name, parts);
}

Result<Network> build_squeezenet(const Entry& entry, const Arguments& arguments, Mode mode) {
  const SqueezeNet& net = *std::ranges::find(squeezenets(), entry.name, &SqueezeNet::name);
  Blocks b(entry.name, mode);
  Image x = b.image_input("input", arguments.image());
  x = b.activate("features.1", b.conv("features.0", x, net.stem), Activation::relu);
  for (const Fire& layer : net.layers) {
    const std::string name = fmt::format("features.{}", layer.index);
    x = layer.squeeze == 0 ? b.max_pool(name, x, {.kernel = 3, .stride = 2, .ceil = true}) : fire(b, name, x, layer);
  }
  x.id = b.dropout("classifier.0", x.id, 0.5);
  x = b.conv("classifier.1", x, {.out = arguments.integer("classes", 1000), .bias = true});
  x = b.activate("classifier.2", x, Activation::relu);
  b.output(b.flatten("flatten", b.global_average_pool("classifier.3", x)).id);
  return std::move(b).finish();
}

}  // namespace

std::vector<Entry> densenet_squeezenet_entries() {
  std::vector<Entry> entries = {
      {"densenet121", "DenseNet-121", kClassification, "3x224x224", kClassifierOptions, build_densenet121}};
  for (const SqueezeNet& net : squeezenets())
    entries.push_back({net.name, net.title, kClassification, "3x224x224", kClassifierOptions, build_squeezenet});
  return entries;
}

}  // namespace plimsoll::network::zoo
