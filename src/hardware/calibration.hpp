#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/arithmetic.hpp"
#include "hardware/device_figure.hpp"
#include "hardware/sharing_figures.hpp"

namespace plimsoll::hardware {

/// Families of kernels that frameworks run, by what decides their time. kOperatorClasses says what the
/// extents of each mean, in order.
enum class OperatorClass : std::uint8_t {
  convolution,  ///< of all channels together; 1x1 ones too
  grouped,      ///< convolution in groups of several channels
  depthwise,    ///< a group per channel
  depthwise_channels_last,
  matrix,   ///< x[m,k] times weight[n,k] turned, with bias: a linear layer
  batched,  ///< a[b,m,k] times b[b,k,n]
  attention,
  batch_norm,           ///< with stored statistics
  batch_norm_training,  ///< with the batch's
  layer_norm,
  group_norm,
  softmax,
  max_pool,
  average_pool,
  global_pool,  ///< mean over all positions
  unary,        ///< ReLU-like: one value read and one written per element
  function,     ///< GELU, SiLU, exp: the same with a function
  binary,       ///< two read, one written
  broadcast,    ///< binary with one value per channel
  row_sum,      ///< over the contiguous dimension
  column_sum,   ///< over the others, as a bias's gradient
  embedding,
  copy,       ///< contiguous
  transpose,  ///< copy of a turned view
  optimizer_sgd,
  optimizer_momentum,
  optimizer_adam,
  // Images with the channels fastest in memory: other kernels. (A grid's cases follow from the numbers of
  // their classes: new ones stand at the end.)
  convolution_channels_last,
  grouped_channels_last,
  batch_norm_channels_last,
  batch_norm_training_channels_last,
  max_pool_channels_last,
  average_pool_channels_last,
  grouped_attention,  ///< causal, of a decoder: heads may share keys, of which may be more than queries
  channel_sum,        ///< over batch and positions, as the gradient of a convolution's bias
  counted,            ///< no kernel that anybody timed: only its work is known
};
inline constexpr int kOperatorClasses = 36;

enum class Direction : std::uint8_t { forward, backward_input, backward_weight };
inline constexpr int kDirections = 3;

inline constexpr std::size_t kMaxExtents = 14;
using Extents = std::array<std::int64_t, kMaxExtents>;  ///< unused ones are 0

/// Places of a convolution's extents. Its padding follows from what comes in and what goes out.
namespace conv {
enum Extent : std::size_t {
  batch,
  in_channels,
  height,
  width,
  out_channels,
  kernel_height,
  kernel_width,
  stride_height,
  groups,
  out_height,
  out_width,
  stride_width,
  dilation_height,
  dilation_width,
};
}
/// Of grouped attention's. The queries are the last of the keys' tokens.
namespace grouped {
enum Extent : std::size_t { batch, heads, key_heads, queries, keys, width };
}
/// Of a pool's.
namespace pool {
enum Extent : std::size_t {
  batch,
  channels,
  height,
  width,
  kernel_height,
  stride,
  out_height,
  out_width,
  kernel_width,
};
}

/// What the extents of a class mean, in the order in which they stand.
struct OperatorClassRow {
  OperatorClass operator_class;
  std::string_view name;       ///< in files: "batch-norm"
  std::string_view extents;    ///< their names in files, a space between
  bool weighted;               ///< the backward pass divides: for the input, and for the weight
  std::string_view more = {};  ///< names of those that files leave to completed()
};
[[nodiscard]] std::span<const OperatorClassRow> operator_classes();
[[nodiscard]] std::string_view name(OperatorClass operator_class);
[[nodiscard]] std::optional<OperatorClass> operator_class_named(std::string_view name);
/// The same operators on images with the channels fastest in memory, or slowest; itself where that is one.
[[nodiscard]] OperatorClass channels_last(OperatorClass operator_class);
[[nodiscard]] OperatorClass channels_first(OperatorClass operator_class);
[[nodiscard]] std::size_t extent_count(OperatorClass operator_class);  ///< in files
[[nodiscard]] std::string_view name(Direction direction);              ///< "forward", "backward-input"
[[nodiscard]] std::optional<Direction> direction_named(std::string_view name);

/// Which kernel, on what.
struct OperatorCase {
  OperatorClass operator_class = OperatorClass::unary;
  Direction direction = Direction::forward;
  /// Of products and their like: what they compute in (tf32, fp32, bf16, fp16). Of others: the elements'.
  Arithmetic arithmetic = Arithmetic::fp32;
  Extents extents{};
  friend auto operator<=>(const OperatorCase&, const OperatorCase&) = default;
};
/// Cases that differ in their extents alone: measured, fitted and kept together.
[[nodiscard]] inline bool same_group(const OperatorCase& a, const OperatorCase& b) {
  return a.operator_class == b.operator_class && a.direction == b.direction && a.arithmetic == b.arithmetic;
}

/// A window's case as whoever names only its first extents means it: padded by half of the window, as wide as
/// high, not dilated. Others are left as they are.
[[nodiscard]] OperatorCase completed(OperatorCase c);

/// What a kernel has to do at least: its FLOPs, and its bytes where nothing is cached. Pure formulas over the
/// extents; at least 0, and saturating instead of overflowing.
struct OperatorWork {
  double macs = 0;   ///< by the units that multiply matrices, where there are such
  double flops = 0;  ///< those of the MACs included
  double bytes_read = 0, bytes_written = 0;
  /// What a device's peaks are given for: of products their multiply-adds alone.
  [[nodiscard]] double flops_at_peak() const { return macs > 0 ? 2 * macs : flops; }
  [[nodiscard]] double bytes() const { return bytes_read + bytes_written; }
};
[[nodiscard]] OperatorWork work_of(const OperatorCase& c);

/// One measured case. Activations warm in the cache where they fit, weights cold, as in a network's pass.
struct OperatorPoint {
  OperatorCase what;
  double seconds = 0;                    ///< median, of the device's own time per call
  double spread = 0;                     ///< half of the median's 95 % interval, as a share of it
  std::optional<double> workspace = {};  ///< B beside inputs and results; convolutions and attention
  std::optional<double> joules = {};
  friend bool operator==(const OperatorPoint&, const OperatorPoint&) = default;
};

/// A ceiling that a probe measured.
struct Ceiling {
  std::string
      name;  ///< "memory-read", "product-bf16", "copy-to-device-pinned", "launch-kernel", "idle-power"
  DeviceFigure figure;            ///< in SI base units
  std::string unit;               ///< "B/s", "FLOP/s", "s", "W", "J/B"
  double spread = 0;              ///< half of the median's 95 % interval, as a share of it
  std::optional<double> at = {};  ///< working set or size of copy in B, where the figure depends on it
  std::optional<double> share_of_peak = {};  ///< of the datasheet's
  friend bool operator==(const Ceiling&, const Ceiling&) = default;
};

/// How well the efficiency of one class follows from its neighbours: each point predicted from the others.
struct ClassFit {
  OperatorClass operator_class = OperatorClass::unary;
  Direction direction = Direction::forward;
  Arithmetic arithmetic = Arithmetic::fp32;
  std::int64_t points = 0;
  double efficiency = 0;  ///< geometric mean of floor / measured
  double residual = 0;    ///< median of |log(predicted / measured)|
  double residual_90 = 0;
  friend bool operator==(const ClassFit&, const ClassFit&) = default;
};

/// What a kernel takes longer after a different one than after itself, as all points were timed: its code and
/// its parameters are not in the caches any more.
struct KernelChange {
  Arithmetic arithmetic = Arithmetic::fp32;  ///< fp32 (products of convolutions in tf32) or bf16
  double product = 0;                        ///< s, of products and attention
  double other = 0;                          ///< s
  friend bool operator==(const KernelChange&, const KernelChange&) = default;
};

/// What was measured on a device: `plimsoll probe` writes it, estimates read it.
struct Calibration {
  std::string date;                        ///< ISO
  std::vector<std::string> versions = {};  ///< "PyTorch 2.11", "CUDA 13.0", "driver 580.95"
  std::vector<std::string> remarks = {};   ///< "another process was on the GPU", "clocks moved by 8 %"
  std::vector<Ceiling> ceilings = {};
  std::vector<OperatorPoint> points = {};  ///< sorted by case
  std::vector<ClassFit> fits = {};
  std::optional<DeviceFigure> eager_launch = {};  ///< s that the host needs per operator, run eagerly
  std::vector<KernelChange> changes = {};
  std::optional<SharingFigures> sharing = {};  ///< where several were run at once
  friend bool operator==(const Calibration&, const Calibration&) = default;
};

}  // namespace plimsoll::hardware
