#include <cmath>
#include <limits>

#include "network/zoo/blocks.hpp"

namespace plimsoll::network::zoo {

Features Blocks::linear(const std::string& name, Features x, std::int64_t out, bool bias) {
  std::vector<TensorId> inputs = {x.id, builder_.parameter(name + ".weight", {out, x.width})};
  if (bias) inputs.push_back(builder_.parameter(name + ".bias", {out}));
  return {add("Gemm", name, inputs, {{"transB", 1}}), out};
}

// Exporters keep the weight of a matrix product over tokens transposed: in x out.
Tokens Blocks::linear(const std::string& name, Tokens x, std::int64_t out, bool bias) {
  const TensorId weight = builder_.parameter(name + ".weight", {x.width, out});
  if (!bias) return {add("MatMul", name, {x.id, weight}), out};
  const TensorId product = add("MatMul", name + ".matmul", {x.id, weight});
  return {add("Add", name, {product, builder_.parameter(name + ".bias", {out})}), out};
}

Tokens Blocks::layer_norm(const std::string& name, Tokens x, double epsilon) {
  const TensorId scale = builder_.parameter(name + ".weight", {x.width});
  const TensorId bias = builder_.parameter(name + ".bias", {x.width});
  return {add("LayerNormalization", name, {x.id, scale, bias}, {{"axis", -1}, {"epsilon", epsilon}}),
          x.width};
}

Tokens Blocks::sum(std::string_view name, Tokens a, Tokens b) {
  return {add("Add", name, {a.id, b.id}), a.width};
}

TensorId Blocks::split_heads(const std::string& name, Tokens x, Heads heads) {
  const TensorId split = add("Reshape", name + ".view", {x.id, integers({0, 0, heads.count, heads.size})});
  return add("Transpose", name + ".transpose", {split}, {{"perm", {0, 2, 1, 3}}});
}

TensorId Blocks::attend(const std::string& name, TensorId query, TensorId key, TensorId value, Heads heads,
                        TensorId mask, double dropout_ratio) {
  const TensorId root = real(1.0 / std::sqrt(std::sqrt(static_cast<double>(heads.size))));
  const TensorId turned = add("Transpose", name + ".key_transpose", {key}, {{"perm", {0, 1, 3, 2}}});
  TensorId scores = add(
      "MatMul", name + ".scores",
      {add("Mul", name + ".query_scale", {query, root}), add("Mul", name + ".key_scale", {turned, root})});
  if (mask != kNoTensor) scores = add("Add", name + ".mask", {scores, mask});
  const TensorId weights = add("Softmax", name + ".softmax", {scores}, {{"axis", -1}});
  return add("MatMul", name + ".context", {dropout(name + ".dropout", weights, dropout_ratio), value});
}

Tokens Blocks::merge_heads(const std::string& name, TensorId x, Heads heads) {
  const TensorId rows = add("Transpose", name + ".transpose", {x}, {{"perm", {0, 2, 1, 3}}});
  const std::int64_t width = heads.count * heads.size;
  return {add("Reshape", name + ".reshape", {rows, integers({0, 0, width})}), width};
}

TensorId Blocks::length_of(const std::string& name, TensorId ids) {
  return add("Shape", name, {ids}, {{"start", 1}, {"end", 2}});
}

TensorId Blocks::causal_mask(const std::string& name, TensorId ids) {
  const TensorId length = length_of(name + ".length", ids);
  const TensorId square = add("Concat", name + ".shape", {length, length}, {{"axis", 0}});
  const TensorId full = filled(name + ".full", square, std::numeric_limits<float>::lowest());
  return add("Trilu", name, {full, integer(1)}, {{"upper", 1}});
}

}  // namespace plimsoll::network::zoo
