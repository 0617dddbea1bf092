#include "network/inference.hpp"
#include "network/operators.hpp"
#include "network/rules/extents.hpp"

namespace plimsoll::network {
namespace {

/// Batch, heads, length and size of one of Q, K, V, whichever of the two forms it has.
struct Heads {
  Dim batch, heads, length, size;
};

/// 4-D is (batch, heads, length, size); 3-D is (batch, length, heads * size) and an attribute says the heads.
Result<Heads> heads_of(InferenceContext& c, std::size_t input, std::string_view name,
                       std::string_view attribute) {
  const auto d = c.dims(input);
  if (d.size() == 4) return Heads{d[0], d[1], d[2], d[3]};
  if (d.size() != 3) return fail("{} has the shape {}; it must have 3 or 4 dimensions", name, c.show(d));
  const Result<std::int64_t> heads = positive_attribute(c, attribute, 0);
  if (!heads) return std::unexpected(heads.error());
  if (d[2].exact() && d[2].value() % *heads != 0)
    return fail("{} has {} features, which {} heads cannot share", name, d[2].value(), *heads);
  return Heads{d[0], Dim::of(*heads), d[1], c.symbols().divide(d[2], Dim::of(*heads))};
}

/// Inputs Q, K, V, mask, past key, past value.
Status attention(InferenceContext& c) {
  if (!c.ranked(0) || !c.ranked(1) || !c.ranked(2)) {
    set_like(c, 0, 0, c.type(0));
    if (c.ranked(0)) {  // the last extent is the values', which are not known
      Shape shape(c.dims(0));
      if (shape.rank() > 0) shape[shape.rank() - 1] = c.unknown("features", {});
      c.set(0, c.type(0), shape);
    }
    for (const std::size_t i : {1, 2})
      c.set(i, c.type(i),
            {c.unknown("batch", {}), c.unknown("heads", {}), c.unknown("length", {}), c.unknown("size", {})});
    c.set_unranked(3, c.type(0));
    return {};
  }
  const Result<Heads> q = heads_of(c, 0, "Q", "q_num_heads");
  PLIMSOLL_TRY(q);
  const Result<Heads> k = heads_of(c, 1, "K", "kv_num_heads");
  PLIMSOLL_TRY(k);
  const Result<Heads> v = heads_of(c, 2, "V", "kv_num_heads");
  PLIMSOLL_TRY(v);
  if (differ(q->size, k->size)) return fail("Q has heads of {}, K of {}", q->size.value(), k->size.value());
  if (differ(k->length, v->length))
    return fail("K has the length {}, V {}", k->length.value(), v->length.value());
  if (differ(q->batch, k->batch))
    return fail("Q has a batch of {}, K of {}", q->batch.value(), k->batch.value());
  if (q->heads.exact() && k->heads.exact() && (k->heads.is(0) || q->heads.value() % k->heads.value() != 0))
    return fail("{} heads of Q cannot share {} of K and V", q->heads.value(), k->heads.value());

  Symbols& s = c.symbols();
  Dim past = Dim::of(0);
  if (c.has(4)) {
    const Result<Shape> key = shape_of_rank(c, 4, 4, "past_key");
    PLIMSOLL_TRY(key);
    past = (*key)[2];
  }
  const Dim total = s.plus(past, k->length);
  if (c.rank(0) == 4)
    c.set(0, c.type(0), {q->batch, q->heads, q->length, v->size});
  else
    c.set(0, c.type(0), {q->batch, q->length, s.times(q->heads, v->size)});
  c.set(1, c.type(1), {k->batch, k->heads, total, k->size});
  c.set(2, c.type(2), {v->batch, v->heads, total, v->size});
  c.set(3, c.type(0), {q->batch, q->heads, q->length, total});
  return {};
}

Status rotary_embedding(InferenceContext& c) {
  if (c.ranked(0) && c.rank(0) != 3 && c.rank(0) != 4)
    return fail("the input has the shape {}; it must have 3 or 4 dimensions", c.show(c.dims(0)));
  set_like(c, 0, 0, c.type(0));
  return {};
}

constexpr OperatorInfo kAttentionOperators[] = {
    {"Attention", 3, 7, 4, attention},
    {"RotaryEmbedding", 3, 4, 1, rotary_embedding},
};

}  // namespace

std::span<const OperatorInfo> attention_operators() {
  return kAttentionOperators;
}

}  // namespace plimsoll::network
