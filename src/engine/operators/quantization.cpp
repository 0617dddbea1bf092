#include <array>

#include "engine/operators/window.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;

struct Limits {
  double low, high;
};

Limits limits_of(at::ScalarType type) {
  switch (type) {
    case at::kChar: return {-128, 127};
    case at::kShort: return {-32768, 32767};
    case at::kInt: return {-2147483648.0, 2147483647.0};
    default: return {0, 255};
  }
}

/// A scale or zero point of one number, of one per element of an axis, or of one per block of them.
Tensor along(const Tensor& parameter, const Tensor& x, std::int64_t axis, std::int64_t block) {
  if (parameter.numel() == 1) return parameter.reshape({});
  const std::int64_t at = wrapped(axis, x.dim());
  if (block > 0) return parameter.repeat_interleave(block, at).narrow(at, 0, x.size(at));
  Integers shape(static_cast<std::size_t>(x.dim()), 1);
  shape.at(static_cast<std::size_t>(at)) = parameter.numel();
  return parameter.reshape(shape);
}

Tensor quantized(const Tensor& x, const Tensor& scale, const Tensor& zero, at::ScalarType type) {
  Tensor levels = x.to(at::kFloat).div(scale.to(at::kFloat)).round();
  if (zero.defined()) levels = levels.add(zero.to(at::kFloat));
  const Limits limits = limits_of(type);
  return levels.clamp(limits.low, limits.high).to(type);
}

Tensor without_zero(const Tensor& x, const Tensor& zero) {
  const Tensor wide = x.to(at::kFloat);
  return zero.defined() ? wide.sub(zero.to(at::kFloat)) : wide;
}

Result<Kernel> prepare_quantize(const Preparation& p) {
  std::optional<at::ScalarType> type;
  if (p.integer("output_dtype", 0) != 0) {
    const Result<at::ScalarType> asked = stored_type(p, p.integer("output_dtype", 0));
    PLIMSOLL_TRY(asked);
    type = *asked;
  }
  if (p.has(2) && p.type(2) != network::DataType::undefined && !scalar_type(p.type(2)))
    return fail("LibTorch computes nothing with {}", network::name(p.type(2)));
  return [type, axis = p.integer("axis", 1), block = p.integer("block_size", 0)](Call& c) {
    const Tensor& x = c.in(0);
    const Tensor zero = c.has(2) ? along(c.in(2), x, axis, block) : Tensor();
    const at::ScalarType to = type ? *type : zero.defined() ? zero.scalar_type() : at::kByte;
    c.out(0, quantized(x, along(c.in(1), x, axis, block), zero, to));
  };
}

Result<Kernel> prepare_dequantize(const Preparation& p) {
  return [axis = p.integer("axis", 1), block = p.integer("block_size", 0)](Call& c) {
    const Tensor& x = c.in(0);
    const Tensor zero = c.has(2) ? along(c.in(2), x, axis, block) : Tensor();
    const Tensor scale = along(c.in(1), x, axis, block);
    c.out(0, without_zero(x, zero).mul(scale.to(at::kFloat)).to(c.in(1).scalar_type()));
  };
}

/// The range always has zero in it, which one of the 256 levels stands for.
Result<Kernel> prepare_dynamic_quantize(const Preparation&) {
  return [](Call& c) {
    const Tensor& x = c.in(0);
    const Tensor low = x.min().clamp_max(0), high = x.max().clamp_min(0);
    const Tensor scale = high.sub(low).div(255);
    const Tensor zero = low.neg().div(scale).clamp(0, 255).round();
    c.out(0, quantized(x, scale, zero, at::kByte));
    c.out(1, scale);
    c.out(2, zero.to(at::kByte));
  };
}

/// Zero points of the rows of the first matrix and of the columns of the second. Sums of products of bytes
/// are computed in double precision, which holds them exactly and has fast kernels.
Tensor exact(const Tensor& x, const Tensor& zero, bool rows) {
  Tensor wide = x.to(at::kDouble);
  if (!zero.defined()) return wide;
  const Tensor point = zero.to(at::kDouble);
  return wide.sub(rows && point.dim() == 1 && point.numel() > 1 ? point.unsqueeze(1) : point);
}

Result<Kernel> prepare_matmul_integer(const Preparation&) {
  return [](Call& c) {
    const Tensor a = exact(c.in(0), optional_input(c, 2), true),
                 b = exact(c.in(1), optional_input(c, 3), false);
    c.out(0, a.matmul(b).to(at::kInt));
  };
}

Result<Kernel> prepare_qlinear_matmul(const Preparation&) {
  return [](Call& c) {
    const auto real = [&c](std::size_t at, bool rows) {
      const Tensor scale = c.in(at + 1).to(at::kDouble);
      const Tensor factor = rows && scale.dim() == 1 && scale.numel() > 1 ? scale.unsqueeze(1) : scale;
      return exact(c.in(at), c.in(at + 2), rows).mul(factor);
    };
    const Tensor product = real(0, true).matmul(real(3, false));
    c.out(0, quantized(product, c.in(6), c.in(7), c.in(7).scalar_type()));
  };
}

/// Padding is what the zero point stands for: it is taken off first.
Tensor convolved_exactly(const Window& window, std::int64_t groups, const Tensor& x, const Tensor& x_zero,
                         const Tensor& w, const Tensor& w_zero) {
  Tensor weight = w.to(at::kDouble);
  if (w_zero.defined()) weight = weight.sub(along(w_zero.to(at::kDouble), weight, 0, 0));
  return convolved(window, groups, exact(x, x_zero, false), weight, {});
}

Result<Kernel> prepare_conv_integer(const Preparation& p) {
  return [window = window_of(p), groups = p.integer("group", 1)](Call& c) {
    const Tensor sum =
        convolved_exactly(window, groups, c.in(0), optional_input(c, 2), c.in(1), optional_input(c, 3));
    c.out(0, sum.to(at::kInt));
  };
}

Result<Kernel> prepare_qlinear_conv(const Preparation& p) {
  return [window = window_of(p), groups = p.integer("group", 1)](Call& c) {
    Tensor sum = convolved_exactly(window, groups, c.in(0), c.in(2), c.in(3), c.in(5));
    const auto per_channel = [&sum](const Tensor& t) { return along(t.to(at::kDouble), sum, 1, 0); };
    if (c.has(8)) sum = sum.add(per_channel(c.in(8)));
    const Tensor real = sum.mul(c.in(1).to(at::kDouble)).mul(per_channel(c.in(4)));
    c.out(0, quantized(real, c.in(6), c.in(7), c.in(7).scalar_type()));
  };
}

constexpr auto kQuantizationRows = std::to_array<OperatorRow>({
    {"ConvInteger", prepare_conv_integer},
    {"DequantizeLinear", prepare_dequantize},
    {"DynamicQuantizeLinear", prepare_dynamic_quantize},
    {"MatMulInteger", prepare_matmul_integer},
    {"QLinearConv", prepare_qlinear_conv},
    {"QLinearMatMul", prepare_qlinear_matmul},
    {"QuantizeLinear", prepare_quantize},
});

}  // namespace

std::span<const OperatorRow> quantization_rows() {
  return kQuantizationRows;
}

}  // namespace plimsoll::engine
