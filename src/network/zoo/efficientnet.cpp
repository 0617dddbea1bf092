#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "network/zoo/blocks.hpp"
#include "network/zoo/families.hpp"
#include "network/zoo/scaling.hpp"

namespace plimsoll::network::zoo {
namespace {

// Tan and Le 2019; resolutions as torchvision's weights were made for. Stochastic depth is left out: it
// drops whole samples from a branch, which costs no memory beyond a row of random numbers.
struct EfficientNet {
  std::string_view name;
  std::string_view title;
  std::string_view input;
  double width, depth, dropout, epsilon;
};
constexpr EfficientNet kNets[] = {
    {"efficientnet_b0", "EfficientNet-B0", "3x224x224", 1.0, 1.0, 0.2, 1e-5},
    {"efficientnet_b1", "EfficientNet-B1", "3x240x240", 1.0, 1.1, 0.2, 1e-5},
    {"efficientnet_b2", "EfficientNet-B2", "3x288x288", 1.1, 1.2, 0.3, 1e-5},
    {"efficientnet_b3", "EfficientNet-B3", "3x300x300", 1.2, 1.4, 0.3, 1e-5},
    {"efficientnet_b4", "EfficientNet-B4", "3x380x380", 1.4, 1.8, 0.4, 1e-5},
    {"efficientnet_b5", "EfficientNet-B5", "3x456x456", 1.6, 2.2, 0.4, 1e-3},
    {"efficientnet_b6", "EfficientNet-B6", "3x528x528", 1.8, 2.6, 0.5, 1e-3},
    {"efficientnet_b7", "EfficientNet-B7", "3x600x600", 2.0, 3.1, 0.5, 1e-3},
};

struct Stage {
  std::int64_t expand, kernel, stride, in, out, layers;
};
constexpr Stage kStages[] = {{1, 3, 1, 32, 16, 1},  {6, 3, 2, 16, 24, 2},   {6, 5, 2, 24, 40, 2},  {6, 3, 2, 40, 80, 3},
                             {6, 5, 1, 80, 112, 3}, {6, 5, 2, 112, 192, 4}, {6, 3, 1, 192, 320, 1}};

Image inverted(Blocks& b, const std::string& name, Image x, const Stage& s, std::int64_t stride, std::int64_t out, double epsilon) {
  int part = 0;
  const auto next = [&] { return fmt::format("{}.block.{}", name, part++); };
  const std::int64_t expanded = divisible_by_8(static_cast<double>(x.channels * s.expand));
  Image y = x;
  if (expanded != x.channels) y = conv_norm_activation(b, next(), y, {.out = expanded}, Activation::silu, epsilon);
  y = conv_norm_activation(b, next(), y,
                           {.out = expanded, .kernel = s.kernel, .stride = stride, .pad = s.kernel / 2, .groups = expanded},
                           Activation::silu, epsilon);
  y = b.squeeze_excite(next(), y, std::max<std::int64_t>(1, x.channels / 4), Activation::silu, Activation::sigmoid);
  y = conv_norm_activation(b, next(), y, {.out = out}, Activation::none, epsilon);
  return stride == 1 && x.channels == out ? b.sum(name + ".add", y, x) : y;
}

Result<Network> build_efficientnet(const Entry& entry, const Arguments& arguments, Mode mode) {
  const EfficientNet& net = row_of(kNets, entry);
  const auto scaled = [&net](std::int64_t channels) { return divisible_by_8(static_cast<double>(channels) * net.width); };
  Blocks b(entry.name, mode);
  Image x = b.image_input("input", arguments.image());
  x = conv_norm_activation(b, "features.0", x, {.out = scaled(32), .kernel = 3, .stride = 2, .pad = 1}, Activation::silu, net.epsilon);
  int index = 1;
  for (const Stage& stage : kStages) {
    const auto layers = static_cast<std::int64_t>(std::ceil(static_cast<double>(stage.layers) * net.depth));
    for (std::int64_t i = 0; i < layers; ++i)
      x = inverted(b, fmt::format("features.{}.{}", index, i), x, stage, i == 0 ? stage.stride : 1, scaled(stage.out), net.epsilon);
    ++index;
  }
  x = conv_norm_activation(b, fmt::format("features.{}", index), x, {.out = 4 * x.channels}, Activation::silu, net.epsilon);
  Features f = b.flatten("flatten", b.global_average_pool("avgpool", x));
  f.id = b.dropout("classifier.0", f.id, net.dropout);
  b.output(b.linear("classifier.1", f, arguments.integer("classes", 1000)).id);
  return std::move(b).finish();
}

}  // namespace

std::vector<Entry> efficientnet_entries() {
  std::vector<Entry> entries;
  for (const EfficientNet& net : kNets)
    entries.push_back({net.name, net.title, kClassification, net.input, kClassifierOptions, build_efficientnet});
  return entries;
}

}  // namespace plimsoll::network::zoo
