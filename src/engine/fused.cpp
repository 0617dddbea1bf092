// Kernels of the framework that exporters write as several operators.
#include <cmath>
#include <memory>

#include <ATen/ops/gelu.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/silu.h>

#include "engine/attention_mask.hpp"
#include "engine/routine.hpp"
#include "engine/scaled_attention.hpp"

namespace plimsoll::engine {
namespace {

using network::Fusion;
using network::kNoTensor;
using network::TensorId;
using Kind = Fusion::Kind;

/// The product of the two factors, where inference knows them.
std::optional<double> known_scale(const Fusion& fusion, const network::Shapes& shapes) {
  double scale = 1;
  for (const TensorId id : fusion.scales) {
    if (id == kNoTensor || !shapes.at(id).has_value || shapes.value(id).size() != 1 ||
        shapes.value(id)[0].is_symbol())
      return std::nullopt;
    scale *= shapes.value(id)[0].real();
  }
  return scale;
}

/// Tokens, batch, width as batch, heads, tokens, width of a head: a view.
at::Tensor split(const at::Tensor& x, std::int64_t heads) {
  if (heads == 0) return x;
  return x.unflatten(2, {heads, x.size(2) / heads}).permute({1, 2, 0, 3});
}

/// A copy that stays until the pass has ended.
at::Tensor cached(Call& c, const at::Tensor& x) {
  at::Tensor copy = x.clone(at::MemoryFormat::Contiguous);
  c.hold(copy);
  return copy;
}

FusedKernel attention_kernel(const Fusion& fusion, const network::Shapes& shapes, const AttentionForm& form) {
  const TensorId mask = fusion.allowed != kNoTensor ? fusion.allowed : fusion.mask;
  FusedKernel fused;
  fused.inputs = {fusion.inputs[0], fusion.inputs[1], fusion.inputs[2], mask};
  std::optional<double> scale = known_scale(fusion, shapes);
  if (!scale) fused.inputs.insert(fused.inputs.end(), {fusion.scales[0], fusion.scales[1]});
  const std::size_t unrepeated = fused.inputs.size();
  const bool repeated = form.cached && form.unrepeated_key != kNoTensor;
  if (repeated) fused.inputs.insert(fused.inputs.end(), {form.unrepeated_key, form.unrepeated_value});
  fused.kernel = [scale, heads = form.heads, use = form.mask, cache = form.cached, repeated,
                  unrepeated](Call& c) mutable {
    if (!scale) scale = c.number(4) * c.number(5);
    std::optional<at::Tensor> given;
    if (*use == MaskUse::as_given && c.has(3)) given = c.in(3);
    const at::Tensor q = split(c.in(0), heads);
    at::Tensor k = split(c.in(1), heads), v = split(c.in(2), heads);
    if (repeated) {
      cached(c, c.in(unrepeated));
      cached(c, c.in(unrepeated + 1));
    } else if (cache) {
      k = cached(c, k);
      v = cached(c, v);
    }
    c.out(0, scaled_attention(q, k, v, given, *use == MaskUse::causal, *scale));
  };
  return fused;
}

/// A layer over the last dimension does not care about the order of those before it: of a tensor whose first
/// two are exchanged in memory it is taken in memory's order, without a copy.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (x.dim() != 3 || x.is_contiguous() || !x.transpose(0, 1).is_contiguous())
    return bias.defined() ? at::linear(x, weight, bias) : at::linear(x, weight);
  return linear(x.transpose(0, 1), weight, bias).transpose(0, 1);
}

/// The weight is kept a row per output whichever way the graph stores it (weights.cpp), as the framework
/// does.
FusedKernel linear_kernel(const Fusion& fusion) {
  FusedKernel fused;
  fused.inputs = {fusion.inputs[0], fusion.inputs[1], fusion.inputs[2]};
  fused.kernel = [turned = fusion.turned](Call& c) {
    const at::Tensor weight = turned ? c.in(1) : c.in(1).t();
    c.out(0, linear(c.in(0), weight, c.has(2) ? c.in(2) : at::Tensor()));
  };
  return fused;
}

FusedKernel layer_norm_kernel(const Fusion& fusion) {
  FusedKernel fused;
  fused.inputs = {fusion.inputs[0], fusion.inputs[1], fusion.inputs[2]};
  fused.kernel = [epsilon = fusion.epsilon](Call& c) {
    c.out(0, at::layer_norm(c.in(0), c.in(1).sizes(), c.in(1), c.in(2), epsilon));
  };
  return fused;
}

Kernel gated_kernel(Kind kind, bool in_place) {
  if (kind == Kind::silu)
    return in_place ? Kernel([](Call& c) {
      at::Tensor x = c.in(0);
      c.out(0, at::silu_(x));
    })
                    : Kernel([](Call& c) { c.out(0, at::silu(c.in(0))); });
  return in_place ? Kernel([](Call& c) {
    at::Tensor x = c.in(0);
    c.out(0, at::hardswish_(x));
  })
                  : Kernel([](Call& c) { c.out(0, at::hardswish(c.in(0))); });
}

}  // namespace

Kernel projection_kernel() {
  return [](Call& c) { c.out(0, linear(c.in(0).flatten(2), c.in(1), c.in(2))); };
}

FusedKernel fused_kernel(const Fusion& fusion, const network::Shapes& shapes, bool in_place,
                         const AttentionForm& form) {
  switch (fusion.kind) {
    case Kind::attention: return attention_kernel(fusion, shapes, form);
    case Kind::linear: return linear_kernel(fusion);
    case Kind::layer_norm: return layer_norm_kernel(fusion);
    case Kind::gelu: return {[](Call& c) { c.out(0, at::gelu(c.in(0))); }, {fusion.inputs[0]}};
    case Kind::silu:
    case Kind::hard_swish: return {gated_kernel(fusion.kind, in_place), {fusion.inputs[0]}};
    case Kind::none:
    case Kind::skipped: break;
  }
  return {};
}

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::attention: return "attention";
    case Kind::gelu: return "gelu";
    case Kind::silu: return "silu";
    case Kind::hard_swish: return "hard-swish";
    case Kind::layer_norm: return "layer norm";
    case Kind::linear: return "linear";
    case Kind::none:
    case Kind::skipped: break;
  }
  return "";
}

}  // namespace plimsoll::engine
