#include "quantize/layers.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "quantize/edit.hpp"

namespace plimsoll::quantize {
namespace {

using network::kNoTensor;
using network::Network;
using network::Operator;
using network::TensorId;

class Finder {
 public:
  explicit Finder(const Network& network) : network_(network), readers_(network) {}

  std::vector<Layer> run() {
    std::vector<Layer> out;
    const auto& operators = network_.main().operators;
    for (std::uint32_t i = 0; i < operators.size(); ++i)
      if (std::optional<Layer> layer = layer_of(operators[i], i)) out.push_back(*std::move(layer));
    return out;
  }

 private:
  [[nodiscard]] double real(const Operator& op, std::string_view name) const {
    const network::Attribute* a = network_.find(op, name);
    return a == nullptr ? 1 : a->real;
  }
  [[nodiscard]] bool turns(const Operator& op, std::string_view name) const {
    const network::Attribute* a = network_.find(op, name);
    return a != nullptr && a->integer != 0;
  }

  std::optional<Layer> layer_of(const Operator& op, std::uint32_t index) const {
    if (!network_.domain_of(op).empty()) return std::nullopt;
    const std::string_view type = network_.type_of(op);
    Layer layer{.op = index, .name = std::string(network_.name_of(op))};
    if (type == "Conv") {
      layer.kind = Layer::Kind::convolution;
    } else if (type == "Gemm") {
      layer.kind = Layer::Kind::gemm;
      if (real(op, "alpha") != 1 || real(op, "beta") != 1 || turns(op, "transA")) return std::nullopt;
    } else if (type == "MatMul") {
      layer.kind = Layer::Kind::product;
    } else {
      return std::nullopt;
    }
    const auto inputs = network_.inputs(op);
    if (inputs.size() < 2 || network_.outputs(op).empty()) return std::nullopt;
    const Readers::Stored weight = readers_.stored(inputs[1]);
    if (weight.tensor == kNoTensor || readers_.stored(inputs[0]).tensor != kNoTensor ||
        network_.tensor(weight.tensor).type != network::DataType::float32)
      return std::nullopt;
    const std::vector<std::int64_t> dims = extents_of(network_, weight.tensor);
    const bool fits =
        layer.kind == Layer::Kind::convolution ? dims.size() >= 3 && !weight.turned : dims.size() == 2;
    if (!fits || (layer.kind == Layer::Kind::gemm && weight.turned)) return std::nullopt;
    layer.input = inputs[0];
    layer.weight = weight.tensor;
    layer.turned = weight.turned;
    layer.parameters = std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
    if (layer.parameters == 0) return std::nullopt;
    if (inputs.size() > 2 && inputs[2] != kNoTensor) {
      layer.bias = readers_.stored(inputs[2]).tensor;
      const std::int64_t outputs =
          layer.kind == Layer::Kind::convolution || turns(op, "transB") ? dims[0] : dims[1];
      if (layer.bias == kNoTensor || extents_of(network_, layer.bias) != std::vector{outputs})
        return std::nullopt;
    }
    if (layer.name.empty()) layer.name = network_.name_of(network_.outputs(op)[0]);
    layer.output = end_of(network_.outputs(op)[0], layer);
    return layer;
  }

  [[nodiscard]] TensorId end_of(TensorId made, const Layer& layer) const {
    const Operator* next = readers_.only_reader(made);
    if (layer.kind == Layer::Kind::product && next != nullptr && network_.type_of(*next) == "Add") {
      const auto terms = network_.inputs(*next);
      if (terms.size() != 2 || network_.outputs(*next).empty()) return made;
      const TensorId other = terms[0] == made ? terms[1] : terms[0];
      const TensorId bias = readers_.stored(other).tensor;
      if (bias != kNoTensor && extents_of(network_, bias).size() == 1) {
        made = network_.outputs(*next)[0];
        next = readers_.only_reader(made);
      }
    }
    if (next == nullptr || !network_.domain_of(*next).empty() || network_.outputs(*next).empty()) return made;
    const std::string_view type = network_.type_of(*next);
    const bool cuts = type == "Relu" || (type == "Clip" && network_.inputs(*next)[0] == made);
    return cuts ? network_.outputs(*next)[0] : made;
  }

  const Network& network_;
  Readers readers_;
};

}  // namespace

std::vector<Layer> find_layers(const Network& network) {
  return Finder(network).run();
}

std::vector<TensorId> tensors_of(const std::vector<Layer>& layers) {
  std::set<TensorId> out;
  for (const Layer& layer : layers) {
    out.insert(layer.input);
    out.insert(layer.output);
  }
  return {out.begin(), out.end()};
}

}  // namespace plimsoll::quantize
