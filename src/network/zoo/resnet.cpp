#include "network/zoo/resnet.hpp"

#include <fmt/format.h>

#include "network/zoo/families.hpp"

namespace plimsoll::network::zoo {
namespace {

// He et al. 2015; Zagoruyko and Komodakis 2016 (wide); Xie et al. 2016 (ResNeXt). ResNet-26 is timm's.
struct ResNet {
  std::string_view name;
  std::string_view title;
  ResNetLayout layout;
};

constexpr ResNet kResNets[] = {
    {"resnet18", "ResNet-18", {.bottleneck = false, .blocks = {2, 2, 2, 2}}},
    {"resnet26", "ResNet-26 (timm's: two bottlenecks a stage)", {.blocks = {2, 2, 2, 2}}},
    {"resnet34", "ResNet-34", {.bottleneck = false, .blocks = {3, 4, 6, 3}}},
    {"resnet50", "ResNet-50", {.blocks = {3, 4, 6, 3}}},
    {"resnet101", "ResNet-101", {.blocks = {3, 4, 23, 3}}},
    {"resnet152", "ResNet-152", {.blocks = {3, 8, 36, 3}}},
    {"wide_resnet50_2", "Wide ResNet-50-2", {.blocks = {3, 4, 6, 3}, .width_per_group = 128}},
    {"wide_resnet101_2", "Wide ResNet-101-2", {.blocks = {3, 4, 23, 3}, .width_per_group = 128}},
    {"resnext50_32x4d", "ResNeXt-50 32x4d", {.blocks = {3, 4, 6, 3}, .groups = 32, .width_per_group = 4}},
    {"resnext101_32x8d", "ResNeXt-101 32x8d", {.blocks = {3, 4, 23, 3}, .groups = 32, .width_per_group = 8}},
};

class Stages {
 public:
  Stages(Blocks& b, const ResNetLayout& layout, bool frozen) : b_(b), layout_(layout), frozen_(frozen) {}

  Image stem(const std::string& prefix, Image x) {
    x = norm(prefix + "bn1", b_.conv(prefix + "conv1", x, {.out = 64, .kernel = 7, .stride = 2, .pad = 3}));
    x = b_.activate(prefix + "relu", x, Activation::relu);
    return b_.max_pool(prefix + "maxpool", x, {.kernel = 3, .stride = 2, .pad = 1});
  }

  Image block(const std::string& name, Image x, std::int64_t planes, std::int64_t stride) {
    const std::int64_t out = layout_.bottleneck ? planes * 4 : planes;
    Image y = layout_.bottleneck ? bottleneck(name, x, planes, stride) : basic(name, x, planes, stride);
    if (stride != 1 || x.channels != out)
      x = norm(name + ".downsample.1", b_.conv(name + ".downsample.0", x, {.out = out, .stride = stride}));
    y = b_.sum(name + ".add", y, x);
    return b_.activate(name + ".relu", y, Activation::relu);
  }

 private:
  Image norm(const std::string& name, Image x) { return frozen_ ? b_.frozen_batch_norm(name, x) : b_.batch_norm(name, x); }

  Image basic(const std::string& name, Image x, std::int64_t planes, std::int64_t stride) {
    x = norm(name + ".bn1", b_.conv(name + ".conv1", x, {.out = planes, .kernel = 3, .stride = stride, .pad = 1}));
    x = b_.activate(name + ".relu1", x, Activation::relu);
    return norm(name + ".bn2", b_.conv(name + ".conv2", x, {.out = planes, .kernel = 3, .pad = 1}));
  }

  // The stride is in the 3x3 convolution: torchvision's v1.5, not the paper's.
  Image bottleneck(const std::string& name, Image x, std::int64_t planes, std::int64_t stride) {
    const std::int64_t width = planes * layout_.width_per_group / 64 * layout_.groups;
    x = norm(name + ".bn1", b_.conv(name + ".conv1", x, {.out = width}));
    x = b_.activate(name + ".relu1", x, Activation::relu);
    x = norm(name + ".bn2", b_.conv(name + ".conv2", x,
                                    {.out = width, .kernel = 3, .stride = stride, .pad = 1, .groups = layout_.groups}));
    x = b_.activate(name + ".relu2", x, Activation::relu);
    return norm(name + ".bn3", b_.conv(name + ".conv3", x, {.out = planes * 4}));
  }

  Blocks& b_;
  const ResNetLayout& layout_;
  bool frozen_;
};

Result<Network> build_resnet(const Entry& entry, const Arguments& arguments, Mode mode) {
  Blocks b(entry.name, mode);
  const Image x = b.image_input("input", arguments.image());
  const Image last = resnet_stages(b, x, row_of(kResNets, entry).layout, "", false).back();
  const Features f = b.flatten("flatten", b.global_average_pool("avgpool", last));
  b.output(b.linear("fc", f, arguments.integer("classes", 1000)).id);
  return std::move(b).finish();
}

}  // namespace

std::vector<Image> resnet_stages(Blocks& b, Image x, const ResNetLayout& layout, const std::string& prefix, bool frozen) {
  Stages stages(b, layout, frozen);
  x = stages.stem(prefix, x);
  std::vector<Image> ends;
  for (int stage = 0; stage < 4; ++stage) {
    for (std::int64_t i = 0; i < layout.blocks[stage]; ++i)
      x = stages.block(fmt::format("{}layer{}.{}", prefix, stage + 1, i), x, std::int64_t{64} << stage,
                       stage > 0 && i == 0 ? 2 : 1);
    ends.push_back(x);
  }
  return ends;
}

std::vector<Entry> resnet_entries() {
  std::vector<Entry> entries;
  for (const ResNet& net : kResNets)
    entries.push_back({net.name, net.title, kClassification, "3x224x224", kClassifierOptions, build_resnet});
  return entries;
}

}  // namespace plimsoll::network::zoo
