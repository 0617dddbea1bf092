#include "network/transformers/stack.hpp"

#include <fmt/format.h>

#include "network/transformers/attention.hpp"
#include "network/transformers/mlp.hpp"

namespace plimsoll::network::transformers {
namespace {

using zoo::Blocks, zoo::Tokens;

Tokens drop(Blocks& b, const std::string& name, Tokens x, double ratio) {
  return {b.dropout(name, x.id, ratio), x.width};
}

Tokens add_layer(Blocks& b, const Stack& s, const Layer& layer, const std::string& name, Tokens x,
                 const Surroundings& around) {
  const LayerNames& n = s.names;
  const auto norm = [&](const std::string& part, Tokens t) { return add_norm(b, name + part, t, s.norm); };
  const auto attention = [&](Tokens t) {
    return drop(b, name + n.attention + ".dropout", add_attention(b, s, layer, name, t, around),
                s.residual_dropout);
  };
  const auto cross = [&](Tokens t) {
    return drop(b, name + n.cross + ".dropout", add_cross_attention(b, s, name, t, around),
                s.residual_dropout);
  };
  const auto mlp = [&](Tokens t) {
    return drop(b, name + n.mlp + ".dropout", add_mlp(b, s, layer, name, t), s.residual_dropout);
  };
  switch (s.placement) {
    case Placement::before:
      x = b.sum(name + "add", x, attention(norm(n.attention_norm, x)));
      if (s.cross_attention) x = b.sum(name + "add_cross", x, cross(norm(n.cross_norm, x)));
      return b.sum(name + "add_1", x, mlp(norm(n.mlp_norm, x)));
    case Placement::after:
      x = norm(n.attention_norm, b.sum(name + "add", attention(x), x));
      if (s.cross_attention) x = norm(n.cross_norm, b.sum(name + "add_cross", cross(x), x));
      return norm(n.mlp_norm, b.sum(name + "add_1", mlp(x), x));
    case Placement::both:
      x = b.sum(name + "add", x, norm(n.attention_norm_after, attention(norm(n.attention_norm, x))));
      return b.sum(name + "add_1", x, norm(n.mlp_norm_after, mlp(norm(n.mlp_norm, x))));
    case Placement::parallel: {
      const Tokens h = norm(n.attention_norm, x);
      const Tokens branches = b.sum(name + "add", attention(h), mlp(h));
      return b.sum(name + "add_1", branches, x);
    }
  }
  std::unreachable();
}

}  // namespace

void add_rotary(Blocks& b, const std::string& name, TensorId ids, std::int64_t size, TensorId& cosine,
                TensorId& sine) {
  const TensorId frequencies = b.builder().buffer(name + ".inv_freq", {1, size / 2});
  const TensorId length =
      b.add("Squeeze", name + ".length", {b.length_of(name + ".shape", ids), b.integers({0})});
  const TensorId range = b.add("Range", name + ".range", {b.integer(0), length, b.integer(1)});
  const TensorId column = b.add("Unsqueeze", name + ".unsqueeze", {range, b.integers({1})});
  const TensorId real =
      b.add("Cast", name + ".cast", {column}, {{"to", static_cast<std::int64_t>(DataType::float32)}});
  const TensorId angles = b.add("Mul", name + ".mul", {real, frequencies});
  const TensorId both = b.add("Concat", name + ".concat", {angles, angles}, {{"axis", -1}});
  cosine = b.add("Cos", name + ".cos", {both});
  sine = b.add("Sin", name + ".sin", {both});
}

Tokens add_norm(Blocks& b, const std::string& name, Tokens x, const Norm& norm) {
  if (norm.kind == Norm::Kind::layer && norm.bias) return b.layer_norm(name, x, norm.epsilon);
  const TensorId scale = b.builder().parameter(name + ".weight", {x.width});
  const std::string_view type = norm.kind == Norm::Kind::layer ? "LayerNormalization" : "RMSNormalization";
  return {b.add(type, name, {x.id, scale}, {{"axis", -1}, {"epsilon", norm.epsilon}}), x.width};
}

Tokens add_layers(Blocks& b, const Stack& s, Tokens x, const Surroundings& around) {
  for (std::size_t i = 0; i < s.layers.size(); ++i)
    x = add_layer(b, s, s.layers[i], fmt::format("{}{}.", s.names.prefix, i), x, around);
  return x;
}

}  // namespace plimsoll::network::transformers
