#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "network/zoo/blocks.hpp"
#include "network/zoo/families.hpp"
#include "network/zoo/scaling.hpp"

namespace plimsoll::network::zoo {

Image conv_norm_activation(Blocks& b, const std::string& name, Image x, const Convolution& c,
                           Activation activation, double epsilon) {
  x = b.batch_norm(name + ".1", b.conv(name + ".0", x, c), epsilon);
  return b.activate(name + ".2", x, activation);
}

std::int64_t divisible_by_8(double channels) {
  const std::int64_t rounded = std::max<std::int64_t>(8, static_cast<std::int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * channels ? rounded + 8 : rounded;
}

namespace {

// ---- MobileNet v1: Howard et al. 2017, as TensorFlow has it.

struct Separable {
  std::int64_t out;
  std::int64_t stride;
};
constexpr Separable kSeparable[] = {{64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
                                    {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
constexpr Option kMobileNetV1Options[] = {
    kInput,
    kChannels,
    kClasses,
    {"alpha", "the width: every layer's channels times this", "1", Option::Kind::real, 0.01, 16}};

// TensorFlow's SAME: ceil(n / stride) outputs, the odd row of padding at the end.
Convolution same(Image x, Convolution c) {
  const auto total = [](std::int64_t n, std::int64_t kernel, std::int64_t stride) {
    return std::max<std::int64_t>(0, ((n + stride - 1) / stride - 1) * stride + kernel - n);
  };
  const Size pads{total(x.size.height, c.kernel.height, c.stride.height),
                  total(x.size.width, c.kernel.width, c.stride.width)};
  c.pad = {pads.height / 2, pads.width / 2};
  c.pad_end = Size{pads.height - pads.height / 2, pads.width - pads.width / 2};
  return c;
}

Result<Network> build_mobilenet_v1(const Entry& entry, const Arguments& arguments, Mode mode) {
  const double alpha = arguments.real("alpha", 1);
  const auto scaled = [alpha](std::int64_t channels) {
    return std::max<std::int64_t>(8, static_cast<std::int64_t>(static_cast<double>(channels) * alpha));
  };
  Blocks b(entry.name, mode);
  Image x = b.image_input("input", arguments.image());
  const auto unit = [&b](const std::string& name, Image in, const Convolution& c) {
    in = b.batch_norm(name + "_bn", b.conv(name, in, same(in, c)), 0.001);
    return b.activate(name + "_relu", in, Activation::relu6);
  };
  x = unit("conv1", x, {.out = scaled(32), .kernel = 3, .stride = 2});
  int index = 1;
  for (const Separable& layer : kSeparable) {
    x = unit(fmt::format("conv_dw_{}", index), x,
             {.out = x.channels, .kernel = 3, .stride = layer.stride, .groups = x.channels});
    x = unit(fmt::format("conv_pw_{}", index++), x, {.out = scaled(layer.out)});
  }
  x = b.global_average_pool("global_average_pooling", x);
  x.id = b.dropout("dropout", x.id, 0.001);
  x = b.conv("conv_preds", x, {.out = arguments.integer("classes", 1000), .bias = true});
  b.output(b.flatten("reshape", x).id);
  return std::move(b).finish();
}

// ---- MobileNet v2: Sandler et al. 2018.

struct Inverted {
  std::int64_t expand, out, repeats, stride;
};
constexpr Inverted kInverted[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                  {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

Image inverted_residual(Blocks& b, const std::string& name, Image x, const Inverted& c, std::int64_t stride) {
  const std::int64_t hidden = x.channels * c.expand;
  int part = 0;
  const auto next = [&] { return fmt::format("{}.conv.{}", name, part++); };
  Image y = x;
  if (c.expand != 1) y = conv_norm_activation(b, next(), y, {.out = hidden}, Activation::relu6);
  y = conv_norm_activation(b, next(), y,
                           {.out = hidden, .kernel = 3, .stride = stride, .pad = 1, .groups = hidden},
                           Activation::relu6);
  y = b.conv(next(), y, {.out = c.out});
  y = b.batch_norm(next(), y);
  return stride == 1 && x.channels == c.out ? b.sum(name + ".add", x, y) : y;
}

Result<Network> build_mobilenet_v2(const Entry& entry, const Arguments& arguments, Mode mode) {
  Blocks b(entry.name, mode);
  Image x = b.image_input("input", arguments.image());
  x = conv_norm_activation(b, "features.0", x, {.out = 32, .kernel = 3, .stride = 2, .pad = 1},
                           Activation::relu6);
  int index = 1;
  for (const Inverted& row : kInverted)
    for (std::int64_t i = 0; i < row.repeats; ++i)
      x = inverted_residual(b, fmt::format("features.{}", index++), x, row, i == 0 ? row.stride : 1);
  x = conv_norm_activation(b, fmt::format("features.{}", index), x, {.out = 1280}, Activation::relu6);
  Features f = b.flatten("flatten", b.global_average_pool("avgpool", x));
  f.id = b.dropout("classifier.0", f.id, 0.2);
  b.output(b.linear("classifier.1", f, arguments.integer("classes", 1000)).id);
  return std::move(b).finish();
}

// ---- MobileNet v3: Howard et al. 2019.

struct Bottleneck {
  std::int64_t kernel, expanded, out;
  bool squeeze;
  Activation activation;
  std::int64_t stride;
};
constexpr Activation kRe = Activation::relu;
constexpr Activation kHs = Activation::hard_swish;
constexpr Bottleneck kLarge[] = {
    {3, 16, 16, false, kRe, 1},  {3, 64, 24, false, kRe, 2},  {3, 72, 24, false, kRe, 1},
    {5, 72, 40, true, kRe, 2},   {5, 120, 40, true, kRe, 1},  {5, 120, 40, true, kRe, 1},
    {3, 240, 80, false, kHs, 2}, {3, 200, 80, false, kHs, 1}, {3, 184, 80, false, kHs, 1},
    {3, 184, 80, false, kHs, 1}, {3, 480, 112, true, kHs, 1}, {3, 672, 112, true, kHs, 1},
    {5, 672, 160, true, kHs, 2}, {5, 960, 160, true, kHs, 1}, {5, 960, 160, true, kHs, 1}};
constexpr Bottleneck kSmall[] = {
    {3, 16, 16, true, kRe, 2},  {3, 72, 24, false, kRe, 2}, {3, 88, 24, false, kRe, 1},
    {5, 96, 40, true, kHs, 2},  {5, 240, 40, true, kHs, 1}, {5, 240, 40, true, kHs, 1},
    {5, 120, 48, true, kHs, 1}, {5, 144, 48, true, kHs, 1}, {5, 288, 96, true, kHs, 2},
    {5, 576, 96, true, kHs, 1}, {5, 576, 96, true, kHs, 1}};
constexpr double kV3Epsilon = 0.001;

Image bottleneck(Blocks& b, const std::string& name, Image x, const Bottleneck& c) {
  int part = 0;
  const auto next = [&] { return fmt::format("{}.block.{}", name, part++); };
  Image y = x;
  if (c.expanded != x.channels)
    y = conv_norm_activation(b, next(), y, {.out = c.expanded}, c.activation, kV3Epsilon);
  y = conv_norm_activation(
      b, next(), y,
      {.out = c.expanded, .kernel = c.kernel, .stride = c.stride, .pad = c.kernel / 2, .groups = c.expanded},
      c.activation, kV3Epsilon);
  if (c.squeeze) {
    const std::int64_t quarter = c.expanded / 4;  // rounded down, as torchvision does
    y = b.squeeze_excite(next(), y, divisible_by_8(static_cast<double>(quarter)), Activation::relu,
                         Activation::hard_sigmoid);
  }
  y = conv_norm_activation(b, next(), y, {.out = c.out}, Activation::none, kV3Epsilon);
  return c.stride == 1 && x.channels == c.out ? b.sum(name + ".add", x, y) : y;
}

Result<Network> build_mobilenet_v3(const Entry& entry, const Arguments& arguments, Mode mode) {
  const bool large = entry.name == "mobilenet_v3_large";
  const std::span<const Bottleneck> rows =
      large ? std::span<const Bottleneck>(kLarge) : std::span<const Bottleneck>(kSmall);
  Blocks b(entry.name, mode);
  Image x = b.image_input("input", arguments.image());
  x = conv_norm_activation(b, "features.0", x, {.out = 16, .kernel = 3, .stride = 2, .pad = 1}, kHs,
                           kV3Epsilon);
  int index = 1;
  for (const Bottleneck& row : rows) x = bottleneck(b, fmt::format("features.{}", index++), x, row);
  x = conv_norm_activation(b, fmt::format("features.{}", index), x, {.out = 6 * x.channels}, kHs, kV3Epsilon);
  Features f = b.flatten("flatten", b.global_average_pool("avgpool", x));
  f = b.linear("classifier.0", f, large ? 1280 : 1024);
  f.id = b.activate("classifier.1", f.id, kHs);
  f.id = b.dropout("classifier.2", f.id, 0.2);
  b.output(b.linear("classifier.3", f, arguments.integer("classes", 1000)).id);
  return std::move(b).finish();
}

}  // namespace

std::vector<Entry> mobilenet_entries() {
  return {
      {"mobilenet_v1", "MobileNet v1 at any width", kClassification, "3x224x224", kMobileNetV1Options,
       build_mobilenet_v1},
      {"mobilenet_v2", "MobileNet v2", kClassification, "3x224x224", kClassifierOptions, build_mobilenet_v2},
      {"mobilenet_v3_large", "MobileNet v3 large", kClassification, "3x224x224", kClassifierOptions,
       build_mobilenet_v3},
      {"mobilenet_v3_small", "MobileNet v3 small", kClassification, "3x224x224", kClassifierOptions,
       build_mobilenet_v3}};
}

}  // namespace plimsoll::network::zoo
