#pragma once
#include <optional>

#include <ATen/core/Tensor.h>

namespace plimsoll::engine {

/// Attention as the framework's own kernel computes it, which one is its choice. q, k, v: batch, heads,
/// tokens, width. The mask is added, or truth values.
[[nodiscard]] at::Tensor scaled_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                          const std::optional<at::Tensor>& mask, bool causal, double scale);
/// The same where several heads share a key and a value: k and v have fewer heads, which divide those of q.
[[nodiscard]] at::Tensor grouped_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                           bool causal, double scale);

}  // namespace plimsoll::engine
