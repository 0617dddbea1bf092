#include "engine/scaled_attention.hpp"

#include <cmath>

#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <torch/csrc/api/include/torch/version.h>
#if TORCH_VERSION_MAJOR >= 2
#include <ATen/ops/scaled_dot_product_attention.h>
#endif

namespace plimsoll::engine {

at::Tensor scaled_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const std::optional<at::Tensor>& mask, bool causal, double scale) {
#if TORCH_VERSION_MAJOR >= 2
  return at::scaled_dot_product_attention(q, k, v, mask, 0.0, causal, scale);
#else
  // LibTorch 1 has no such kernel on the CPU: the same arithmetic, step by step, as its own modules do.
  at::Tensor scores = at::matmul(q.mul(scale), k.transpose(-2, -1));
  if (causal) {
    const at::Tensor allowed = at::ones({q.size(-2), k.size(-2)}, q.options().dtype(at::kBool)).tril();
    scores = scores.masked_fill(allowed.logical_not(), -INFINITY);
  } else if (mask && mask->scalar_type() == at::kBool) {
    scores = scores.masked_fill(mask->logical_not(), -INFINITY);
  } else if (mask) {
    scores = scores.add(*mask);
  }
  return at::matmul(at::softmax(scores, -1), v);
#endif
}

at::Tensor grouped_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                             double scale) {
  const std::int64_t share = q.size(1) / k.size(1);
  if (share == 1) return scaled_attention(q, k, v, std::nullopt, causal, scale);
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5)
  return at::scaled_dot_product_attention(q, k, v, std::nullopt, 0.0, causal, scale, /*enable_gqa=*/true);
#else
  return scaled_attention(q, k.repeat_interleave(share, 1), v.repeat_interleave(share, 1), std::nullopt,
                          causal, scale);
#endif
}

}  // namespace plimsoll::engine
