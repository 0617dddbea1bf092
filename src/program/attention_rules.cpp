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

void name_attention(Lowering& l, ValueId q, ValueId k, const Value& result, DataType type) {
  const Value &query = l.at(q), &key = l.at(k);
  if (query.rank < 2 || key.rank < 2 || result.rank < 2) return;
  const std::int64_t width = query.dims[query.rank - 1], queries = query.dims[query.rank - 2];
  const std::int64_t keys = key.dims[key.rank - 2];
  const std::int64_t heads = result.rank > 2 ? result.dims[result.rank - 3] : 1;
  const std::int64_t batch =
      result.elements /
      std::max<std::int64_t>(product(product(heads, queries), result.dims[result.rank - 1]), 1);
  if (!l.is_causal() && l.is_masked() && l.platform().gpu)
    return name_unfused_attention(l, q, batch, heads, queries, keys, width, type);
  const Lowering::Extents extents = {batch, heads, queries, keys, width, l.is_causal() ? 1 : 0};
  l.kernel(OperatorClass::attention, type, extents);
  l.backward_kernel(q, OperatorClass::attention, Direction::backward_input, type, extents);
}

void lower_attention_row(Lowering& l, const Operator& op, const LoweringRule&) {
  lower_attention(l, l.input(op, 0), l.input(op, 1), l.input(op, 2), l.output(op, 0));
}

constexpr LoweringRule kAttentionRules[] = {{"Attention", lower_attention_row}};

}  // namespace

// Fused attention: query, key, value, result and the logarithms of the sums are kept, never the scores.
// float32 takes the memory-efficient kernel, which accumulates the query's gradient in a buffer of its own;
// half precision on a current GPU takes cuDNN's.
void lower_attention(Lowering& l, TensorId query, TensorId key, TensorId value, TensorId output) {
  ValueId q = l.value(query), k = l.value(key), v = l.value(value);
  if (q == kNoValue || k == kNoValue || v == kNoValue) return;
  const DataType type = l.low_type(l.natural_type({q, k, v}));
  q = l.cast(q, type);
  k = l.cast(k, type);
  v = l.cast(v, type);
  const ValueId first_k = l.value(l.before_repetition(key)), first_v = l.value(l.before_repetition(value));
  if (l.is_causal() && first_k != kNoValue && first_v != kNoValue) {
    // Grouped queries share a head's key and value: the cache holds each once.
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
  name_attention(l, q, k, result, type);
  if (l.training()) {
    l.save(l.make_hidden(half ? rows : product(heads, rounded_up(tokens, 32)), DataType::float32));
    l.save(q);
    l.save(k);
    l.save(v);
    l.save(y);
  }
  if (l.is_causal() && first_k != kNoValue && first_v != kNoValue) {
    const Value& keys = l.at(k);
    const std::int64_t key_tokens = keys.rank > 1 ? std::max<std::int64_t>(keys.dims[keys.rank - 2], 1) : 1;
    const std::int64_t bits = network::bits(type);
    l.add_cache(product((l.at(first_k).elements + l.at(first_v).elements) / key_tokens, bits) / 8);
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

std::span<const LoweringRule> attention_rules() {
  return kAttentionRules;
}

}  // namespace plimsoll::program
