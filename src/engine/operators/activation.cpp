#include <array>
#include <cmath>
#include <limits>

#include <ATen/ops/celu.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/hardsigmoid.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/threshold.h>
#include <ATen/ops/where.h>

#include "engine/operators/forms.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;

template <auto function, auto in_place>
Result<Kernel> either(const Preparation& p) {
  return maybe_in_place(p, function, in_place);
}
Tensor relu(const Tensor& x) {
  return x.relu();
}
Tensor& relu_over(Tensor& x) {
  return x.relu_();
}
Tensor sigmoid(const Tensor& x) {
  return x.sigmoid();
}
Tensor& sigmoid_over(Tensor& x) {
  return x.sigmoid_();
}
Tensor tanh(const Tensor& x) {
  return x.tanh();
}
Tensor& tanh_over(Tensor& x) {
  return x.tanh_();
}

Result<Kernel> prepare_leaky_relu(const Preparation& p) {
  const double slope = p.real("alpha", 0.01);
  return maybe_in_place(
      p, [slope](const Tensor& x) { return at::leaky_relu(x, slope); },
      [slope](Tensor& x) { at::leaky_relu_(x, slope); });
}

Result<Kernel> prepare_elu(const Preparation& p) {
  const double alpha = p.real("alpha", 1.0);
  return maybe_in_place(
      p, [alpha](const Tensor& x) { return at::elu(x, alpha); }, [alpha](Tensor& x) { at::elu_(x, alpha); });
}

Result<Kernel> prepare_celu(const Preparation& p) {
  const double alpha = p.real("alpha", 1.0);
  return maybe_in_place(
      p, [alpha](const Tensor& x) { return at::celu(x, alpha); },
      [alpha](Tensor& x) { at::celu_(x, alpha); });
}

Result<Kernel> prepare_selu(const Preparation& p) {
  constexpr double kAlpha = 1.6732632423543772848170429916717, kGamma = 1.0507009873554804934193349852946;
  const double alpha = p.real("alpha", kAlpha), gamma = p.real("gamma", kGamma);
  return maybe_in_place(
      p, [=](const Tensor& x) { return at::elu(x, alpha, gamma); },
      [=](Tensor& x) { at::elu_(x, alpha, gamma); });
}

/// PyTorch's hard sigmoid has one slope, 1/6; others are written out.
Result<Kernel> prepare_hard_sigmoid(const Preparation& p) {
  const double alpha = p.real("alpha", 0.2), beta = p.real("beta", 0.5);
  if (std::abs(alpha - 1.0 / 6) < 1e-6 && beta == 0.5)
    return maybe_in_place(
        p, [](const Tensor& x) { return at::hardsigmoid(x); }, [](Tensor& x) { at::hardsigmoid_(x); });
  return [=](Call& c) { c.out(0, c.in(0).mul(alpha).add(beta).clamp(0, 1)); };
}

Result<Kernel> prepare_softplus(const Preparation& p) {
  return unary<[](const Tensor& x) { return at::softplus(x); }>(p);
}

Result<Kernel> prepare_thresholded_relu(const Preparation& p) {
  return [alpha = p.real("alpha", 1.0)](Call& c) { c.out(0, at::threshold(c.in(0), alpha, 0)); };
}

/// The slope broadcasts from the right (before operator set 7: one per channel). PyTorch's own, which has one
/// slope per channel or one in all, is used where it is so exported: C x 1 x 1.
Result<Kernel> prepare_prelu(const Preparation& p) {
  return [per_channel = p.opset() < 7](Call& c) {
    const Tensor& x = c.in(0);
    const Tensor& slope = c.in(1);
    const bool channels = x.dim() >= 2 && slope.numel() == x.size(1) && slope.dim() > 0 &&
                          (per_channel || (slope.dim() == x.dim() - 1 && slope.size(0) == slope.numel()));
    if (is_floating(x) && (channels || slope.numel() == 1)) return c.out(0, x.prelu(slope.reshape({-1})));
    c.out(0, at::where(x.ge(0), x, x.mul(slope)));
  };
}

Result<Kernel> prepare_shrink(const Preparation& p) {
  return [bias = p.real("bias", 0), lambda = p.real("lambd", 0.5)](Call& c) {
    const Tensor& x = c.in(0);
    const Tensor wide = is_floating(x) ? x : x.to(at::kDouble);
    const Tensor low = wide.lt(-lambda).mul(wide.add(bias)), high = wide.gt(lambda).mul(wide.sub(bias));
    c.out(0, low.add(high).to(x.scalar_type()));
  };
}

Result<Kernel> prepare_gelu(const Preparation& p) {
  if (p.text("approximate", "none") == "tanh")
    return unary<[](const Tensor& x) { return at::gelu(x, "tanh"); }>(p);
  return unary<[](const Tensor& x) { return at::gelu(x); }>(p);
}

/// x times the sigmoid of alpha x.
Result<Kernel> prepare_swish(const Preparation& p) {
  const bool microsoft = p.network().domain_of(p.op()) == kMicrosoft;
  const double alpha = p.real("alpha", microsoft ? 1.702 : 1.0);
  if (alpha == 1.0)
    return maybe_in_place(p, [](const Tensor& x) { return at::silu(x); }, [](Tensor& x) { at::silu_(x); });
  return [alpha](Call& c) { c.out(0, c.in(0).mul(c.in(0).mul(alpha).sigmoid())); };
}

/// Limits as numbers of the host where they are known; nullopt where they must be read at each call.
struct Limits {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

std::optional<Limits> known_limits(const Preparation& p) {
  Limits limits;
  if (p.opset() < 11) {
    limits.low = p.real("min", limits.low);
    limits.high = p.real("max", limits.high);
    return limits;
  }
  for (const std::size_t i : {1, 2}) {
    if (!p.has(i)) continue;
    const auto known = p.known_numbers(i);
    if (!known || known->size() != 1) return std::nullopt;
    (i == 1 ? limits.low : limits.high) = known->front();
  }
  return limits;
}

/// As PyTorch's modules do it: ReLU6 is a hard tanh, one-sided limits are clamps.
Tensor clipped(const Tensor& x, const Limits& limits) {
  const bool low = std::isfinite(limits.low), high = std::isfinite(limits.high);
  const auto number = [&x](double limit) {
    return is_floating(x) ? at::Scalar(limit) : at::Scalar(static_cast<std::int64_t>(limit));
  };
  if (low && high)
    return is_floating(x) ? at::hardtanh(x, limits.low, limits.high)
                          : x.clamp(number(limits.low), number(limits.high));
  if (low) return x.clamp_min(number(limits.low));
  return high ? x.clamp_max(number(limits.high)) : x;
}

Result<Kernel> prepare_clip(const Preparation& p) {
  const auto limits = known_limits(p);
  if (!limits)
    return [](Call& c) {
      Tensor x = c.in(0);
      if (c.has(1)) x = x.maximum(c.in(1));
      if (c.has(2)) x = x.minimum(c.in(2));
      c.out(0, std::move(x));
    };
  if (p.in_place() && std::isfinite(limits->low) && std::isfinite(limits->high))
    return [limits = *limits](Call& c) {
      Tensor x = c.in(0);
      if (!is_floating(x)) return c.out(0, clipped(x, limits));
      at::hardtanh_(x, limits.low, limits.high);
      c.out(0, std::move(x));
    };
  return [limits = *limits](Call& c) { c.out(0, clipped(c.in(0), limits)); };
}

/// A bias, where there is one, and GELU: com.microsoft's BiasGelu and FastGelu.
template <bool tanh>
Result<Kernel> prepare_biased_gelu(const Preparation&) {
  return [](Call& c) {
    const Tensor x = c.has(1) ? c.in(0).add(c.in(1)) : c.in(0);
    c.out(0, at::gelu(x, tanh ? "tanh" : "none"));
  };
}

constexpr auto kActivationRows = std::to_array<OperatorRow>({
    {"Celu", prepare_celu},
    {"Clip", prepare_clip, "", kShapes},
    {"Elu", prepare_elu},
    {"Gelu", prepare_gelu},
    {"HardSigmoid", prepare_hard_sigmoid},
    {"HardSwish", either<&at::hardswish, &at::hardswish_>},
    {"LeakyRelu", prepare_leaky_relu},
    {"Mish", either<&at::mish, &at::mish_>},
    {"PRelu", prepare_prelu},
    {"Relu", either<relu, relu_over>},
    {"Selu", prepare_selu},
    {"Shrink", prepare_shrink},
    {"Sigmoid", either<sigmoid, sigmoid_over>},
    {"Softplus", prepare_softplus},
    {"Softsign", unary<[](const Tensor& x) { return x.div(x.abs().add(1)); }>},
    {"Swish", prepare_swish},
    {"Tanh", either<tanh, tanh_over>},
    {"ThresholdedRelu", prepare_thresholded_relu},
    {"BiasGelu", prepare_biased_gelu<false>, kMicrosoft},
    {"FastGelu", prepare_biased_gelu<true>, kMicrosoft},
    {"Gelu", prepare_gelu, kMicrosoft},
    {"QuickGelu", prepare_swish, kMicrosoft},
});

}  // namespace

std::span<const OperatorRow> activation_rows() {
  return kActivationRows;
}

}  // namespace plimsoll::engine
