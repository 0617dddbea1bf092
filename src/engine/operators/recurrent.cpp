#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

#include <ATen/ops/cat.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/gru.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/rnn_relu.h>
#include <ATen/ops/rnn_tanh.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "engine/operators/forms.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;
using Activation = Tensor (*)(const Tensor&);

struct NamedActivation {
  std::string_view name;
  Activation function;
};

/// With the parameters that ONNX gives them where the graph gives none.
constexpr NamedActivation kActivations[] = {
    {"Relu", [](const Tensor& x) { return x.relu(); }},
    {"Tanh", [](const Tensor& x) { return x.tanh(); }},
    {"Sigmoid", [](const Tensor& x) { return x.sigmoid(); }},
    {"HardSigmoid", [](const Tensor& x) { return x.mul(0.2).add(0.5).clamp(0, 1); }},
    {"LeakyRelu", [](const Tensor& x) { return at::leaky_relu(x, 0.01); }},
    {"Elu", [](const Tensor& x) { return at::elu(x); }},
    {"Softsign", [](const Tensor& x) { return x.div(x.abs().add(1)); }},
    {"Softplus", [](const Tensor& x) { return at::softplus(x); }},
};

struct Cell {
  enum class Kind : std::uint8_t { rnn, gru, lstm };
  Kind kind = Kind::rnn;
  std::int64_t hidden = 0;
  bool forward = true, backward = false;
  bool batch_first = false;
  bool reset_after_product = false;  ///< GRU's linear_before_reset
  bool couples_forget = false;       ///< LSTM's input_forget
  bool training = false;
  double clip = 0;                      ///< 0: none
  bool usual = true;                    ///< the activations of PyTorch's modules
  bool rectified = false;               ///< an RNN with Relu instead of Tanh
  std::vector<Activation> activations;  ///< per direction one after the other

  [[nodiscard]] std::size_t directions() const { return forward && backward ? 2 : 1; }
};

/// The inputs of one direction.
struct Weights {
  Tensor input, recurrent, input_bias, recurrent_bias, peepholes;
};

struct State {
  Tensor hidden, memory;
};

class Step {
 public:
  Step(const Cell& cell, Weights weights, std::size_t direction)
      : cell_(cell),
        weights_(std::move(weights)),
        activations_(cell.activations.data() + direction * (cell.activations.size() / cell.directions())) {}

  [[nodiscard]] State operator()(const Tensor& x, const State& last) const {
    switch (cell_.kind) {
      case Cell::Kind::rnn: return {act(0, projected(x, last.hidden)), {}};
      case Cell::Kind::gru: return {gru(x, last.hidden), {}};
      case Cell::Kind::lstm: return lstm(x, last);
    }
    return last;
  }

 private:
  [[nodiscard]] Tensor act(std::size_t which, const Tensor& x) const {
    return activations_[which](cell_.clip > 0 ? x.clamp(-cell_.clip, cell_.clip) : x);
  }
  [[nodiscard]] Tensor projected(const Tensor& x, const Tensor& hidden) const {
    return at::linear(x, weights_.input, weights_.input_bias)
        .add(at::linear(hidden, weights_.recurrent, weights_.recurrent_bias));
  }
  /// The rows of one gate.
  [[nodiscard]] Tensor gate(const Tensor& all, std::int64_t which) const {
    return all.defined() ? all.narrow(0, which * cell_.hidden, cell_.hidden) : all;
  }

  [[nodiscard]] Tensor gru(const Tensor& x, const Tensor& hidden) const {
    const Tensor from_input = at::linear(x, weights_.input, weights_.input_bias);
    const auto own = [&](std::int64_t which) {
      return from_input.narrow(1, which * cell_.hidden, cell_.hidden);
    };
    const auto recurrent = [&](std::int64_t which, const Tensor& h) {
      return at::linear(h, gate(weights_.recurrent, which), gate(weights_.recurrent_bias, which));
    };
    const Tensor update = act(0, own(0).add(recurrent(0, hidden)));
    const Tensor reset = act(0, own(1).add(recurrent(1, hidden)));
    const Tensor candidate = act(1, own(2).add(cell_.reset_after_product ? reset.mul(recurrent(2, hidden))
                                                                         : recurrent(2, reset.mul(hidden))));
    return candidate.mul(update.neg().add(1)).add(update.mul(hidden));
  }

  /// The gates stand in the order input, output, forget, memory.
  [[nodiscard]] State lstm(const Tensor& x, const State& last) const {
    const std::vector<Tensor> gates = projected(x, last.hidden).chunk(4, 1);
    const auto seen = [this](const Tensor& sum, std::int64_t which, const Tensor& memory) {
      return weights_.peepholes.defined() ? sum.add(gate(weights_.peepholes, which).mul(memory)) : sum;
    };
    const Tensor in = act(0, seen(gates.at(0), 0, last.memory));
    const Tensor forget = cell_.couples_forget ? in.neg().add(1) : act(0, seen(gates.at(2), 2, last.memory));
    Tensor memory = forget.mul(last.memory).add(in.mul(act(1, gates.at(3))));
    const Tensor out = act(0, seen(gates.at(1), 1, memory));
    return {out.mul(activations_[2](memory)), std::move(memory)};
  }

  const Cell& cell_;
  Weights weights_;
  const Activation* activations_;
};

struct Outputs {
  Tensor all;  ///< time, direction, batch, hidden
  State last;  ///< direction, batch, hidden
};

/// One direction, step by step. Sequences that are over keep their state and give zeros.
std::pair<Tensor, State> unrolled(const Step& step, const Tensor& x, State state, const Tensor& lengths,
                                  bool backward) {
  const std::int64_t steps = x.size(0);
  std::vector<Tensor> outputs(static_cast<std::size_t>(steps));
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t t = backward ? steps - 1 - i : i;
    State next = step(x.select(0, t), state);
    Tensor& output = outputs[static_cast<std::size_t>(t)];
    if (!lengths.defined()) {
      output = next.hidden;
      state = std::move(next);
      continue;
    }
    const Tensor runs = lengths.gt(t).unsqueeze(1);
    output = next.hidden.mul(runs);
    state.hidden = at::where(runs, next.hidden, state.hidden);
    if (next.memory.defined()) state.memory = at::where(runs, next.memory, state.memory);
  }
  return {at::stack(outputs, 0), std::move(state)};
}

/// Gates (or their biases) in PyTorch's order.
Tensor reordered(const Cell& cell, const Tensor& gates) {
  if (cell.kind == Cell::Kind::rnn) return gates;
  const bool lstm = cell.kind == Cell::Kind::lstm;
  const std::vector<Tensor> parts = gates.chunk(lstm ? 4 : 3, 0);
  if (lstm) return at::cat({parts.at(0), parts.at(2), parts.at(3), parts.at(1)}, 0);
  return at::cat({parts.at(1), parts.at(0), parts.at(2)}, 0);
}

/// PyTorch's own kernels (cuDNN's on a GPU), where the cell is one of PyTorch's modules.
Outputs as_aten(const Cell& cell, const Tensor& x, const std::vector<Weights>& weights, const State& first) {
  std::vector<Tensor> parameters;
  const bool biased = weights.front().input_bias.defined();
  for (const Weights& w : weights) {
    parameters.insert(parameters.end(), {reordered(cell, w.input), reordered(cell, w.recurrent)});
    if (biased)
      parameters.insert(parameters.end(), {reordered(cell, w.input_bias), reordered(cell, w.recurrent_bias)});
  }
  const bool turned = !cell.forward, both = weights.size() == 2;
  const Tensor input = turned ? x.flip({0}) : x;
  Outputs out;
  if (cell.kind == Cell::Kind::lstm) {
    std::tie(out.all, out.last.hidden, out.last.memory) =
        at::lstm(input, {first.hidden, first.memory}, parameters, biased, 1, 0.0, cell.training, both, false);
  } else if (cell.kind == Cell::Kind::gru) {
    std::tie(out.all, out.last.hidden) =
        at::gru(input, first.hidden, parameters, biased, 1, 0.0, cell.training, both, false);
  } else if (cell.rectified) {
    std::tie(out.all, out.last.hidden) =
        at::rnn_relu(input, first.hidden, parameters, biased, 1, 0.0, cell.training, both, false);
  } else {
    std::tie(out.all, out.last.hidden) =
        at::rnn_tanh(input, first.hidden, parameters, biased, 1, 0.0, cell.training, both, false);
  }
  out.all = out.all.reshape({x.size(0), x.size(1), both ? 2 : 1, cell.hidden}).permute({0, 2, 1, 3});
  if (turned) out.all = out.all.flip({0});
  return out;
}

Outputs step_by_step(const Cell& cell, const Tensor& x, const std::vector<Weights>& weights,
                     const State& first, const Tensor& lengths) {
  std::vector<Tensor> all, hidden, memory;
  for (std::size_t d = 0; d < weights.size(); ++d) {
    const auto at = static_cast<std::int64_t>(d);
    State state{first.hidden.select(0, at), first.memory.defined() ? first.memory.select(0, at) : Tensor()};
    auto [outputs, last] =
        unrolled(Step(cell, weights[d], d), x, std::move(state), lengths, d == 1 || !cell.forward);
    all.push_back(std::move(outputs));
    hidden.push_back(std::move(last.hidden));
    if (last.memory.defined()) memory.push_back(std::move(last.memory));
  }
  return {at::stack(all, 1), {at::stack(hidden, 0), memory.empty() ? Tensor() : at::stack(memory, 0)}};
}

std::vector<Weights> weights_of(const Cell& cell, Call& c) {
  std::vector<Weights> weights;
  for (std::size_t d = 0; d < cell.directions(); ++d) {
    const auto at = static_cast<std::int64_t>(d);
    Weights w{c.in(1).select(0, at), c.in(2).select(0, at), {}, {}, {}};
    if (c.has(3)) {
      const std::vector<Tensor> biases = c.in(3).select(0, at).chunk(2, 0);
      w.input_bias = biases.at(0);
      w.recurrent_bias = biases.at(1);
    }
    if (c.has(7)) w.peepholes = c.in(7).select(0, at);
    weights.push_back(std::move(w));
  }
  return weights;
}

void run(const Cell& cell, Call& c) {
  const Tensor x = cell.batch_first ? c.in(0).transpose(0, 1) : c.in(0);
  const auto state = [&](std::size_t input) {
    if (c.has(input)) return cell.batch_first ? c.in(input).transpose(0, 1) : c.in(input);
    return at::zeros({static_cast<std::int64_t>(cell.directions()), x.size(1), cell.hidden}, x.options());
  };
  const State first{state(5), cell.kind == Cell::Kind::lstm ? state(6) : Tensor()};
  const Tensor lengths = optional_input(c, 4);
  const bool module = cell.usual && !lengths.defined() && !c.has(7) && cell.clip == 0 &&
                      !cell.couples_forget && (cell.kind != Cell::Kind::gru || cell.reset_after_product);
  Outputs out = module ? as_aten(cell, x, weights_of(cell, c), first)
                       : step_by_step(cell, x, weights_of(cell, c), first, lengths);
  const auto placed = [&cell](const Tensor& t) { return cell.batch_first ? t.transpose(0, 1) : t; };
  c.out(0, cell.batch_first ? out.all.permute({2, 0, 1, 3}) : out.all);
  c.out(1, placed(out.last.hidden));
  if (cell.kind == Cell::Kind::lstm) c.out(2, placed(out.last.memory));
}

template <Cell::Kind kind>
Result<Kernel> prepare_recurrent(const Preparation& p) {
  Cell cell;
  cell.kind = kind;
  cell.hidden = p.integer("hidden_size", 0);
  if (cell.hidden < 1) return fail("hidden_size is {}", cell.hidden);
  const std::string_view direction = p.text("direction", "forward");
  cell.forward = direction != "reverse";
  cell.backward = direction != "forward";
  cell.batch_first = p.integer("layout", 0) != 0;
  cell.reset_after_product = p.integer("linear_before_reset", 0) != 0;
  cell.couples_forget = p.integer("input_forget", 0) != 0;
  cell.training = p.training();
  cell.clip = p.real("clip", 0);
  std::vector<std::string_view> usual = {"Tanh"};
  if (kind == Cell::Kind::gru) usual = {"Sigmoid", "Tanh"};
  if (kind == Cell::Kind::lstm) usual = {"Sigmoid", "Tanh", "Tanh"};
  std::vector<std::string_view> all;
  for (std::size_t d = 0; d < cell.directions(); ++d) all.insert(all.end(), usual.begin(), usual.end());
  const std::vector<std::string_view> asked = p.has_attribute("activations") ? p.texts("activations") : all;
  if (asked.size() != all.size()) return fail("{} activations where {} are needed", asked.size(), all.size());
  if (p.has_attribute("activation_alpha") || p.has_attribute("activation_beta"))
    return fail("parameters of a recurrent cell's activations cannot be executed");
  cell.rectified = kind == Cell::Kind::rnn && std::ranges::all_of(asked, [](auto a) { return a == "Relu"; });
  cell.usual = asked == all || cell.rectified;
  for (const std::string_view name : asked) {
    const auto* found = std::ranges::find(kActivations, name, &NamedActivation::name);
    if (found == std::end(kActivations)) return fail("activation {} cannot be executed", name);
    cell.activations.push_back(found->function);
  }
  return [cell](Call& c) { run(cell, c); };
}

constexpr auto kRecurrentRows = std::to_array<OperatorRow>({
    {"GRU", prepare_recurrent<Cell::Kind::gru>},
    {"LSTM", prepare_recurrent<Cell::Kind::lstm>},
    {"RNN", prepare_recurrent<Cell::Kind::rnn>},
});

}  // namespace

std::span<const OperatorRow> recurrent_rows() {
  return kRecurrentRows;
}

}  // namespace plimsoll::engine
