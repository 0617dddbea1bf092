#include "network/transformers/attention.hpp"

#include <cmath>
#include <utility>
#include <vector>

namespace plimsoll::network::transformers {
namespace {

using zoo::Blocks, zoo::Tokens;

/// Of one attention, each batch x heads x tokens x size.
struct Parts {
  TensorId query = kNoTensor, key = kNoTensor, value = kNoTensor;
};

std::int64_t value_size(const Attention& a) {
  return a.value_size > 0 ? a.value_size : a.head_size;
}

TensorId cut(Blocks& b, const std::string& name, TensorId x, std::int64_t from, std::int64_t to) {
  return b.add("Slice", name, {x, b.integers({from}), b.integers({to}), b.integers({3})});
}

/// x cos + rotate_half(x) sin, with rotate_half(x) = (-second half, first half).
TensorId turn(Blocks& b, const std::string& name, TensorId x, std::int64_t size, TensorId cosine,
              TensorId sine) {
  const TensorId first = cut(b, name + ".first", x, 0, size / 2);
  const TensorId second = cut(b, name + ".second", x, size / 2, size);
  const TensorId half =
      b.add("Concat", name + ".rotate_half", {b.add("Neg", name + ".neg", {second}), first}, {{"axis", -1}});
  return b.add("Add", name,
               {b.add("Mul", name + ".cos", {x, cosine}), b.add("Mul", name + ".sin", {half, sine})});
}

/// Of each head the first `turned` values.
TensorId turn_part(Blocks& b, const std::string& name, TensorId x, std::int64_t size, std::int64_t turned,
                   TensorId cosine, TensorId sine) {
  if (turned == size) return turn(b, name, x, size, cosine, sine);
  const TensorId some = turn(b, name + ".part", cut(b, name + ".turned", x, 0, turned), turned, cosine, sine);
  return b.add("Concat", name, {some, cut(b, name + ".kept", x, turned, size)}, {{"axis", -1}});
}

/// Heads beside each other, normalised where the stack says so, then heads before tokens.
TensorId heads_of(Blocks& b, const Stack& s, const std::string& name, const std::string& norm, Tokens x,
                  Blocks::Heads heads) {
  using HeadNorm = Attention::HeadNorm;
  if (norm.empty() || s.attention.head_norm == HeadNorm::none) return b.split_heads(name, x, heads);
  if (s.attention.head_norm == HeadNorm::whole)
    return b.split_heads(name, add_norm(b, norm, x, s.norm), heads);
  const TensorId split =
      b.add("Reshape", name + ".view", {x.id, b.integers({0, 0, heads.count, heads.size})});
  const Tokens normal = add_norm(b, norm, {split, heads.size}, s.norm);
  return b.add("Transpose", name + ".transpose", {normal.id}, {{"perm", {0, 2, 1, 3}}});
}

struct Projected {
  Tokens query, key, value;
};

Projected project(Blocks& b, const Stack& s, const std::string& layer, Tokens x, Tokens other) {
  const Attention& a = s.attention;
  const std::int64_t queries = a.heads * a.head_size, keys = a.key_heads * a.head_size;
  const std::int64_t values = a.key_heads * value_size(a);
  const LayerNames& n = s.names;
  if (!a.joined)
    return {b.linear(layer + n.query, x, queries, a.query_bias),
            b.linear(layer + n.key, other, keys, a.key_bias),
            b.linear(layer + n.value, other, values, a.value_bias)};
  const Tokens all = b.linear(layer + n.joined, x, queries + keys + values, a.query_bias);
  const auto parts = b.add_many("Split", layer + n.attention + ".split",
                                {all.id, b.integers({queries, keys, values})}, 3, {{"axis", 2}});
  return {{parts[0], queries}, {parts[1], keys}, {parts[2], values}};
}

Parts plain_parts(Blocks& b, const Stack& s, const Layer& layer, const std::string& name, Tokens x,
                  const Surroundings& around) {
  const Attention& a = s.attention;
  const LayerNames& n = s.names;
  const std::string self = name + n.attention;
  const Projected all = project(b, s, name, x, x);
  Parts p;
  p.query = heads_of(b, s, self + ".query", name + n.query_norm, all.query, {a.heads, a.head_size});
  p.key = heads_of(b, s, self + ".key", name + n.key_norm, all.key, {a.key_heads, a.head_size});
  p.value = b.split_heads(self + ".value", all.value, {a.key_heads, value_size(a)});
  if (s.rotary_size == 0 || !layer.rotary) return p;
  const bool local = layer.window > 0 && around.local_cosine != kNoTensor;
  const TensorId cosine = local ? around.local_cosine : around.cosine;
  const TensorId sine = local ? around.local_sine : around.sine;
  p.query = turn_part(b, self + ".q_rotary", p.query, a.head_size, s.rotary_size, cosine, sine);
  p.key = turn_part(b, self + ".k_rotary", p.key, a.head_size, s.rotary_size, cosine, sine);
  return p;
}

/// DeepSeek-AI 2024: queries, and keys with values, come through small vectors; the part of the key that
/// is turned is one for all heads.
Parts latent_parts(Blocks& b, const Stack& s, const std::string& name, Tokens x, const Surroundings& around) {
  const Attention& a = s.attention;
  const Latent& l = *a.latent;
  const LayerNames& n = s.names;
  const std::string self = name + n.attention;
  Tokens from = x;
  if (l.query_rank > 0)
    from = add_norm(b, name + n.query_down_norm, b.linear(name + n.query_down, x, l.query_rank, a.query_bias),
                    s.norm);
  const bool direct = l.query_rank == 0;
  const Tokens queries = b.linear(name + (direct ? n.query : n.query_up), from, a.heads * a.head_size, false);
  const TensorId query = b.split_heads(self + ".query", queries, {a.heads, a.head_size});
  const Tokens small = b.linear(name + n.key_value_down, x, l.key_value_rank + l.rotary_size, a.key_bias);
  const auto halves = b.add_many("Split", self + ".compressed",
                                 {small.id, b.integers({l.key_value_rank, l.rotary_size})}, 2, {{"axis", 2}});
  const Tokens normal = add_norm(b, name + n.key_value_norm, {halves[0], l.key_value_rank}, s.norm);
  const std::int64_t value = value_size(a), both = l.plain_size + value;
  const TensorId wide = b.split_heads(
      self + ".key_value", b.linear(name + n.key_value_up, normal, a.heads * both, false), {a.heads, both});
  const TensorId plain = cut(b, self + ".key_plain", wide, 0, l.plain_size);
  const TensorId one = b.split_heads(self + ".key_turned", {halves[1], l.rotary_size}, {1, l.rotary_size});
  const TensorId turned = turn(b, self + ".k_rotary", one, l.rotary_size, around.cosine, around.sine);
  const TensorId all = b.add("Expand", self + ".key_expand", {turned, b.integers({1, a.heads, 1, 1})});
  const TensorId query_turned =
      turn(b, self + ".q_rotary", cut(b, self + ".query_turned", query, l.plain_size, a.head_size),
           l.rotary_size, around.cosine, around.sine);
  Parts p;
  p.query = b.add("Concat", self + ".query",
                  {cut(b, self + ".query_plain", query, 0, l.plain_size), query_turned}, {{"axis", -1}});
  p.key = b.add("Concat", self + ".key", {plain, all}, {{"axis", -1}});
  p.value = cut(b, self + ".value", wide, l.plain_size, both);
  return p;
}

std::vector<AttributeValue> attributes_of(const Blocks& b, const Stack& s, const Layer& layer, bool causal) {
  const Attention& a = s.attention;
  std::vector<AttributeValue> list;
  list.emplace_back("is_causal", causal ? 1 : 0);
  list.emplace_back("scale", a.scale > 0 ? a.scale : 1 / std::sqrt(static_cast<double>(a.head_size)));
  if (a.soft_cap > 0) list.emplace_back("softcap", a.soft_cap);
  if (layer.window > 0) list.emplace_back("local_window_size", layer.window);
  if (a.latent && causal)
    list.emplace_back("cached_values", a.latent->key_value_rank + a.latent->rotary_size);
  if (b.training() && s.attention_dropout > 0) list.emplace_back("dropout", s.attention_dropout);
  return list;
}

Tokens attend(Blocks& b, const Stack& s, const Layer& layer, const std::string& self,
              const std::string& output, const Parts& p, bool causal) {
  const Attention& a = s.attention;
  const TensorId context = b.builder().tensor(self);
  const TensorId inputs[] = {p.query, p.key, p.value};
  b.builder().add("Attention", "", self, inputs, std::span(&context, 1), attributes_of(b, s, layer, causal));
  const Tokens rows = b.merge_heads(self + ".merge", context, {a.heads, value_size(a)});
  return b.linear(output, rows, s.width, a.output_bias);
}

}  // namespace

Tokens add_attention(Blocks& b, const Stack& s, const Layer& layer, const std::string& name, Tokens x,
                     const Surroundings& around) {
  const Parts p =
      s.attention.latent ? latent_parts(b, s, name, x, around) : plain_parts(b, s, layer, name, x, around);
  return attend(b, s, layer, name + s.names.attention, name + s.names.output, p, s.causal);
}

Tokens add_cross_attention(Blocks& b, const Stack& s, const std::string& name, Tokens x,
                           const Surroundings& around) {
  const Attention& a = s.attention;
  // "self_attn.q_proj" -> "encoder_attn.q_proj"
  Stack cross = s;
  const auto moved = [&](std::string& part) {
    if (part.starts_with(s.names.attention + ".")) part.replace(0, s.names.attention.size(), s.names.cross);
  };
  for (std::string* part : {&cross.names.query, &cross.names.key, &cross.names.value, &cross.names.output})
    moved(*part);
  cross.names.attention = s.names.cross;
  const std::string self = name + s.names.cross;
  const Projected all = project(b, cross, name, x, around.other);
  const Parts p{b.split_heads(self + ".query", all.query, {a.heads, a.head_size}),
                b.split_heads(self + ".key", all.key, {a.key_heads, a.head_size}),
                b.split_heads(self + ".value", all.value, {a.key_heads, value_size(a)})};
  return attend(b, cross, {}, self, name + cross.names.output, p, false);
}

}  // namespace plimsoll::network::transformers
