#include "network/transformers/mlp.hpp"

#include <vector>

namespace plimsoll::network::transformers {
namespace {

using zoo::Blocks, zoo::Tokens;

struct MlpNames {
  std::string module, gate, up, down, joined;
};

Tokens mlp(Blocks& b, const Mlp& m, const MlpNames& n, Tokens x) {
  const std::string act = n.module + ".act_fn";
  if (!m.gated) {
    const Tokens up = b.linear(n.up, x, m.hidden, m.bias);
    return b.linear(n.down, Tokens{b.activate(act, up.id, m.activation), m.hidden}, x.width, m.bias);
  }
  TensorId gate = kNoTensor, up = kNoTensor;
  if (m.joined) {
    const Tokens both = b.linear(n.joined, x, 2 * m.hidden, m.bias);
    const auto halves = b.add_many("Split", n.module + ".split", {both.id, b.integers({m.hidden, m.hidden})},
                                   2, {{"axis", 2}});
    gate = halves[0];
    up = halves[1];
  } else {
    gate = b.linear(n.gate, x, m.hidden, m.bias).id;
  }
  gate = b.activate(act, gate, m.activation);
  if (!m.joined) up = b.linear(n.up, x, m.hidden, m.bias).id;
  return b.linear(n.down, Tokens{b.add("Mul", n.module + ".mul", {gate, up}), m.hidden}, x.width, m.bias);
}

std::string_view activation_type(Activation activation) {
  switch (activation) {
    case Activation::relu: return "relu";
    case Activation::gelu:
    case Activation::gelu_tanh_kernel:
    case Activation::gelu_tanh: return "gelu";
    default: return "silu";
  }
}

/// ONNX Runtime's MoE: the rows, the router's logits, and each expert's weights stacked. Softmax, the choice
/// of experts and the sum of their results are its own.
Tokens experts(Blocks& b, const Stack& s, const std::string& name, Tokens x) {
  const Experts& e = s.experts;
  const LayerNames& n = s.names;
  const std::string module = name + n.mlp;
  const Tokens scores = b.linear(name + n.router, x, e.count, e.router_bias);
  const TensorId rows = b.add("Reshape", module + ".router_rows", {scores.id, b.integers({-1, e.count})});
  const auto weight = [&](const std::string& part, std::int64_t out, std::int64_t in) {
    return b.builder().parameter(name + part, {e.count, out, in});
  };
  std::vector<TensorId> inputs = {x.id, rows};
  inputs.push_back(
      weight(e.joined ? n.experts_joined : n.experts_gate, e.joined ? 2 * e.hidden : e.hidden, x.width));
  inputs.push_back(kNoTensor);
  inputs.push_back(weight(n.experts_down, x.width, e.hidden));
  if (!e.joined) {
    inputs.push_back(kNoTensor);
    inputs.push_back(weight(n.experts_up, e.hidden, x.width));
  }
  std::vector<AttributeValue> attributes;
  attributes.emplace_back("k", e.per_token);
  attributes.emplace_back("activation_type", e.joined ? "swiglu" : activation_type(s.mlp.activation));
  if (e.joined) attributes.emplace_back("swiglu_fusion", 2);
  const TensorId out = b.builder().tensor(module + ".experts");
  b.builder().opset("com.microsoft", 1);
  b.builder().add("MoE", "com.microsoft", module + ".experts", inputs, std::span(&out, 1), attributes);
  Tokens y{out, x.width};
  if (e.shared_hidden == 0) return y;
  const std::string shared = name + n.shared;
  Tokens all = mlp(b, {.hidden = e.shared_hidden, .activation = s.mlp.activation, .gated = true},
                   {shared, shared + ".gate_proj", shared + ".up_proj", shared + ".down_proj", ""}, x);
  if (e.shared_gate) {
    const Tokens one = b.linear(name + n.shared_gate, x, 1, false);
    const TensorId open = b.activate(shared + ".sigmoid", one.id, Activation::sigmoid);
    all.id = b.add("Mul", shared + ".gated", {open, all.id});
  }
  return b.sum(module + ".add", y, all);
}

}  // namespace

Tokens add_mlp(Blocks& b, const Stack& s, const Layer& layer, const std::string& name, Tokens x) {
  if (layer.experts) return experts(b, s, name, x);
  const LayerNames& n = s.names;
  return mlp(b, s.mlp, {name + n.mlp, name + n.gate, name + n.up, name + n.down, name + n.joined_gate}, x);
}

}  // namespace plimsoll::network::transformers
