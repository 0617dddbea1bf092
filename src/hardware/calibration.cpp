#include "hardware/calibration.hpp"

#include <algorithm>
#include <cmath>

#include "base/named.hpp"
#include "hardware/operations.hpp"
#include "hardware/operator_place.hpp"

namespace plimsoll::hardware {
namespace {

constexpr std::string_view kConvolution =
    "batch in_channels height width out_channels kernel_height kernel_width stride groups";
constexpr std::string_view kConvolutionMore =
    "out_height out_width stride_width dilation_height dilation_width";
constexpr std::string_view kImage = "batch channels positions";
constexpr std::string_view kWindow = "batch channels height width kernel stride";
constexpr std::string_view kWindowMore = "out_height out_width kernel_width";

constexpr std::array<OperatorClassRow, kOperatorClasses> kRows = {{
    {OperatorClass::convolution, "convolution", kConvolution, true, kConvolutionMore},
    {OperatorClass::grouped, "grouped", kConvolution, true, kConvolutionMore},
    {OperatorClass::depthwise, "depthwise", kConvolution, true, kConvolutionMore},
    {OperatorClass::depthwise_channels_last, "depthwise-channels-last", kConvolution, true, kConvolutionMore},
    {OperatorClass::matrix, "matrix", "m n k bias", true},
    {OperatorClass::batched, "batched", "batch m n k", false},
    {OperatorClass::attention, "attention", "batch heads queries keys width mask", false},
    {OperatorClass::batch_norm, "batch-norm", kImage, false},
    {OperatorClass::batch_norm_training, "batch-norm-training", kImage, false},
    {OperatorClass::layer_norm, "layer-norm", "rows width", false},
    {OperatorClass::group_norm, "group-norm", "batch channels positions groups", false},
    {OperatorClass::softmax, "softmax", "rows width", false},
    {OperatorClass::max_pool, "max-pool", kWindow, false, kWindowMore},
    {OperatorClass::average_pool, "average-pool", kWindow, false, kWindowMore},
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
    {OperatorClass::convolution_channels_last, "convolution-channels-last", kConvolution, true,
     kConvolutionMore},
    {OperatorClass::grouped_channels_last, "grouped-channels-last", kConvolution, true, kConvolutionMore},
    {OperatorClass::batch_norm_channels_last, "batch-norm-channels-last", kImage, false},
    {OperatorClass::batch_norm_training_channels_last, "batch-norm-training-channels-last", kImage, false},
    {OperatorClass::max_pool_channels_last, "max-pool-channels-last", kWindow, false, kWindowMore},
    {OperatorClass::average_pool_channels_last, "average-pool-channels-last", kWindow, false, kWindowMore},
    {OperatorClass::grouped_attention, "grouped-attention", "batch heads key_heads queries keys width",
     false},
    {OperatorClass::channel_sum, "channel-sum", kImage, false},
    {OperatorClass::counted, "counted", "flops bytes_read bytes_written", false, "macs"},
}};
struct Layouts {
  OperatorClass channels_first, channels_last;
};
constexpr Layouts kLayouts[] = {
    {OperatorClass::convolution, OperatorClass::convolution_channels_last},
    {OperatorClass::grouped, OperatorClass::grouped_channels_last},
    {OperatorClass::depthwise, OperatorClass::depthwise_channels_last},
    {OperatorClass::batch_norm, OperatorClass::batch_norm_channels_last},
    {OperatorClass::batch_norm_training, OperatorClass::batch_norm_training_channels_last},
    {OperatorClass::max_pool, OperatorClass::max_pool_channels_last},
    {OperatorClass::average_pool, OperatorClass::average_pool_channels_last},
};

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

/// Operations, and elements that are read and written, each counted in the type of the case; other bytes
/// apart.
struct Tally {
  Operations<double> operations;
  double read = 0, written = 0;
  double other_read = 0, other_written = 0;  ///< B
};

/// The extents as numbers that do not overflow.
using Values = std::array<double, kMaxExtents>;

std::int64_t padded_positions(std::int64_t in, std::int64_t kernel, std::int64_t padding,
                              std::int64_t stride) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;  // sums of a few must not overflow
  const std::int64_t room = std::min(in, kMost) + 2 * std::min(padding, kMost) - std::min(kernel, 2 * kMost);
  return room < 0 ? 0 : room / std::max<std::int64_t>(stride, 1) + 1;
}

/// Forward, gradient of the input and gradient of the weight multiply equally often, and each reads two of
/// the three tensors and writes the third.
Tally convolution(const Values& e, Direction direction) {
  const double depth =
      e[conv::in_channels] / std::max(e[conv::groups], 1.0) * e[conv::kernel_height] * e[conv::kernel_width];
  const double weights = e[conv::out_channels] * depth;
  const double input = e[conv::batch] * e[conv::in_channels] * e[conv::height] * e[conv::width];
  const double output = e[conv::batch] * e[conv::out_channels] * e[conv::out_height] * e[conv::out_width];
  const Operations<double> operations = formula::contraction(output, depth);
  switch (direction) {
    case Direction::forward: break;
    case Direction::backward_input: return {operations, weights + output, input};
    case Direction::backward_weight: return {operations, input + output, weights};
  }
  return {operations, input + weights, output};
}

Tally matrix(const Values& e, Direction direction) {
  const bool bias = e[3] != 0 && direction == Direction::forward;
  const double x = e[0] * e[2], w = e[1] * e[2], y = e[0] * e[1];
  const Operations<double> operations = formula::contraction(y, e[2], bias);
  switch (direction) {
    case Direction::forward: break;
    case Direction::backward_input: return {operations, w + y, x};
    case Direction::backward_weight: return {operations, x + y, w};
  }
  return {operations, x + w + (bias ? e[1] : 0), y};
}

Tally batched(const Values& e, bool backward) {
  const double a = e[0] * e[1] * e[3], b = e[0] * e[3] * e[2], y = e[0] * e[1] * e[2];
  return backward ? Tally{formula::contraction(2 * y, e[3]), a + b + 2 * y, a + b}
                  : Tally{formula::contraction(y, e[3]), a + b, y};
}

/// Backward attention computes its scores again: five products for two (Dao et al. 2022).
constexpr double kProductsAgain = 2.5;

/// Without the scores, which a good kernel never writes.
Tally attention(const Values& e, bool backward) {
  const double scores = e[0] * e[1] * e[2] * e[3] * (e[5] == 1 ? 0.5 : 1);
  const double queries = e[0] * e[1] * e[4] * e[2], keys = e[0] * e[1] * e[4] * e[3];
  const double mask = e[5] == 2 ? e[0] * e[2] * e[3] : 0;
  Operations<double> operations = formula::attention(scores, e[4], e[4]);
  if (!backward) return {operations, queries + 2 * keys, queries, mask};
  operations = {kProductsAgain * operations.macs, operations.other_flops + scores * kSoftmaxCost.backward};
  return {operations, 3 * queries + 2 * keys, queries + 2 * keys, mask};
}

/// Each query sees the keys up to its own token.
Tally grouped_attention(const Values& e, bool backward) {
  const double rows = e[grouped::batch] * e[grouped::heads] * e[grouped::queries];
  const double seen = std::max(e[grouped::keys] - (e[grouped::queries] - 1) / 2, 0.5);
  const double width = e[grouped::width];
  const double queries = rows * width;
  const double keys = e[grouped::batch] * e[grouped::key_heads] * e[grouped::keys] * width;
  Operations<double> operations = formula::attention(rows * seen, width, width);
  if (!backward) return {operations, queries + 2 * keys, queries};
  operations = {kProductsAgain * operations.macs,
                operations.other_flops + rows * seen * kSoftmaxCost.backward};
  return {operations, 3 * queries + 2 * keys, queries + 2 * keys};
}

Tally window(const Values& e, double index_bytes, bool backward) {
  const double inputs = e[pool::batch] * e[pool::channels] * e[pool::height] * e[pool::width];
  const double outputs = e[pool::batch] * e[pool::channels] * e[pool::out_height] * e[pool::out_width];
  const Operations<double> operations =
      formula::pooling(outputs, e[pool::kernel_height] * e[pool::kernel_width],
                       backward ? kPoolCost.backward : kPoolCost.forward);
  if (backward) return {operations, outputs, inputs, outputs * index_bytes, 0};
  return {operations, inputs, outputs, 0, outputs * index_bytes};
}

/// Every element so often read and written, with so many FLOPs each.
Tally stream(double elements, int flops, double times_read, double times_written = 1) {
  return {formula::per_element(elements, flops), elements * times_read, elements * times_written};
}

/// Backward a kernel reads more tensors than forward.
Tally stream(double elements, ElementCost cost, bool backward, double read, double read_backward) {
  return stream(elements, backward ? cost.backward : cost.forward, backward ? read_backward : read);
}

/// So many values summed to so few.
Tally summed(double elements, double results) {
  return {formula::per_element(elements, kSumCost.forward), elements, results};
}

Tally tally(const OperatorCase& c, const Values& e) {
  constexpr int kSgd = 2, kMomentum = 4, kAdam = 12;  // FLOPs per parameter
  const bool backward = c.direction != Direction::forward;
  const double image = e[0] * e[1] * e[2], rows = e[0] * e[1];
  switch (channels_first(c.operator_class)) {
    case OperatorClass::convolution:
    case OperatorClass::grouped:
    case OperatorClass::depthwise: return convolution(e, c.direction);
    case OperatorClass::matrix: return matrix(e, c.direction);
    case OperatorClass::batched: return batched(e, backward);
    case OperatorClass::attention: return attention(e, backward);
    case OperatorClass::grouped_attention: return grouped_attention(e, backward);
    case OperatorClass::batch_norm: return stream(image, kBatchNormCost.forward, 1);
    case OperatorClass::batch_norm_training: return stream(image, kBatchNormTrainingCost, backward, 2, 4);
    case OperatorClass::layer_norm: return stream(rows, kLayerNormCost, backward, 1, 2);
    case OperatorClass::group_norm: return stream(image, kGroupNormCost, backward, 1, 2);
    case OperatorClass::softmax: return stream(rows, kSoftmaxCost, backward, 1, 2);
    case OperatorClass::max_pool: return window(e, kIndexBytes, backward);
    case OperatorClass::average_pool: return window(e, 0, backward);
    case OperatorClass::global_pool:
      return backward ? Tally{formula::per_element(rows, kPoolCost.backward), e[0], rows}
                      : Tally{formula::pooling(e[0], e[1]), rows, e[0]};
    case OperatorClass::unary: return stream(e[0], kRectifierCost, backward, 1, 2);
    case OperatorClass::function: return stream(e[0], kGeluCost, backward, 1, 2);
    case OperatorClass::binary: return stream(e[0], kSumCost.forward, 2);
    case OperatorClass::broadcast:
      return {formula::per_element(image, kSumCost.forward), image + e[1], image};
    case OperatorClass::row_sum: return summed(rows, e[0]);
    case OperatorClass::column_sum: return summed(rows, e[1]);
    case OperatorClass::channel_sum: return summed(image, e[1]);
    case OperatorClass::embedding:
      return backward
                 ? Tally{formula::per_element(rows, kSumCost.forward), rows, e[2] * e[1], e[0] * kIndexBytes}
                 : Tally{{}, rows, rows, e[0] * kIndexBytes};
    case OperatorClass::copy: return stream(e[0], 0, 1);
    case OperatorClass::transpose: return stream(image, 0, 1);
    case OperatorClass::optimizer_sgd: return stream(e[1], kSgd, 2);
    case OperatorClass::optimizer_momentum: return stream(e[1], kMomentum, 3, 2);
    case OperatorClass::optimizer_adam: return stream(e[1], kAdam, 4, 3);
    case OperatorClass::counted: return {{e[3], e[0]}, 0, 0, e[1], e[2]};
    default: break;  // of the other layout
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
OperatorClass channels_last(OperatorClass operator_class) {
  const auto row = std::ranges::find(kLayouts, operator_class, &Layouts::channels_first);
  return row == std::end(kLayouts) ? operator_class : row->channels_last;
}
OperatorClass channels_first(OperatorClass operator_class) {
  const auto row = std::ranges::find(kLayouts, operator_class, &Layouts::channels_last);
  return row == std::end(kLayouts) ? operator_class : row->channels_first;
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

OperatorCase completed(OperatorCase c) {
  Extents& e = c.extents;
  if (is_convolution(c.operator_class)) {
    if (e[conv::stride_width] == 0) e[conv::stride_width] = e[conv::stride_height];
    for (const auto dilation : {conv::dilation_height, conv::dilation_width})
      if (e[dilation] == 0) e[dilation] = 1;
    if (e[conv::out_height] == 0)
      e[conv::out_height] = padded_positions(e[conv::height], e[conv::kernel_height],
                                             e[conv::kernel_height] / 2, e[conv::stride_height]);
    if (e[conv::out_width] == 0)
      e[conv::out_width] = padded_positions(e[conv::width], e[conv::kernel_width], e[conv::kernel_width] / 2,
                                            e[conv::stride_width]);
  }
  const OperatorClass first = channels_first(c.operator_class);
  if (first == OperatorClass::max_pool || first == OperatorClass::average_pool) {
    if (e[pool::kernel_width] == 0) e[pool::kernel_width] = e[pool::kernel_height];
    const auto positions = [&](std::int64_t in, std::int64_t kernel) {
      return padded_positions(in, kernel, std::max<std::int64_t>(kernel - 1, 0) / 2, e[pool::stride]);
    };
    if (e[pool::out_height] == 0) e[pool::out_height] = positions(e[pool::height], e[pool::kernel_height]);
    if (e[pool::out_width] == 0) e[pool::out_width] = positions(e[pool::width], e[pool::kernel_width]);
  }
  return c;
}

OperatorWork work_of(const OperatorCase& c) {
  Values values{};
  for (std::size_t i = 0; i < kMaxExtents; ++i)
    values[i] = static_cast<double>(std::max<std::int64_t>(c.extents[i], 0));
  const Tally counted = tally(c, values);
  const double size = element_bytes(c.arithmetic);
  return {counted.operations.macs, 2 * counted.operations.macs + counted.operations.other_flops,
          counted.read * size + counted.other_read, counted.written * size + counted.other_written};
}

}  // namespace plimsoll::hardware
