#include "network/quantized.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace plimsoll::network {
namespace {

using Kind = QuantizedLayer::Kind;

std::size_t at(TensorId id) {
  return static_cast<std::size_t>(id);
}

class Finder {
 public:
  explicit Finder(const Network& network)
      : network_(network),
        found_(network.main().operators.size()),
        maker_(network.tensors.size(), kNone),
        reads_(network.tensors.size(), 0),
        real_reads_(network.tensors.size(), 0) {
    count();
  }

  std::vector<QuantizedLayer> run() {
    const auto& operators = network_.main().operators;
    if (std::ranges::none_of(operators, [&](const Operator& op) { return is(op, "QuantizeLinear"); }))
      return {};
    for (std::uint32_t i = 0; i < operators.size(); ++i) find(i);
    for (std::uint32_t i = 0; i < operators.size(); ++i) settle(i);
    return std::move(found_);
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  void count() {
    for (std::size_t g = 0; g < network_.graphs.size(); ++g) {
      const auto& operators = network_.graphs[g].operators;
      for (std::uint32_t i = 0; i < operators.size(); ++i) {
        const bool reads_levels = g == 0 && is(operators[i], "DequantizeLinear");
        const auto inputs = network_.inputs(operators[i]);
        for (std::size_t n = 0; n < inputs.size(); ++n) {
          if (inputs[n] == kNoTensor) continue;
          ++reads_[at(inputs[n])];
          if (!reads_levels || n > 0) ++real_reads_[at(inputs[n])];
        }
        for (const TensorId id : network_.outputs(operators[i]))
          if (id != kNoTensor && g == 0) maker_[at(id)] = i;
      }
      for (const TensorId id : network_.graphs[g].outputs)
        if (id != kNoTensor) {
          reads_[at(id)] += 2;
          ++real_reads_[at(id)];
        }
    }
  }

  [[nodiscard]] const Operator& op(std::uint32_t i) const { return network_.main().operators[i]; }
  [[nodiscard]] bool is(const Operator& o, std::string_view type) const {
    return network_.type_of(o) == type && network_.domain_of(o).empty();
  }
  [[nodiscard]] TensorId input(const Operator& o, std::size_t i) const {
    const auto inputs = network_.inputs(o);
    return i < inputs.size() ? inputs[i] : kNoTensor;
  }
  [[nodiscard]] TensorId output(const Operator& o) const {
    const auto outputs = network_.outputs(o);
    return outputs.empty() ? kNoTensor : outputs[0];
  }
  [[nodiscard]] std::int64_t integer(const Operator& o, std::string_view name, std::int64_t otherwise) const {
    const Attribute* a = network_.find(o, name);
    return a == nullptr ? otherwise : a->integer;
  }
  [[nodiscard]] double real(const Operator& o, std::string_view name) const {
    const Attribute* a = network_.find(o, name);
    return a == nullptr ? 1 : a->real;
  }
  /// The operator that makes a tensor which nothing else reads.
  [[nodiscard]] std::uint32_t only_maker(TensorId id) const {
    return id != kNoTensor && reads_[at(id)] == 1 ? maker_[at(id)] : kNone;
  }
  [[nodiscard]] bool is_stored(TensorId id) const {
    return id != kNoTensor && maker_[at(id)] == kNone && network_.tensor(id).role != Role::input;
  }
  [[nodiscard]] std::size_t rank(TensorId id) const {
    return id != kNoTensor && network_.tensor(id).has_shape ? network_.dims_of(network_.tensor(id)).size()
                                                            : 0;
  }
  [[nodiscard]] bool is_one_number(TensorId id) const {
    return is_stored(id) && network_.tensor(id).has_shape &&
           std::ranges::all_of(network_.dims_of(network_.tensor(id)), [](Dim d) { return d.is(1); });
  }

  [[nodiscard]] LevelsTensor levels(const Operator& o, TensorId of) const {
    return {of, input(o, 1), input(o, 2), integer(o, "axis", 1)};
  }
  /// An activation's: one scale, levels of eight bits that only DequantizeLinear reads.
  [[nodiscard]] bool is_activation(const LevelsTensor& l) const {
    if (l.levels == kNoTensor || !is_one_number(l.scale) ||
        network_.tensor(l.scale).type != DataType::float32)
      return false;
    const bool eight =
        l.zero == kNoTensor || (is_one_number(l.zero) && network_.tensor(l.zero).type == DataType::uint8);
    return eight && real_reads_[at(l.levels)] == 0 && !is_stored(l.levels) &&
           network_.tensor(l.levels).role == Role::computed;
  }
  /// Those that the tensor is read from.
  [[nodiscard]] std::optional<LevelsTensor> activation(TensorId id) const {
    if (id == kNoTensor || maker_[at(id)] == kNone || !is(op(maker_[at(id)]), "DequantizeLinear"))
      return std::nullopt;
    const Operator& o = op(maker_[at(id)]);
    const LevelsTensor l = levels(o, input(o, 0));
    const bool made = l.levels != kNoTensor && maker_[at(l.levels)] != kNone &&
                      is(op(maker_[at(l.levels)]), "QuantizeLinear");
    return made && is_activation(l) ? std::optional(l) : std::nullopt;
  }
  [[nodiscard]] std::optional<LevelsTensor> stored(TensorId id, DataType type) const {
    if (id == kNoTensor || maker_[at(id)] == kNone || !is(op(maker_[at(id)]), "DequantizeLinear"))
      return std::nullopt;
    const Operator& o = op(maker_[at(id)]);
    const LevelsTensor l = levels(o, input(o, 0));
    const bool plain = is_stored(l.levels) && network_.tensor(l.levels).type == type &&
                       integer(o, "block_size", 0) == 0 && is_stored(l.scale) && rank(l.scale) <= 1;
    return plain ? std::optional(l) : std::nullopt;
  }

  void find(std::uint32_t last) {
    const Operator& quantize = op(last);
    if (!is(quantize, "QuantizeLinear")) return;
    QuantizedLayer layer;
    layer.output = levels(quantize, output(quantize));
    if (!is_activation(layer.output)) return;
    layer.kind = Kind::quantize;
    found_[last] = layer;
    std::vector<std::uint32_t> parts;
    std::uint32_t i = only_maker(input(quantize, 0));
    if (i != kNone && (is(op(i), "Relu") || is(op(i), "Clip"))) {
      layer.cut_at_zero = is(op(i), "Relu");
      if (!layer.cut_at_zero) {
        layer.low = input(op(i), 1);
        layer.high = input(op(i), 2);
        const auto fine = [&](TensorId id) { return id == kNoTensor || is_one_number(id); };
        if (!fine(layer.low) || !fine(layer.high) || op(i).opset < 11) return;
      }
      parts.push_back(i);
      i = only_maker(input(op(i), 0));
    }
    if (i == kNone || !read(layer, i, parts)) return;
    for (const std::uint32_t part : parts) found_[part].kind = Kind::skipped;
    found_[last] = std::move(layer);
  }

  bool read(QuantizedLayer& layer, std::uint32_t i, std::vector<std::uint32_t>& parts) {
    const Operator& o = op(i);
    layer.op = i;
    parts.push_back(i);
    if (is(o, "Conv")) return read_convolution(layer, o);
    if (is(o, "Gemm")) return read_gemm(layer, o);
    if (is(o, "MatMul")) return read_product(layer, o);
    if (is(o, "MaxPool")) return read_pool(layer, o);
    return is(o, "Add") && (read_sum(layer, o) || read_biased_product(layer, o, parts));
  }

  bool read_convolution(QuantizedLayer& layer, const Operator& o) {
    const auto x = activation(input(o, 0)), w = stored(input(o, 1), DataType::int8);
    if (!x || !w || rank(w->levels) != 4 || (rank(w->scale) == 1 && w->axis != 0)) return false;
    if (input(o, 2) != kNoTensor) {
      const auto b = stored(input(o, 2), DataType::int32);
      if (!b) return false;
      layer.bias = *b;
    }
    if (const Attribute* automatic = network_.find(o, "auto_pad");
        automatic != nullptr && network_.view(automatic->list) != "NOTSET")
      return false;
    layer.kind = Kind::convolution;
    layer.inputs = {*x};
    layer.weight = *w;
    return true;
  }

  bool read_gemm(QuantizedLayer& layer, const Operator& o) {
    const auto x = activation(input(o, 0)), w = stored(input(o, 1), DataType::int8);
    const bool turned = integer(o, "transB", 0) == 0;
    if (!x || !w || rank(w->levels) != 2 || integer(o, "transA", 0) != 0 || real(o, "alpha") != 1 ||
        real(o, "beta") != 1 || (rank(w->scale) == 1 && w->axis != (turned ? 1 : 0)))
      return false;
    if (input(o, 2) != kNoTensor) {
      const auto b = stored(input(o, 2), DataType::int32);
      if (!b || rank(b->levels) != 1) return false;
      layer.bias = *b;
    }
    layer.kind = Kind::linear;
    layer.inputs = {*x};
    layer.weight = *w;
    layer.turned = turned;
    return true;
  }

  bool read_product(QuantizedLayer& layer, const Operator& o) {
    const auto x = activation(input(o, 0)), w = stored(input(o, 1), DataType::int8);
    if (!x || !w || rank(w->levels) != 2 || (rank(w->scale) == 1 && w->axis != 1 && w->axis != -1))
      return false;
    layer.kind = Kind::linear;
    layer.inputs = {*x};
    layer.weight = *w;
    layer.turned = true;
    return true;
  }

  bool read_biased_product(QuantizedLayer& layer, const Operator& o, std::vector<std::uint32_t>& parts) {
    for (const std::size_t term : {0UL, 1UL}) {
      const std::uint32_t product = only_maker(input(o, term));
      const TensorId bias = input(o, 1 - term);
      if (product == kNone || !is(op(product), "MatMul") || !is_stored(bias) || rank(bias) != 1) continue;
      if (!read_product(layer, op(product))) continue;
      layer.op = product;
      layer.real_bias = bias;
      parts.push_back(product);
      return true;
    }
    return false;
  }

  bool read_sum(QuantizedLayer& layer, const Operator& o) {
    const auto a = activation(input(o, 0)), b = activation(input(o, 1));
    if (!a || !b) return false;
    layer.kind = Kind::sum;
    layer.inputs = {*a, *b};
    return true;
  }

  bool read_pool(QuantizedLayer& layer, const Operator& o) {
    const auto x = activation(input(o, 0));
    const Attribute* window = network_.find(o, "kernel_shape");
    if (!x || window == nullptr || network_.integers_of(*window).size() != 2 ||
        network_.outputs(o).size() != 1 || network_.find(o, "auto_pad") != nullptr)
      return false;
    if (const Attribute* pads = network_.find(o, "pads")) {
      const auto p = network_.integers_of(*pads);
      if (p.size() != 4 || p[0] != p[2] || p[1] != p[3]) return false;
    }
    layer.kind = Kind::max_pool;
    layer.inputs = {*x};
    return true;
  }

  /// A DequantizeLinear whose readers are all layers is needed no more.
  void settle(std::uint32_t i) {
    const Operator& o = op(i);
    if (!is(o, "DequantizeLinear")) return;
    const TensorId made = output(o);
    if (made == kNoTensor) return;
    if (taken_.empty()) count_taken();
    const std::uint32_t taken = taken_[at(made)];
    if (taken == reads_[at(made)] && taken > 0)
      found_[i].kind = Kind::skipped;
    else if (const auto read = activation(made)) {
      found_[i].kind = Kind::dequantize;
      found_[i].op = i;
      found_[i].inputs = {*read};
    }
  }

  void count_taken() {
    taken_.assign(network_.tensors.size(), 0);
    for (const QuantizedLayer& layer : found_) {
      if (layer.kind < Kind::convolution) continue;
      for (const TensorId id : network_.inputs(op(layer.op)))
        if (id != kNoTensor) ++taken_[at(id)];
    }
  }

  const Network& network_;
  std::vector<QuantizedLayer> found_;
  std::vector<std::uint32_t> maker_, reads_, real_reads_, taken_;
};

}  // namespace

std::vector<QuantizedLayer> find_quantized_layers(const Network& network) {
  return Finder(network).run();
}

}  // namespace plimsoll::network
