#include "hardware/calibration.hpp"

#include <algorithm>
#include <cmath>

#include "base/named.hpp"

namespace plimsoll::hardware {
namespace {

constexpr std::string_view kConvolution =
    "batch in_channels height width out_channels kernel_height kernel_width stride groups";
constexpr std::string_view kImage = "batch channels positions";
constexpr std::string_view kWindow = "batch channels height width kernel stride";

constexpr std::array<OperatorClassRow, kOperatorClasses> kRows = {{
    {OperatorClass::convolution, "convolution", kConvolution, true},
    {OperatorClass::grouped, "grouped", kConvolution, true},
    {OperatorClass::depthwise, "depthwise", kConvolution, true},
    {OperatorClass::depthwise_channels_last, "depthwise-channels-last", kConvolution, true},
    {OperatorClass::matrix, "matrix", "m n k bias", true},
    {OperatorClass::batched, "batched", "batch m n k", false},
    {OperatorClass::attention, "attention", "batch heads queries keys width mask", false},
    {OperatorClass::batch_norm, "batch-norm", kImage, false},
    {OperatorClass::batch_norm_training, "batch-norm-training", kImage, false},
    {OperatorClass::layer_norm, "layer-norm", "rows width", false},
    {OperatorClass::group_norm, "group-norm", "batch channels positions groups", false},
    {OperatorClass::softmax, "softmax", "rows width", false},
    {OperatorClass::max_pool, "max-pool", kWindow, false},
    {OperatorClass::average_pool, "average-pool", kWindow, false},
    {OperatorClass::global_pool, "global-pool", "rows positions", false},
    {OperatorClass::unary, "unary", "elements", false},
    {OperatorClass::function, "function", "elements", false},
    {OperatorClass::binary, "binary", "elements", false},
    {OperatorClass::broadcast, "broadcast", kImage, false},
    {OperatorClass::row_sum, "row-sum", "rows width", false},
    {OperatorClass::column_sum, "column-sum", "rows width", false},
    {OperatorClass::embedding, "embedding", "tokens width vocabulary", false},
    {OperatorClass::copy, "copy", "elements", false},
    {OperatorClass::transpose, "transpose", "batch rows columns", false},
    {OperatorClass::optimizer_sgd, "optimizer-sgd", "tensors elements", false},
    {OperatorClass::optimizer_momentum, "optimizer-momentum", "tensors elements", false},
    {OperatorClass::optimizer_adam, "optimizer-adam", "tensors elements", false},
}};
constexpr std::array<std::string_view, kDirections> kDirectionNames = {"forward", "backward-input",
                                                                       "backward-weight"};

double element_bytes(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::fp64: return 8;
    case Arithmetic::fp32:
    case Arithmetic::tf32: return 4;
    case Arithmetic::fp16:
    case Arithmetic::bf16: return 2;
    case Arithmetic::int8:
    case Arithmetic::fp8: return 1;
  }
  return 4;
}

constexpr double kIndexBytes = 8;

/// FLOPs, and elements that are read and written, each counted in the type of the case; other bytes apart.
struct Tally {
  double flops = 0, elements = 0, other_bytes = 0;
};

/// The extents as numbers that do not overflow.
using Values = std::array<double, kMaxExtents>;

double window_positions(double in, double kernel, double padding, double stride) {
  return std::max(0.0, std::floor((in + 2 * padding - kernel) / std::max(stride, 1.0)) + 1);
}

/// Forward, gradient of the input and gradient of the weight multiply equally often, and each reads two of
/// the three tensors and writes the third.
Tally convolution(const Values& e) {
  const double height = window_positions(e[2], e[5], std::floor(e[5] / 2), e[7]);
  const double width = window_positions(e[3], e[6], std::floor(e[6] / 2), e[7]);
  const double weights = e[4] * e[1] / std::max(e[8], 1.0) * e[5] * e[6];
  return {2 * e[0] * height * width * weights,
          e[0] * e[1] * e[2] * e[3] + weights + e[0] * e[4] * height * width};
}

Tally matrix(const Values& e, Direction direction) {
  const bool bias = e[3] != 0 && direction == Direction::forward;
  return {2 * e[0] * e[1] * e[2], e[0] * e[2] + e[1] * e[2] + e[0] * e[1] + (bias ? e[1] : 0)};
}

Tally batched(const Values& e, bool backward) {
  const double flops = 2 * e[0] * e[1] * e[2] * e[3];
  const double elements = e[0] * (e[1] * e[3] + e[3] * e[2] + e[1] * e[2]);
  return backward ? Tally{2 * flops, 2 * elements} : Tally{flops, elements};
}

/// Without the scores, which a good kernel never writes. Backward it computes them again: five products for
/// two (Dao et al. 2022).
Tally attention(const Values& e, bool backward) {
  const double scores = e[0] * e[1] * e[2] * e[3] * (e[5] == 1 ? 0.5 : 1);
  const double rows = e[0] * e[1] * e[4] * (e[2] + e[3]);
  const double mask = e[5] == 2 ? e[0] * e[2] * e[3] : 0;
  return {(backward ? 10 : 4) * scores * e[4], (backward ? 4 : 2) * rows, mask};
}

Tally pool(const Values& e, double index_bytes) {
  const double padding = std::floor((e[4] - 1) / 2);
  const double outputs =
      e[0] * e[1] * window_positions(e[2], e[4], padding, e[5]) * window_positions(e[3], e[4], padding, e[5]);
  return {outputs * e[4] * e[4], e[0] * e[1] * e[2] * e[3] + outputs, outputs * index_bytes};
}

/// Every element so often read and written, with so many FLOPs each.
Tally stream(double elements, double flops, double times) {
  return {elements * flops, elements * times};
}

Tally tally(const OperatorCase& c, const Values& e) {
  const bool backward = c.direction != Direction::forward;
  switch (c.operator_class) {
    case OperatorClass::convolution:
    case OperatorClass::grouped:
    case OperatorClass::depthwise:
    case OperatorClass::depthwise_channels_last: return convolution(e);
    case OperatorClass::matrix: return matrix(e, c.direction);
    case OperatorClass::batched: return batched(e, backward);
    case OperatorClass::attention: return attention(e, backward);
    case OperatorClass::batch_norm: return stream(e[0] * e[1] * e[2], 2, 2);
    case OperatorClass::batch_norm_training:
      return backward ? stream(e[0] * e[1] * e[2], 8, 5) : stream(e[0] * e[1] * e[2], 5, 3);
    case OperatorClass::layer_norm: return backward ? stream(e[0] * e[1], 9, 3) : stream(e[0] * e[1], 7, 2);
    case OperatorClass::group_norm:
      return backward ? stream(e[0] * e[1] * e[2], 9, 3) : stream(e[0] * e[1] * e[2], 7, 2);
    case OperatorClass::softmax: return backward ? stream(e[0] * e[1], 4, 3) : stream(e[0] * e[1], 5, 2);
    case OperatorClass::max_pool: return pool(e, kIndexBytes);
    case OperatorClass::average_pool: return pool(e, 0);
    case OperatorClass::global_pool: return {e[0] * e[1], e[0] * e[1] + e[0]};
    case OperatorClass::unary: return stream(e[0], 1, backward ? 3 : 2);
    case OperatorClass::function: return stream(e[0], 8, backward ? 3 : 2);
    case OperatorClass::binary: return stream(e[0], 1, 3);
    case OperatorClass::broadcast: return {e[0] * e[1] * e[2], 2 * e[0] * e[1] * e[2] + e[1]};
    case OperatorClass::row_sum: return {e[0] * e[1], e[0] * e[1] + e[0]};
    case OperatorClass::column_sum: return {e[0] * e[1], e[0] * e[1] + e[1]};
    case OperatorClass::embedding:
      return backward ? Tally{e[0] * e[1], e[0] * e[1] + e[2] * e[1], e[0] * kIndexBytes}
                      : Tally{0, 2 * e[0] * e[1], e[0] * kIndexBytes};
    case OperatorClass::copy: return stream(e[0], 0, 2);
    case OperatorClass::transpose: return stream(e[0] * e[1] * e[2], 0, 2);
    case OperatorClass::optimizer_sgd: return stream(e[1], 2, 3);
    case OperatorClass::optimizer_momentum: return stream(e[1], 4, 5);
    case OperatorClass::optimizer_adam: return stream(e[1], 12, 7);
  }
  return {};
}

}  // namespace

std::span<const OperatorClassRow> operator_classes() {
  return kRows;
}
std::string_view name(OperatorClass operator_class) {
  return kRows[static_cast<std::size_t>(operator_class)].name;
}
std::optional<OperatorClass> operator_class_named(std::string_view name) {
  const auto row = std::ranges::find(kRows, name, &OperatorClassRow::name);
  return row == kRows.end() ? std::nullopt : std::optional(row->operator_class);
}
std::size_t extent_count(OperatorClass operator_class) {
  const std::string_view names = kRows[static_cast<std::size_t>(operator_class)].extents;
  return static_cast<std::size_t>(std::ranges::count(names, ' ')) + 1;
}
std::string_view name(Direction direction) {
  return kDirectionNames[static_cast<std::size_t>(direction)];
}
std::optional<Direction> direction_named(std::string_view name) {
  return named<Direction>(name, kDirectionNames);
}

OperatorWork work_of(const OperatorCase& c) {
  Values values{};
  for (std::size_t i = 0; i < kMaxExtents; ++i)
    values[i] = static_cast<double>(std::max<std::int64_t>(c.extents[i], 0));
  const Tally counted = tally(c, values);
  return {counted.flops, counted.elements * element_bytes(c.arithmetic) + counted.other_bytes};
}

}  // namespace plimsoll::hardware
