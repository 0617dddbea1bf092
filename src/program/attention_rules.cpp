// Attention: one kernel where the framework has one, its parts where it has not.
#include <algorithm>

#include "network/saturating.hpp"
#include "program/lowering.hpp"
#include "program/views.hpp"

namespace plimsoll::program {
namespace {

using hardware::Direction;
using hardware::OperatorClass;
using network::DataType;
using network::Operator;
using network::product, network::sum;
using network::TensorId;

std::int64_t rounded_up(std::int64_t n, std::int64_t multiple) {
  const std::int64_t over = n % multiple;
  return over == 0 ? n : network::sum(n, multiple - over);
}

/// With a mask that it is given PyTorch takes attention apart and computes it in fp32 (seen in its profiler
/// under capture, where nobody may look whether the mask allows everything).
void name_unfused_attention(Lowering& l, ValueId q, std::int64_t batches, std::int64_t heads,
                            std::int64_t queries, std::int64_t keys, std::int64_t width, DataType type) {
  const std::int64_t products = product(batches, heads), all_rows = product(products, queries);
  const std::int64_t scores = product(all_rows, keys), mask = product(product(batches, queries), keys);
  const std::int64_t rows = product(all_rows, width), others = product(product(products, keys), width);
  const DataType full = DataType::float32;
  const bool half = type != full;
  for (const std::int64_t tokens : {queries, keys, keys}) {  // heads side by side, and wider
    l.kernel(OperatorClass::transpose, full, {product(batches, tokens), heads, width});
    if (half) l.kernel(OperatorClass::transpose, type, {product(batches, tokens), heads, width});
  }
  l.kernel(OperatorClass::unary, full, {rows});  // the scale's root for query and key
  l.kernel(OperatorClass::unary, full, {others});
  l.kernel(OperatorClass::batched, full, {products, queries, keys, width});
  l.kernel(OperatorClass::unary, type, {mask});
  l.kernel(OperatorClass::broadcast, full, {1, mask, heads});
  l.kernel(OperatorClass::softmax, full, {all_rows, keys});
  l.kernel(OperatorClass::row_sum, DataType::boolean, {all_rows, keys});  // rows that are masked wholly
  l.kernel(OperatorClass::unary, DataType::boolean, {scores});
  l.kernel(OperatorClass::binary, full, {scores});
  l.kernel(OperatorClass::batched, full, {products, queries, width, keys});
  if (half) l.kernel(OperatorClass::copy, full, {rows});
  const Direction d = Direction::forward;
  for (int i = 0; i < 2; ++i) {
    l.backward_kernel(q, OperatorClass::batched, d, full, {products, queries, keys, width});
    l.backward_kernel(q, OperatorClass::batched, d, full, {products, queries, width, keys});
    l.backward_kernel(q, OperatorClass::unary, d, full, {rows});
  }
  l.backward_kernel(q, OperatorClass::softmax, Direction::backward_input, full, {all_rows, keys});
  l.backward_kernel(q, OperatorClass::binary, d, full, {scores});
}

/// What an attention computes: heads may share keys and values, and a decoder's cache has some already.
struct AttentionShape {
  std::int64_t batch = 1, heads = 1, key_heads = 1, queries = 1, keys = 1, width = 1;
};

std::int64_t extent_from_end(const Value& v, std::size_t i) {
  return v.rank > i ? std::max<std::int64_t>(v.dims[v.rank - 1 - i], 1) : 1;
}

AttentionShape shape_of(const Lowering& l, const Value& query, const Value& key, const Value& result,
                        std::int64_t window) {
  AttentionShape s;
  s.width = extent_from_end(query, 0);
  s.queries = extent_from_end(query, 1);
  s.keys = extent_from_end(key, 1);
  s.heads = extent_from_end(result, 2);
  s.key_heads = std::min(extent_from_end(key, 2), s.heads);
  s.batch = result.elements /
            std::max<std::int64_t>(product(product(s.heads, s.queries), extent_from_end(result, 0)), 1);
  if (!l.is_causal() || l.training()) return s;
  if (l.setting().key_value_cache) s.keys = sum(s.keys, l.setting().context);
  // The first of several queries sees a window, and each further one a token more.
  if (window > 0) s.keys = std::min(s.keys, sum(window, s.queries - 1));
  return s;
}

/// Kernels for half precision skip what is masked, and let heads share keys; in full precision keys are
/// repeated first.
void name_attention(Lowering& l, ValueId q, const AttentionShape& s, DataType type) {
  if (!l.is_causal() && l.is_masked() && l.platform().gpu)
    return name_unfused_attention(l, q, s.batch, s.heads, s.queries, s.keys, s.width, type);
  const bool half = network::bits(type) == 16 && l.platform().gpu;
  if (l.is_causal() && half && (s.key_heads < s.heads || s.keys > s.queries || s.queries == 1)) {
    const Lowering::Extents extents = {s.batch, s.heads, s.key_heads, s.queries, s.keys, s.width};
    l.kernel(OperatorClass::grouped_attention, type, extents);
    return l.backward_kernel(q, OperatorClass::grouped_attention, Direction::backward_input, type, extents);
  }
  if (s.key_heads < s.heads)
    for (int i = 0; i < 2; ++i)
      l.kernel(OperatorClass::copy, type, {product(product(product(s.batch, s.heads), s.keys), s.width)});
  const Lowering::Extents extents = {
      s.batch, s.heads, s.queries,
      s.keys,  s.width, l.is_causal() && s.queries > 1 && s.keys == s.queries ? 1 : 0};
  l.kernel(OperatorClass::attention, type, extents);
  l.backward_kernel(q, OperatorClass::attention, Direction::backward_input, type, extents);
}

/// How attention that says so itself departs from the usual.
struct AttentionTraits {
  std::int64_t window = 0;         ///< tokens that a query sees at most; 0: all
  std::int64_t cached_values = 0;  ///< per token: a latent cache; 0: keys and values themselves
};

std::int64_t tokens_of(const Value& v) {
  return extent_from_end(v, 1);
}

/// Of one token of the whole batch. Grouped queries share a head's key and value: the cache holds each once.
std::int64_t cached_values_of(const Value& query, const Value& key, const Value& value,
                              const AttentionTraits& traits) {
  if (traits.cached_values == 0) return sum(key.elements, value.elements) / tokens_of(key);
  const std::int64_t of_one =
      product(product(extent_from_end(query, 2), tokens_of(query)), extent_from_end(query, 0));
  return product(query.elements / std::max<std::int64_t>(of_one, 1), traits.cached_values);
}

// Fused attention: query, key, value, result and the logarithms of the sums are kept, never the scores.
// float32 takes the memory-efficient kernel, which accumulates the query's gradient in a buffer of its own;
// half precision on a current GPU takes cuDNN's.
void lower_fused_attention(Lowering& l, TensorId query, TensorId key, TensorId value, TensorId output,
                           const AttentionTraits& traits) {
  ValueId q = l.value(query), k = l.value(key), v = l.value(value);
  if (q == kNoValue || k == kNoValue || v == kNoValue) return;
  const DataType type = l.low_type(l.natural_type({q, k, v}));
  q = l.cast(q, type);
  k = l.cast(k, type);
  v = l.cast(v, type);
  const ValueId first_k = l.value(l.before_repetition(key)), first_v = l.value(l.before_repetition(value));
  const bool caches =
      l.is_causal() && l.setting().key_value_cache && first_k != kNoValue && first_v != kNoValue;
  const bool latent = traits.cached_values > 0;
  const std::int64_t tokens_seen = tokens_of(l.at(k));
  const std::int64_t kept = traits.window > 0 ? std::min(tokens_seen, traits.window) : tokens_seen;
  const std::int64_t values = caches ? cached_values_of(l.at(q), l.at(first_k), l.at(first_v), traits) : 0;
  if (caches && !l.training() && (latent || kept < tokens_seen)) {
    l.keep_in_cache(latent ? network::kNoTensor : key, product(values, kept), type);
  } else if (caches) {
    const bool repeated = l.at(first_k).elements < l.at(k).elements;
    const ValueId kept_k = l.cached(repeated ? l.cast(first_k, type) : k),
                  kept_v = l.cached(repeated ? l.cast(first_v, type) : v);
    if (!repeated) {
      k = kept_k;
      v = kept_v;
    }
  }
  l.begin();
  const ValueId y = l.make(output, type, l.needs_gradient(q) || l.needs_gradient(k) || l.needs_gradient(v));
  const bool half = network::bits(type) == 16;
  if (half)
    l.lay_out_like(y, q);
  else
    l.lay_out_tokens_first(y);
  const Value& result = l.at(y);
  const std::int64_t width = result.rank > 0 ? std::max<std::int64_t>(result.dims[result.rank - 1], 1) : 1;
  const std::int64_t tokens = result.rank > 1 ? std::max<std::int64_t>(result.dims[result.rank - 2], 1) : 1;
  const std::int64_t rows = result.elements / width, heads = rows / tokens;
  const std::int64_t bytes = result.bytes();
  if (l.at(q).rank >= 2 && l.at(k).rank >= 2 && result.rank >= 2)
    name_attention(l, q, shape_of(l, l.at(q), l.at(k), result, traits.window), type);
  if (l.training()) {
    l.save(l.make_hidden(half ? rows : product(heads, rounded_up(tokens, 32)), DataType::float32));
    l.save(q);
    l.save(k);
    l.save(v);
    l.save(y);
  }
  if (caches) {
    const std::int64_t bytes_per_token = product(values, network::bits(type)) / 8;
    const std::int64_t context = l.setting().context;
    const std::int64_t of_context = traits.window > 0 ? std::min(context, traits.window - kept) : context;
    l.add_cache({.key = latent ? network::kNoTensor : key,
                 .bytes_per_token = bytes_per_token,
                 .context_bytes = product(bytes_per_token, of_context)});
  }
  l.backward_gradient(q);
  l.backward_gradient(k);
  l.backward_gradient(v);
  if (half) {
    const std::int64_t workspace = sum(product(2, bytes), product(rows, 4));
    l.backward_workspace(workspace, workspace);
  } else {
    l.backward_scratch(bytes);  // gradient times result, summed by row
    l.backward_drop();
    l.backward_scratch(product(bytes / tokens, rounded_up(tokens, 64)));
    l.backward_drop();
  }
  l.end({y});
}

void lower_attention_row(Lowering& l, const Operator& op, const LoweringRule&) {
  lower_fused_attention(l, l.input(op, 0), l.input(op, 1), l.input(op, 2), l.output(op, 0),
                        {.window = std::max<std::int64_t>(l.integer(op, "local_window_size", 0), 0),
                         .cached_values = std::max<std::int64_t>(l.integer(op, "cached_values", 0), 0)});
}

constexpr LoweringRule kAttentionRules[] = {{"Attention", lower_attention_row}};

}  // namespace

void lower_attention(Lowering& l, TensorId query, TensorId key, TensorId value, TensorId output) {
  lower_fused_attention(l, query, key, value, output, {});
}

std::span<const LoweringRule> attention_rules() {
  return kAttentionRules;
}

}  // namespace plimsoll::program
