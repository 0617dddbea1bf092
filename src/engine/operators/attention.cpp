#include <array>
#include <cmath>
#include <limits>

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#if __has_include(<ATen/ops/scaled_dot_product_attention.h>)
#include <ATen/ops/scaled_dot_product_attention.h>
#define PLIMSOLL_HAS_ATTENTION 1
#endif

#include "engine/operators/forms.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;

struct Attention {
  double scale = 0;    ///< 0: one over the root of a head's width
  double softcap = 0;  ///< 0: none
  bool causal = false;
};

/// Which keys each query may look at: those that came before, and as many of the new ones as it has before
/// it.
Tensor allowed(const Tensor& query, const Tensor& key, std::int64_t before) {
  return at::ones({query.size(-2), key.size(-2)}, query.options().dtype(at::kBool)).tril(before);
}

/// query, key, value: batch, heads, tokens, width; `before`: keys older than the first query. The mask is
/// added, or truth values.
Tensor attend(const Attention& a, const Tensor& query, const Tensor& key, const Tensor& value,
              const Tensor& mask, std::int64_t before = 0) {
  const double scale = a.scale != 0 ? a.scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
#ifdef PLIMSOLL_HAS_ATTENTION
  if (a.softcap == 0 && !(a.causal && (mask.defined() || before != 0))) {
    c10::optional<Tensor> given;
    if (mask.defined()) given = mask;
    return at::scaled_dot_product_attention(query, key, value, given, 0, a.causal, scale);
  }
#endif
  Tensor scores = query.mul(scale).matmul(key.transpose(-2, -1));
  if (a.softcap != 0) scores = scores.div(a.softcap).tanh().mul(a.softcap);
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  if (a.causal) scores = scores.masked_fill(allowed(query, key, before).logical_not(), kNever);
  if (mask.defined())
    scores =
        mask.scalar_type() == at::kBool ? scores.masked_fill(mask.logical_not(), kNever) : scores.add(mask);
  return at::softmax(scores, -1).matmul(value);
}

/// batch, tokens, heads x width -> batch, heads, tokens, width.
Tensor split_heads(const Tensor& x, std::int64_t heads) {
  TORCH_CHECK(x.dim() == 4 || heads > 0, "the number of heads is not given");
  return x.dim() == 4 ? x : x.unflatten(2, {heads, x.size(2) / heads}).transpose(1, 2);
}
Tensor join_heads(const Tensor& x) {
  return x.transpose(1, 2).flatten(2);
}

/// Fewer heads of keys and values than of queries: each serves several.
Tensor shared_among(const Tensor& x, std::int64_t heads) {
  TORCH_CHECK(x.size(1) > 0 && heads % x.size(1) == 0, "heads of queries that share no head of keys");
  return x.size(1) == heads ? x : x.repeat_interleave(heads / x.size(1), 1);
}

/// Keys that a mask says nothing about are not looked at.
Tensor widened(const Tensor& mask, std::int64_t keys) {
  if (!mask.defined() || mask.size(-1) >= keys) return mask;
  const bool truth = mask.scalar_type() == at::kBool;
  return at::constant_pad_nd(mask, {0, keys - mask.size(-1)},
                             truth ? 0 : -std::numeric_limits<double>::infinity());
}

/// ONNX's own, from operator set 23 on.
Result<Kernel> prepare_attention(const Preparation& p) {
  if (p.wants(3)) return fail("the scores as an output cannot be executed");
  if (p.has(6)) return fail("a cache that is partly filled cannot be executed");
  if (p.integer("left_window_size", -1) >= 0 || p.integer("right_window_size", -1) >= 0)
    return fail("attention within a window cannot be executed");
  const Attention a{p.real("scale", 0), p.real("softcap", 0), p.integer("is_causal", 0) != 0};
  return [a, heads = p.integer("q_num_heads", 0), kv_heads = p.integer("kv_num_heads", 0),
          present = p.wants(1) || p.wants(2)](Call& c) {
    const Tensor query = split_heads(c.in(0), heads);
    Tensor key = split_heads(c.in(1), kv_heads), value = split_heads(c.in(2), kv_heads);
    if (c.has(4)) key = at::cat({c.in(4), key}, 2);
    if (c.has(5)) value = at::cat({c.in(5), value}, 2);
    const Tensor result =
        attend(a, query, shared_among(key, query.size(1)), shared_among(value, query.size(1)),
               widened(optional_input(c, 3), key.size(2)), c.has(4) ? c.in(4).size(2) : 0);
    c.out(0, c.in(0).dim() == 4 ? result : join_heads(result));
    if (!present) return;
    c.out(1, std::move(key));
    c.out(2, std::move(value));
  };
}

/// com.microsoft's: queries, keys and values each batch x tokens x (heads x width), one bias for all three.
Result<Kernel> prepare_multi_head_attention(const Preparation& p) {
  for (std::size_t i = 4; i < p.inputs(); ++i)
    if (p.has(i)) return fail("MultiHeadAttention with masks or past keys cannot be executed");
  if (!p.has(1) || !p.has(2)) return fail("MultiHeadAttention with packed inputs cannot be executed");
  const Attention a{p.real("scale", 0), 0, p.integer("unidirectional", 0) != 0};
  return [a, heads = p.integer("num_heads", 1)](Call& c) {
    std::vector<Tensor> x = {c.in(0), c.in(1), c.in(2)};
    if (c.has(3)) {
      std::int64_t from = 0;
      for (Tensor& part : x) {
        const std::int64_t width = part.size(-1);
        part = part.add(c.in(3).narrow(0, from, width));
        from += width;
      }
    }
    c.out(0, join_heads(attend(a, split_heads(x[0], heads), split_heads(x[1], heads),
                               split_heads(x[2], heads), {})));
  };
}

/// com.microsoft's with the projection inside: one weight for queries, keys and values.
Result<Kernel> prepare_projected_attention(const Preparation& p) {
  for (std::size_t i = 3; i < p.inputs(); ++i)
    if (p.has(i)) return fail("Attention with masks or past keys cannot be executed");
  if (p.has_attribute("qkv_hidden_sizes")) return fail("Attention with unlike widths cannot be executed");
  const Attention a{p.real("scale", 0), 0, p.integer("unidirectional", 0) != 0};
  return [a, heads = p.integer("num_heads", 1)](Call& c) {
    const std::vector<Tensor> x = at::linear(c.in(0), c.in(1).t(), optional_input(c, 2)).chunk(3, -1);
    c.out(0, join_heads(attend(a, split_heads(x.at(0), heads), split_heads(x.at(1), heads),
                               split_heads(x.at(2), heads), {})));
  };
}

/// Pairs of numbers turned by the angle of their position; a pair is two neighbours or lies half a head
/// apart.
Tensor rotated(const Tensor& x, const Tensor& cosine, const Tensor& sine, bool interleaved) {
  const std::vector<Tensor> halves = x.chunk(2, -1);
  const Tensor first = interleaved ? x.slice(-1, 0, x.size(-1), 2) : halves.at(0);
  const Tensor second = interleaved ? x.slice(-1, 1, x.size(-1), 2) : halves.at(1);
  const Tensor real = first.mul(cosine).sub(second.mul(sine));
  const Tensor imaginary = second.mul(cosine).add(first.mul(sine));
  if (interleaved) return at::stack({real, imaginary}, -1).flatten(-2);
  return at::cat({real, imaginary}, -1);
}

Result<Kernel> prepare_rotary_embedding(const Preparation& p) {
  return [heads = p.integer("num_heads", 0), width = p.integer("rotary_embedding_dim", 0),
          interleaved = p.integer("interleaved", 0) != 0](Call& c) {
    const Tensor& given = c.in(0);
    const Tensor x = split_heads(given, heads);
    const std::int64_t turned = width > 0 ? width : x.size(-1);
    const auto of_tokens = [&c, turned](const Tensor& whole) {
      const Tensor cache = whole.narrow(-1, 0, turned / 2);
      const Tensor rows = c.has(3) ? cache.index_select(0, c.in(3).reshape({-1}))
                                         .reshape({c.in(3).size(0), c.in(3).size(1), cache.size(-1)})
                                   : cache;
      return rows.unsqueeze(1);
    };
    Tensor y = rotated(x.narrow(-1, 0, turned), of_tokens(c.in(1)), of_tokens(c.in(2)), interleaved);
    if (turned < x.size(-1)) y = at::cat({y, x.narrow(-1, turned, x.size(-1) - turned)}, -1);
    c.out(0, given.dim() == 4 ? y : join_heads(y));
  };
}

constexpr auto kAttentionRows = std::to_array<OperatorRow>({
    {"Attention", prepare_attention},
    {"RotaryEmbedding", prepare_rotary_embedding},
    {"Attention", prepare_projected_attention, kMicrosoft},
    {"MultiHeadAttention", prepare_multi_head_attention, kMicrosoft},
});

}  // namespace

std::span<const OperatorRow> attention_rows() {
  return kAttentionRows;
}

}  // namespace plimsoll::engine
