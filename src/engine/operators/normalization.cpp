#include <array>

#include <ATen/Context.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/instance_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros_like.h>

#include "engine/operators/forms.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;

/// Batch statistics in training and running ones in inference, whatever the graph was exported for. In
/// training the running statistics are overwritten as PyTorch does; ONNX's momentum weighs the old ones.
struct BatchNorm {
  double epsilon, momentum;
  bool training;
  bool statistics_wanted;

  void operator()(Call& c) const {
    Tensor mean = c.in(3), variance = c.in(4);
    c.out(0, at::batch_norm(c.in(0), c.in(1), c.in(2), mean, variance, training, 1 - momentum, epsilon,
                            at::globalContext().userEnabledCuDNN()));
    if (!statistics_wanted) return;
    c.out(1, std::move(mean));
    c.out(2, std::move(variance));
  }
};

Result<Kernel> prepare_batch_norm(const Preparation& p) {
  if (p.integer("spatial", 1) == 0) return fail("statistics per element (spatial = 0) cannot be executed");
  return BatchNorm{p.real("epsilon", 1e-5), p.real("momentum", 0.9), p.training(), p.wants(1) || p.wants(2)};
}

Result<Kernel> prepare_instance_norm(const Preparation& p) {
  return [epsilon = p.real("epsilon", 1e-5)](Call& c) {
    c.out(0, at::instance_norm(c.in(0), c.in(1), c.in(2), {}, {}, true, 0, epsilon,
                               at::globalContext().userEnabledCuDNN()));
  };
}

at::IntArrayRef from_axis(const Tensor& x, std::int64_t axis) {
  return x.sizes().slice(static_cast<std::size_t>(wrapped(axis, x.dim())));
}

struct LayerNorm {
  std::int64_t axis;
  double epsilon;
  bool statistics_wanted;

  void operator()(Call& c) const {
    const Tensor& x = c.in(0);
    const at::IntArrayRef shape = from_axis(x, axis);
    Tensor scale = c.in(1), shift = optional_input(c, 2);
    if (scale.sizes() != shape) scale = scale.expand(shape);
    if (shift.defined() && shift.sizes() != shape) shift = shift.expand(shape);
    if (!statistics_wanted) return c.out(0, at::layer_norm(x, shape, scale, shift, epsilon));
    auto [y, mean, deviation] = at::native_layer_norm(x, shape, scale, shift, epsilon);
    c.out(0, std::move(y));
    c.out(1, std::move(mean));
    c.out(2, std::move(deviation));
  }
};

Result<Kernel> prepare_layer_norm(const Preparation& p) {
  return LayerNorm{p.integer("axis", -1), p.real("epsilon", 1e-5), p.wants(1) || p.wants(2)};
}

/// Before operator set 21 the scale and shift are the groups', later the channels'.
Result<Kernel> prepare_group_norm(const Preparation& p) {
  return [groups = p.integer("num_groups", 1), epsilon = p.real("epsilon", 1e-5)](Call& c) {
    const Tensor& x = c.in(0);
    const auto per_channel = [&x](const Tensor& t) {
      TORCH_CHECK(t.dim() == 1 && t.numel() > 0, "a scale and a shift for each group or channel");
      return t.size(0) == x.size(1) ? t : t.repeat_interleave(x.size(1) / t.size(0));
    };
    c.out(0, at::group_norm(x, groups, per_channel(c.in(1)), per_channel(c.in(2)), epsilon));
  };
}

/// x over the root of its mean square; in float, as PyTorch computes half precision.
Tensor rms_normalized(const Tensor& x, std::int64_t axis, double epsilon) {
  Integers axes;
  for (std::int64_t a = wrapped(axis, x.dim()); a < x.dim(); ++a) axes.push_back(a);
  const Tensor wide = x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
  return wide.mul(wide.pow(2).mean(axes, true).add(epsilon).rsqrt()).to(x.scalar_type());
}

Result<Kernel> prepare_rms_norm(const Preparation& p) {
  if (p.wants(1)) return fail("the deviation as an output cannot be executed");
  return [axis = p.integer("axis", -1), epsilon = p.real("epsilon", 1e-5)](Call& c) {
    c.out(0, rms_normalized(c.in(0), axis, epsilon).mul(c.in(1)));
  };
}

/// com.microsoft: the sum of two tensors (and a bias), normalised; output 3 is the sum itself.
template <bool root_mean_square>
Result<Kernel> prepare_skip_norm(const Preparation& p) {
  if (p.wants(1) || p.wants(2)) return fail("the statistics as outputs cannot be executed");
  return [epsilon = p.real("epsilon", 1e-12), sum_wanted = p.wants(3)](Call& c) {
    constexpr std::size_t kScale = 2, kBias = root_mean_square ? 3 : 4;
    Tensor sum = c.in(0).add(c.in(1));
    if (c.has(kBias)) sum = sum.add(c.in(kBias));
    if constexpr (root_mean_square) {
      c.out(0, rms_normalized(sum, -1, epsilon).mul(c.in(kScale)));
    } else {
      c.out(0, at::layer_norm(sum, {sum.size(-1)}, c.in(kScale), optional_input(c, 3), epsilon));
    }
    if (sum_wanted) c.out(3, std::move(sum));
  };
}

Result<Kernel> prepare_lp_normalization(const Preparation& p) {
  return [axis = p.integer("axis", -1), order = p.integer("p", 2)](Call& c) {
    const Tensor& x = c.in(0);
    c.out(0, x.div(x.norm(order, {axis}, true)));
  };
}

/// Over a window of channels around each: floor((size - 1) / 2) before, the rest after.
Result<Kernel> prepare_local_response_norm(const Preparation& p) {
  const std::int64_t size = p.integer("size", 1);
  return [=, alpha = p.real("alpha", 1e-4), beta = p.real("beta", 0.75), bias = p.real("bias", 1)](Call& c) {
    const Tensor& x = c.in(0);
    Integers pads(static_cast<std::size_t>(2 * (x.dim() - 2)), 0);
    const std::int64_t before = (size - 1) / 2;
    pads.push_back(before);
    pads.push_back(size - 1 - before);
    const Tensor squares = at::constant_pad_nd(x.mul(x), pads, 0).unfold(1, size, 1).sum({-1});
    c.out(0, x.div(squares.mul(alpha / static_cast<double>(size)).add(bias).pow(beta)));
  };
}

Result<Kernel> prepare_mean_variance_normalization(const Preparation& p) {
  Integers axes = p.has_attribute("axes") ? p.integers("axes") : Integers{0, 2, 3};
  return [axes](Call& c) {
    const Tensor& x = c.in(0);
    const Tensor centred = x.sub(x.mean(axes, true));
    c.out(0, centred.div(centred.pow(2).mean(axes, true).sqrt().add(1e-9)));
  };
}

/// Before operator set 13 all extents from `axis` on were one.
template <auto function>
Result<Kernel> along_axis(const Preparation& p) {
  if (p.opset() >= 13) return [axis = p.integer("axis", -1)](Call& c) { c.out(0, function(c.in(0), axis)); };
  return [axis = p.integer("axis", 1)](Call& c) {
    const Tensor& x = c.in(0);
    const std::int64_t from = wrapped(axis, x.dim());
    if (from == x.dim() - 1) return c.out(0, function(x, -1));
    c.out(0, function(x.flatten(from), from).reshape(x.sizes()));
  };
}

Tensor hardmax(const Tensor& x, std::int64_t axis) {
  return at::zeros_like(x).scatter(axis, x.argmax(axis, true), 1);
}

constexpr auto kNormalizationRows = std::to_array<OperatorRow>({
    {"BatchNormalization", prepare_batch_norm},
    {"GroupNormalization", prepare_group_norm},
    {"Hardmax", along_axis<hardmax>},
    {"InstanceNormalization", prepare_instance_norm},
    {"LRN", prepare_local_response_norm},
    {"LayerNormalization", prepare_layer_norm},
    {"LogSoftmax", along_axis<[](const Tensor& x, std::int64_t axis) { return at::log_softmax(x, axis); }>},
    {"LpNormalization", prepare_lp_normalization},
    {"MeanVarianceNormalization", prepare_mean_variance_normalization},
    {"RMSNormalization", prepare_rms_norm},
    {"SimplifiedLayerNormalization", prepare_rms_norm},
    {"Softmax", along_axis<[](const Tensor& x, std::int64_t axis) { return at::softmax(x, axis); }>},
    {"SkipLayerNormalization", prepare_skip_norm<false>, kMicrosoft},
    {"SkipSimplifiedLayerNormalization", prepare_skip_norm<true>, kMicrosoft},
});

}  // namespace

std::span<const OperatorRow> normalization_rows() {
  return kNormalizationRows;
}

}  // namespace plimsoll::engine
