#include <algorithm>

#include "network/rules/extents.hpp"
#include "network/rules/fused.hpp"

namespace plimsoll::network {
namespace {

/// Hidden sizes of keys and of values where one matrix projects Q, K and V.
struct Hidden {
  Dim key, value;
};

/// From qkv_hidden_sizes where that is given, else a third each of the columns of the weights.
Result<Hidden> projected(InferenceContext& c) {
  const auto sizes = c.integers("qkv_hidden_sizes");
  if (!sizes.empty()) {
    if (sizes.size() != 3) return fail("qkv_hidden_sizes has {} values; 3 are needed", sizes.size());
    for (const std::int64_t n : sizes)
      if (n <= 0) return fail("qkv_hidden_sizes has a {}; all must be positive", n);
    return Hidden{Dim::of(sizes[0]), Dim::of(sizes[2])};
  }
  const Result<Shape> weights = shape_of_rank(c, 1, 2, "the weights");
  if (!weights) return std::unexpected(weights.error());
  const Dim columns = (*weights)[1];
  if (columns.exact() && columns.value() % 3 != 0)
    return fail("the weights {} cannot be divided among Q, K and V", c.show(weights->dims()));
  const Dim each = c.symbols().divide(columns, Dim::of(3));
  return Hidden{each, each};
}

/// The size of one head of `heads` that share `features`.
Result<Dim> head_size(InferenceContext& c, Dim features, std::int64_t heads) {
  if (features.exact() && features.value() % heads != 0)
    return fail("{} features cannot be shared by {} heads", features.value(), heads);
  return c.symbols().divide(features, Dim::of(heads));
}

/// Output 0 for an input (batch, length, features); output 1 is the state of keys and values together,
/// which input `past` holds of earlier steps.
Status projected_attention(InferenceContext& c, DataType type, std::size_t past) {
  const Result<Shape> x = shape_of_rank(c, 0, 3, "the input");
  PLIMSOLL_TRY(x);
  const Result<Hidden> hidden = projected(c);
  PLIMSOLL_TRY(hidden);
  c.set(0, type, {(*x)[0], (*x)[1], hidden->value});
  if (!c.wants(1)) return {};
  if (c.has(past) && c.integer("past_present_share_buffer", 0) != 0) {
    set_like(c, 1, past, type);
    return {};
  }
  const Result<std::int64_t> heads = positive_attribute(c, "num_heads", 0);
  PLIMSOLL_TRY(heads);
  const Result<Dim> size = head_size(c, hidden->key, *heads);
  PLIMSOLL_TRY(size);
  Dim length = (*x)[1];
  if (c.has(past)) {
    const Result<Shape> before = shape_of_rank(c, past, 5, "past");
    PLIMSOLL_TRY(before);
    length = c.symbols().plus((*before)[3], length);
  }
  c.set(1, type, {Dim::of(2), (*x)[0], Dim::of(*heads), length, *size});
  return {};
}

/// What the inputs of a multi-head attention tell, however they are packed.
struct AttentionParts {
  Dim batch, length, features;  // of the query
  Dim values, keys_length;      // features of all values; how many keys are new
};

Result<AttentionParts> parts_of(InferenceContext& c, bool query_may_hold_all) {
  Symbols& s = c.symbols();
  const auto q = c.dims(0);
  if (q.size() == 5) {  // (batch, length, heads, 3, size)
    const Dim features = s.times(q[2], q[4]);
    return AttentionParts{q[0], q[1], features, features, q[1]};
  }
  if (q.size() != 3) return fail("the query has the shape {}; it must have 3 or 5 dimensions", c.show(q));
  AttentionParts parts{q[0], q[1], q[2], q[2], q[1]};
  if (c.ranked(2)) {
    const auto v = c.dims(2);
    if (v.size() != 3 && v.size() != 4)
      return fail("the value has the shape {}; it must have 3 or 4 dimensions", c.show(v));
    parts.values = v.size() == 3 ? v[2] : s.times(v[1], v[3]);
    parts.keys_length = v.size() == 3 ? v[1] : v[2];
  } else if (c.has(2)) {
    parts.values = c.unknown("features", {});
    parts.keys_length = c.unknown("length", {});
  } else if (c.ranked(1)) {
    if (c.rank(1) >= 2) parts.keys_length = c.dims(1)[1];  // packed keys and values
  } else if (c.has(1)) {
    parts.keys_length = c.unknown("length", {});
  } else if (query_may_hold_all) {
    parts.features = parts.values = s.divide(q[2], Dim::of(3));
  }
  return parts;
}

Status multi_head(InferenceContext& c, std::size_t past_key, bool shared_buffer, bool query_may_hold_all) {
  const DataType type = c.type(0);
  if (!c.ranked(0)) {  // the result has three extents whatever the packing
    c.set(0, type, {c.unknown("batch", {}), c.unknown("length", {}), c.unknown("features", {})});
    for (const std::size_t i : {1, 2, 3}) c.set_unranked(i, type);
    return {};
  }
  const Result<AttentionParts> parts = parts_of(c, query_may_hold_all);
  PLIMSOLL_TRY(parts);
  c.set(0, type, {parts->batch, parts->length, parts->values});
  if (!c.wants(1) && !c.wants(2) && !c.wants(3)) return {};

  const Result<std::int64_t> heads = positive_attribute(c, "num_heads", 0);
  PLIMSOLL_TRY(heads);
  Dim total = parts->keys_length;
  if (c.has(past_key)) {
    const Result<Shape> past = shape_of_rank(c, past_key, 4, "past_key");
    PLIMSOLL_TRY(past);
    total = shared_buffer ? (*past)[2] : c.symbols().plus((*past)[2], total);
  }
  const Dim n = Dim::of(*heads);
  const Result<Dim> key_size = head_size(c, parts->features, *heads);
  PLIMSOLL_TRY(key_size);
  const Result<Dim> value_size = head_size(c, parts->values, *heads);
  PLIMSOLL_TRY(value_size);
  c.set(1, type, {parts->batch, n, total, *key_size});
  c.set(2, type, {parts->batch, n, total, *value_size});
  c.set(3, type, {parts->batch, n, parts->length, total});
  return {};
}

/// Keys and values of a cache and of this step: as long as the cache where that is a buffer for all of
/// them, as long as both together where it grows. Which one, only the total length tells.
Dim present_length(InferenceContext& c, Dim past, Dim fresh, std::size_t total_input) {
  Symbols& s = c.symbols();
  if (c.has_value(total_input) && c.value(total_input).size() == 1)
    if (const Dim total = c.value(total_input)[0].dim(); total.valid()) return s.maximum(past, total);
  const Interval p = s.bounds(past), both = s.bounds(s.plus(past, fresh));
  return c.unknown("length", {std::max(p.low, s.bounds(fresh).low), both.high});
}

Status grouped(InferenceContext& c, bool buffer_for_all) {
  const DataType type = c.type(0);
  const Result<std::int64_t> heads = positive_attribute(c, "num_heads", 0);
  PLIMSOLL_TRY(heads);
  const Result<std::int64_t> kv_heads = positive_attribute(c, "kv_num_heads", 0);
  PLIMSOLL_TRY(kv_heads);
  const Result<Shape> q = shape_of_rank(c, 0, 3, "the query");
  PLIMSOLL_TRY(q);
  // Without keys and values the query holds all three.
  std::int64_t sharing = *heads, both = 0;
  if (!c.has(1) && (__builtin_mul_overflow(*kv_heads, std::int64_t{2}, &both) ||
                    __builtin_add_overflow(sharing, both, &sharing)))
    return fail("num_heads is {} and kv_num_heads {}", *heads, *kv_heads);
  const Result<Dim> size = head_size(c, (*q)[2], sharing);
  PLIMSOLL_TRY(size);
  c.set(0, type, {(*q)[0], (*q)[1], c.symbols().times(*size, Dim::of(*heads))});

  const Dim fresh = c.ranked(1) && c.rank(1) == 3 ? c.dims(1)[1] : (*q)[1];
  Dim total = fresh;
  if (c.has(3) && c.ranked(3)) {
    const Result<Shape> past = shape_of_rank(c, 3, 4, "past_key");
    PLIMSOLL_TRY(past);
    total = buffer_for_all ? (*past)[2] : present_length(c, (*past)[2], fresh, 6);
    Shape present = *past;
    present[2] = total;
    c.set(1, c.type(3), present);
    c.set(2, c.has(4) ? c.type(4) : c.type(3), present);
  } else {
    for (const std::size_t i : {1, 2})
      c.set(i, c.has(3) ? c.type(3) : type, {(*q)[0], Dim::of(*kv_heads), total, *size});
  }
  c.set(3, type, {(*q)[0], Dim::of(*heads), (*q)[1], total});
  return {};
}

}  // namespace

Status fused_attention(InferenceContext& c) {
  return projected_attention(c, c.type(0), 4);
}
Status fused_quantized_attention(InferenceContext& c) {
  return projected_attention(c, c.type(2), 8);
}

Status fused_packed_attention(InferenceContext& c) {
  const Result<Shape> x = shape_of_rank(c, 0, 2, "the input");
  PLIMSOLL_TRY(x);
  const Result<Hidden> hidden = projected(c);
  PLIMSOLL_TRY(hidden);
  c.set(0, c.type(0), {(*x)[0], hidden->value});
  return {};
}

Status fused_packed_multi_head(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set(0, c.type(0), {c.unknown("tokens", {}), c.unknown("features", {})});
    return {};
  }
  const auto q = c.dims(0);
  if (q.size() != 2 && q.size() != 4)
    return fail("the query has the shape {}; it must have 2 or 4 dimensions", c.show(q));
  const Dim features = q.size() == 4                   ? c.symbols().times(q[1], q[3])
                       : c.ranked(2) && c.rank(2) == 2 ? c.dims(2)[1]
                                                       : q[1];
  c.set(0, c.type(0), {q[0], features});
  return {};
}

// A past_sequence_length beside the past keys says that past and present share a buffer.
Status fused_multi_head(InferenceContext& c) {
  return multi_head(c, 6, c.has(6) && c.has(8), false);
}
Status fused_decoder_multi_head(InferenceContext& c) {
  return multi_head(c, 5, c.integer("past_present_share_buffer", 0) != 0, true);
}
Status fused_group_query(InferenceContext& c) {
  return grouped(c, false);
}
Status fused_sparse_attention(InferenceContext& c) {
  return grouped(c, true);
}

Status fused_position_bias(InferenceContext& c) {
  const Result<Shape> table = shape_of_rank(c, 0, 2, "the bias table");
  PLIMSOLL_TRY(table);
  const Result<Dim> queries = extent_input(c, 1, "query_length");
  PLIMSOLL_TRY(queries);
  const Result<Dim> keys = extent_input(c, 2, "key_length");
  PLIMSOLL_TRY(keys);
  c.set(0, c.type(0), {Dim::of(1), (*table)[1], *queries, *keys});
  return {};
}

Status fused_gated_position_bias(InferenceContext& c) {
  const Result<std::int64_t> heads = positive_attribute(c, "num_heads", 0);
  PLIMSOLL_TRY(heads);
  const std::size_t source = c.has(6) ? 6 : 0;  // packed tokens say their batch in the offsets
  if (!c.ranked(source) || c.rank(source) < 2) {
    c.set(0, c.type(0),
          {c.unknown("batch", {}), Dim::of(*heads), c.unknown("length", {}), c.unknown("length", {})});
    return {};
  }
  const auto d = c.dims(source);
  c.set(0, c.type(0), {d[0], Dim::of(*heads), d[1], d[1]});
  return {};
}

}  // namespace plimsoll::network
