#include <array>

#include "job/network_json.hpp"
#include "job/network_words.hpp"

namespace plimsoll::job {
namespace {

using network::Attribute;
using network::Dim;
using network::Graph;
using network::kNoTensor;
using network::kUnbounded;
using network::Network;
using network::Operator;
using network::Opset;
using network::Scalar;
using network::Symbol;
using network::SymbolId;
using network::Tensor;
using network::TensorId;

Json symbol_json(std::int64_t id) {
  return {{"symbol", id}};
}

class NetworkWriter {
 public:
  explicit NetworkWriter(const Network& network) : network_(network) {}

  [[nodiscard]] Json document() const {
    Json opsets = Json::array(), symbols = Json::array(), tensors = Json::array(), graphs = Json::array();
    for (const Opset& set : network_.opsets)
      opsets.push_back({{"domain", text_json(set.domain)}, {"version", set.version}});
    for (std::size_t i = 0; i < network_.symbols.size(); ++i)
      symbols.push_back(json(network_.symbols.at(static_cast<SymbolId>(i))));
    for (const Tensor& tensor : network_.tensors) tensors.push_back(json(tensor));
    for (const Graph& graph : network_.graphs) graphs.push_back(json(graph));
    return {{"name", text_json(network_.name)},
            {"opsets", std::move(opsets)},
            {"symbols", std::move(symbols)},
            {"tensors", std::move(tensors)},
            {"graphs", std::move(graphs)}};
  }

 private:
  [[nodiscard]] static Json json(const Symbol& symbol) {
    Json out = {
        {"name", text_json(symbol.name)}, {"low", symbol.bounds.low}, {"origin", name(symbol.origin)}};
    if (symbol.bounds.high != kUnbounded) out["high"] = symbol.bounds.high;
    return out;
  }
  /// Invalid extents, which no shape should hold, are null.
  [[nodiscard]] static Json json(Dim dim) {
    if (dim.symbolic()) return symbol_json(static_cast<std::int64_t>(dim.id()));
    return dim.exact() ? Json(dim.value()) : Json();
  }
  /// A real is told from an integer by its point, which the library always writes.
  [[nodiscard]] static Json json(const Scalar& scalar) {
    if (scalar.is_symbol()) return symbol_json(static_cast<std::int64_t>(scalar.dim().id()));
    return scalar.is_integer() ? Json(scalar.integer()) : real_json(scalar.real());
  }
  [[nodiscard]] Json json(const Tensor& tensor) const {
    Json out = {{"name", text_json(network_.view(tensor.name))},
                {"type", static_cast<int>(tensor.type)},
                {"role", name(tensor.role)}};
    if (tensor.has_shape) {
      Json& dims = out["dims"] = Json::array();
      for (const Dim dim : network_.dims_of(tensor)) dims.push_back(json(dim));
    }
    if (tensor.has_value) {
      Json& value = out["value"] = Json::array();
      for (const Scalar& scalar : network_.value_of(tensor)) value.push_back(json(scalar));
    }
    return out;
  }
  [[nodiscard]] static Json json(std::span<const TensorId> ids) {
    Json out = Json::array();
    for (const TensorId id : ids) out.push_back(id == kNoTensor ? -1 : static_cast<std::int64_t>(id));
    return out;
  }
  [[nodiscard]] Json json(const Graph& graph) const {
    Json operators = Json::array();
    for (const Operator& op : graph.operators) operators.push_back(json(op));
    return {{"name", text_json(graph.name)},
            {"inputs", json(std::span<const TensorId>(graph.inputs))},
            {"outputs", json(std::span<const TensorId>(graph.outputs))},
            {"weights", json(std::span<const TensorId>(graph.weights))},
            {"operators", std::move(operators)}};
  }
  [[nodiscard]] Json json(const Operator& op) const {
    Json out = {{"type", text_json(network_.type_of(op))},
                {"opset", op.opset},
                {"name", text_json(network_.name_of(op))},
                {"inputs", json(network_.inputs(op))},
                {"outputs", json(network_.outputs(op))}};
    if (op.domain.count > 0) out["domain"] = text_json(network_.domain_of(op));
    if (op.attributes.count > 0) {
      Json& attributes = out["attributes"] = Json::array();
      for (const Attribute& attribute : network_.attributes_of(op)) attributes.push_back(json(attribute));
    }
    return out;
  }
  [[nodiscard]] Json json(const Attribute& attribute) const {
    Json out = {{"name", text_json(network_.view(attribute.name))}, {"kind", name(attribute.kind)}};
    if (attribute.kind != Attribute::Kind::other) out["value"] = value_json(attribute);
    return out;
  }
  [[nodiscard]] Json value_json(const Attribute& attribute) const {
    Json list = Json::array();
    switch (attribute.kind) {
      case Attribute::Kind::integer:
      case Attribute::Kind::tensor:
      case Attribute::Kind::graph: return attribute.integer;
      case Attribute::Kind::real: return real_json(attribute.real);
      case Attribute::Kind::text: return text_json(network_.view(attribute.list));
      case Attribute::Kind::integers:
        for (const std::int64_t n : network_.integers_of(attribute)) list.push_back(n);
        return list;
      case Attribute::Kind::reals:
        for (const double x : network_.reals_of(attribute)) list.push_back(real_json(x));
        return list;
      case Attribute::Kind::texts:
        for (std::uint32_t i = 0; i < attribute.list.count; ++i)
          list.push_back(text_json(network_.view(network_.ranges[attribute.list.begin + i])));
        return list;
      case Attribute::Kind::other: break;
    }
    return {};
  }

  const Network& network_;
};

}  // namespace

Json network_json(const Network& network) {
  return NetworkWriter(network).document();
}

}  // namespace plimsoll::job
