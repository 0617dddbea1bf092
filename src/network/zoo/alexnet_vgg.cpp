#include <string>

#include <fmt/format.h>

#include "network/zoo/blocks.hpp"
#include "network/zoo/families.hpp"

namespace plimsoll::network::zoo {
namespace {

// Krizhevsky 2014 ("one weird trick"), as torchvision has it.
Result<Network> build_alexnet(const Entry& entry, const Arguments& arguments, Mode mode) {
  struct Layer {
    int index;
    Convolution conv;
    bool pool;
  };
  static constexpr Layer kLayers[] = {
      {0, {.out = 64, .kernel = 11, .stride = 4, .pad = 2, .bias = true}, true},
      {3, {.out = 192, .kernel = 5, .pad = 2, .bias = true}, true},
      {6, {.out = 384, .kernel = 3, .pad = 1, .bias = true}, false},
      {8, {.out = 256, .kernel = 3, .pad = 1, .bias = true}, false},
      {10, {.out = 256, .kernel = 3, .pad = 1, .bias = true}, true},
  };
  Blocks b(entry.name, mode);
  Image x = b.image_input("input", arguments.image());
  for (const Layer& layer : kLayers) {
    x = b.conv(fmt::format("features.{}", layer.index), x, layer.conv);
    x = b.activate(fmt::format("features.{}", layer.index + 1), x, Activation::relu);
    if (layer.pool) x = b.max_pool(fmt::format("features.{}", layer.index + 2), x, {.kernel = 3, .stride = 2});
  }
  Features f = b.flatten("flatten", b.adaptive_average_pool("avgpool", x, 6));
  f.id = b.dropout("classifier.0", f.id, 0.5);
  f = b.linear("classifier.1", f, 4096);
  f.id = b.activate("classifier.2", f.id, Activation::relu);
  f.id = b.dropout("classifier.3", f.id, 0.5);
  f = b.linear("classifier.4", f, 4096);
  f.id = b.activate("classifier.5", f.id, Activation::relu);
  b.output(b.linear("classifier.6", f, arguments.integer("classes", 1000)).id);
  return std::move(b).finish();
}

// Simonyan and Zisserman 2014: five stages of 3x3 convolutions, a maximum pooling after each.
struct Vgg {
  std::string_view name;
  std::string_view title;
  int convolutions[5];
  bool batch_norm;
};

constexpr Vgg kVggs[] = {
    {"vgg11", "VGG-11", {1, 1, 2, 2, 2}, false},
    {"vgg13", "VGG-13", {2, 2, 2, 2, 2}, false},
    {"vgg16", "VGG-16", {2, 2, 3, 3, 3}, false},
    {"vgg19", "VGG-19", {2, 2, 4, 4, 4}, false},
    {"vgg11_bn", "VGG-11 with batch normalisation", {1, 1, 2, 2, 2}, true},
    {"vgg13_bn", "VGG-13 with batch normalisation", {2, 2, 2, 2, 2}, true},
    {"vgg16_bn", "VGG-16 with batch normalisation", {2, 2, 3, 3, 3}, true},
    {"vgg19_bn", "VGG-19 with batch normalisation", {2, 2, 4, 4, 4}, true},
};
constexpr std::int64_t kVggWidths[5] = {64, 128, 256, 512, 512};

Result<Network> build_vgg(const Entry& entry, const Arguments& arguments, Mode mode) {
  const Vgg& vgg = row_of(kVggs, entry);
  Blocks b(entry.name, mode);
  Image x = b.image_input("input", arguments.image());
  int index = 0;
  const auto next = [&index] { return fmt::format("features.{}", index++); };
  for (int stage = 0; stage < 5; ++stage) {
    for (int i = 0; i < vgg.convolutions[stage]; ++i) {
      x = b.conv(next(), x, {.out = kVggWidths[stage], .kernel = 3, .pad = 1, .bias = true});
      if (vgg.batch_norm) x = b.batch_norm(next(), x);
      x = b.activate(next(), x, Activation::relu);
    }
    x = b.max_pool(next(), x, {.kernel = 2, .stride = 2});
  }
  Features f = b.flatten("flatten", b.adaptive_average_pool("avgpool", x, 7));
  for (const int layer : {0, 3}) {
    f = b.linear(fmt::format("classifier.{}", layer), f, 4096);
    f.id = b.activate(fmt::format("classifier.{}", layer + 1), f.id, Activation::relu);
    f.id = b.dropout(fmt::format("classifier.{}", layer + 2), f.id, 0.5);
  }
  b.output(b.linear("classifier.6", f, arguments.integer("classes", 1000)).id);
  return std::move(b).finish();
}

}  // namespace

std::vector<Entry> alexnet_vgg_entries() {
  std::vector<Entry> entries = {
      {"alexnet", "AlexNet", kClassification, "3x224x224", kClassifierOptions, build_alexnet}};
  for (const Vgg& vgg : kVggs)
    entries.push_back({vgg.name, vgg.title, kClassification, "3x224x224", kClassifierOptions, build_vgg});
  return entries;
}

}  // namespace plimsoll::network::zoo
