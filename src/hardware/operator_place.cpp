#include "hardware/operator_place.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace plimsoll::hardware {
namespace {

double doublings(std::int64_t extent) {
  return std::log2(static_cast<double>(std::max<std::int64_t>(extent, 1)));
}

/// How often an extent can be halved, up to 64: whether vectors and tiles fit.
double alignment(std::int64_t extent) {
  return doublings(std::gcd(std::max<std::int64_t>(extent, 1), std::int64_t{64}));
}

double trait(bool there, double length) {
  return there ? 1 / length : 0;
}

/// A convolution with what follows from its extents.
struct Window {
  std::int64_t batch, inputs, outs, groups;  ///< channels of a group
  std::int64_t height, width, positions, taps;
  explicit Window(const Extents& e)
      : batch(e[0]),
        inputs(e[1] / std::max<std::int64_t>(e[8], 1)),
        outs(e[4] / std::max<std::int64_t>(e[8], 1)),
        groups(std::max<std::int64_t>(e[8], 1)),
        height(std::max<std::int64_t>(e[conv::out_height], 1)),
        width(std::max<std::int64_t>(e[conv::out_width], 1)),
        positions(height * width),
        taps(e[5] * e[6]) {}
};

/// Rows, columns and depth of the product that a convolution is computed as.
struct Product {
  double rows, columns, depth;
};
Product product_of(const OperatorCase& c) {
  const Window w(c.extents);
  const auto real = [](std::int64_t value) { return static_cast<double>(std::max<std::int64_t>(value, 1)); };
  const double batch = real(w.batch), inputs = real(w.inputs), outs = real(w.outs), taps = real(w.taps);
  switch (c.direction) {
    case Direction::forward: break;
    case Direction::backward_input:
      return {batch * real(c.extents[2]) * real(c.extents[3]), inputs, outs * taps};
    case Direction::backward_weight: return {outs, inputs * taps, batch * real(w.positions)};
  }
  return {batch * real(w.positions), outs, inputs * taps};
}

constexpr double kTile = 128, kTileDepth = 32, kMostPadding = 16;

double tiles_of(const Product& p) {
  return std::ceil(p.rows / kTile) * std::ceil(p.columns / kTile);
}

/// On a CPU PyTorch leaves a small convolution of a single image to a product of its own instead of oneDNN
/// (ConvParams::use_mkldnn), which is many times slower. FP32 because a GPU's convolutions rarely are.
bool is_left_to_product(const OperatorCase& c) {
  constexpr std::int64_t kSmall = 20480;
  const Extents& e = c.extents;
  return c.arithmetic == Arithmetic::fp32 && e[0] == 1 && e[5] <= 3 && e[6] <= 3 && e[8] <= 1 &&
         e[1] * e[2] * e[3] <= kSmall;
}

OperatorPlace convolution_place(const OperatorCase& c) {
  const Extents& e = c.extents;
  const Window w(e);
  // With three channels that are the fastest in memory, the image's side and the number of results decide
  // which kernel a library takes.
  const bool first_layer = c.operator_class == OperatorClass::convolution_channels_last && e[1] <= 4;
  return {doublings(e[0]) / 6,
          doublings(w.positions) / 8,
          doublings(e[4]) / 4,
          doublings(e[1]) / 3,
          doublings(e[5]) / 2.5,
          doublings(e[6]) / 2,
          doublings(e[7]) / 1.6,
          trait(w.taps == 1, 0.6),
          first_layer ? alignment(e[4]) / 6 : alignment(e[1]) / 12,
          trait(e[1] <= 4, 2),
          std::log2(tiles_of(product_of(c))) / 12,
          first_layer ? doublings(e[2]) / 0.8 : trait(is_left_to_product(c), 0.5)};
}
OperatorPlace grouped_place(const Extents& e) {
  const Window w(e);
  return {doublings(e[0]) / 9.6,     doublings(w.positions) / 8, doublings(w.outs) / 2.4,
          doublings(e[5]) / 1.5,     doublings(e[6]) / 1.5,      doublings(e[7]) / 4,
          doublings(w.groups) / 4.8, alignment(w.outs) / 6};
}
OperatorPlace depthwise_place(const Extents& e) {
  const Window w(e);
  return {doublings(e[0]) / 5, doublings(w.positions) / 4,    doublings(e[1]) / 4, doublings(e[5]) / 1.2,
          doublings(e[7]),     trait(w.positions % 4 == 0, 4)};
}
OperatorPlace matrix_place(const Extents& e) {
  return {doublings(e[0]) / 4, doublings(e[1]) / 2.4, doublings(e[2]) / 4,
          trait(e[3] != 0, 4), alignment(e[0]) / 8,   alignment(e[1]) / 3.6,
          alignment(e[2]) / 6, trait(e[0] == 1, 1.8), trait(e[0] <= 16, 3)};
}
OperatorPlace batched_place(const Extents& e) {
  return {doublings(e[0]) / 4,   doublings(e[1]) / 3,   doublings(e[2]) / 4.8, doublings(e[3]) / 3,
          alignment(e[1]) / 6.4, alignment(e[2]) / 6.4, alignment(e[3]) / 10};
}
OperatorPlace attention_place(const Extents& e) {
  const bool odd_width = !std::has_single_bit(static_cast<std::uint64_t>(std::max<std::int64_t>(e[4], 1)));
  return {(doublings(e[0]) + doublings(e[1])) / 6.4,
          doublings(e[2]) / 3,
          doublings(e[3]) / 4.8,
          doublings(e[4]) / 2.4,
          trait(e[5] == 1, 6.5),
          trait(e[5] == 2, 1.6),
          trait(e[2] == 1, 2.5),
          trait(odd_width, 3)};
}
OperatorPlace grouped_attention_place(const Extents& e) {
  return {(doublings(e[grouped::batch]) + doublings(e[grouped::key_heads])) / 4,
          doublings(e[grouped::heads] / std::max<std::int64_t>(e[grouped::key_heads], 1)) / 3,
          doublings(e[grouped::queries]) / 3,
          doublings(e[grouped::keys]) / 4,
          doublings(e[grouped::width]) / 2.4,
          trait(e[grouped::queries] == 1, 0.8)};
}
OperatorPlace pool_place(const Extents& e) {
  return {(doublings(e[0]) + doublings(e[1])) / 4, (doublings(e[2]) + doublings(e[3])) / 4, doublings(e[4]),
          doublings(e[5])};
}
OperatorPlace group_norm_place(const Extents& e) {
  return {(doublings(e[0]) + doublings(e[3])) / 4, (doublings(e[1]) - doublings(e[3])) / 4,
          doublings(e[2]) / 4};
}

/// Extents as they are; rows care for the alignment of the last.
OperatorPlace plain_place(const OperatorCase& c, double length, bool aligned) {
  const std::size_t count = extent_count(c.operator_class);
  OperatorPlace place{};
  for (std::size_t i = 0; i < count; ++i) place[i] = doublings(c.extents[i]) / length;
  if (aligned) place[count] = alignment(c.extents[count - 1]) / 6;
  return place;
}

}  // namespace

OperatorPlace place_of(const OperatorCase& c) {
  using enum OperatorClass;
  switch (channels_first(c.operator_class)) {
    case convolution: return convolution_place(c);
    case grouped: return grouped_place(c.extents);
    case depthwise: return depthwise_place(c.extents);
    case matrix: return matrix_place(c.extents);
    case batched: return batched_place(c.extents);
    case attention: return attention_place(c.extents);
    case grouped_attention: return grouped_attention_place(c.extents);
    case max_pool:
    case average_pool: return pool_place(c.extents);
    case group_norm: return group_norm_place(c.extents);
    case embedding: return plain_place(c, 4, false);
    case layer_norm:
    case softmax:
    case row_sum:
    case column_sum:
    case transpose: return plain_place(c, 3, true);
    default: return plain_place(c, 3, false);
  }
}

bool is_matrix_product(OperatorClass operator_class) {
  using enum OperatorClass;
  operator_class = channels_first(operator_class);
  return operator_class == convolution || operator_class == grouped || operator_class == matrix ||
         operator_class == batched || operator_class == attention || operator_class == grouped_attention;
}

bool is_convolution(OperatorClass operator_class) {
  using enum OperatorClass;
  operator_class = channels_first(operator_class);
  return operator_class == convolution || operator_class == grouped || operator_class == depthwise;
}

bool is_product(OperatorClass operator_class) {
  return is_matrix_product(operator_class) || is_convolution(operator_class);
}

std::optional<double> distance_of(OperatorClass operator_class, Arithmetic a, Arithmetic b) {
  if (a == b) return 0;
  if (is_matrix_product(operator_class)) return std::nullopt;
  const auto half = [](Arithmetic x) { return x == Arithmetic::bf16 || x == Arithmetic::fp16; };
  return half(a) && half(b) ? 0.1 : 0.35;
}

double tile_padding(const OperatorCase& c) {
  using enum OperatorClass;
  const OperatorClass first = channels_first(c.operator_class);
  if (first != convolution && first != grouped) return 1;
  const Product p = product_of(c);
  const double computed = tiles_of(p) * kTile * kTile * std::ceil(p.depth / kTileDepth) * kTileDepth;
  return std::clamp(computed / (p.rows * p.columns * p.depth), 1.0, kMostPadding);
}

}  // namespace plimsoll::hardware
