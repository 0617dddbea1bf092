#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "network/data_type.hpp"
#include "network/scalar.hpp"
#include "network/symbols.hpp"

namespace plimsoll::network {

/// A Network is a plain value in flat arrays: operators, tensors, attributes and their texts stand in
/// pools of the Network and refer to each other by index. It holds no weights' bytes, only their types
/// and shapes. Build one with Builder (network/builder.hpp); it does not change afterwards.

enum class TensorId : std::uint32_t {};
inline constexpr TensorId kNoTensor{0xffffffff};  ///< an optional input or output that is left out
enum class GraphId : std::uint32_t {};

/// Index of an operator kind in operator_table(), or kUnknownKind.
enum class OperatorKind : std::uint16_t {};
inline constexpr OperatorKind kUnknownKind{0xffff};

/// A range in one of the Network's pools.
struct Range {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

/// Where a tensor's contents come from.
enum class Role : std::uint8_t {
  computed,   ///< an operator's output (a Constant's too)
  input,      ///< given by the caller; in a subgraph by the operator that owns it
  parameter,  ///< stored with the model and learned
  buffer,     ///< stored with the model, not learned: running statistics, tables, constants
};

struct Tensor {
  Range name;                           ///< in text
  Range dims;                           ///< declared shape in dims; only where has_shape
  Range value;                          ///< in scalars; only where has_value
  DataType type = DataType::undefined;  ///< declared type; undefined where the model does not say
  Role role = Role::computed;
  bool has_shape = false;
  bool has_value = false;  ///< a small constant whose contents are known
};

/// A weight whose bytes its type does not tell: quantised in blocks, or stored in a type of its own.
struct StoredWeight {
  TensorId tensor = kNoTensor;
  Range format;  ///< in text: "Q4_K"
  std::int64_t bytes = 0;
  bool kept = false;  ///< it stays so in memory, whatever precision is asked for
};

struct Attribute {
  enum class Kind : std::uint8_t { integer, real, text, integers, reals, texts, tensor, graph, other };
  Range name;  ///< in text
  Kind kind = Kind::other;
  std::int64_t integer = 0;  ///< integer; TensorId of tensor; GraphId of graph
  double real = 0;
  Range list;  ///< text: in text; integers: in integers; reals: in reals; texts: in ranges
};

struct Operator {
  OperatorKind kind = kUnknownKind;
  std::uint16_t opset = 0;  ///< version of its domain's operator set that the model asks for
  Range type;               ///< in text: "Conv"
  Range domain;             ///< in text: "" for ONNX's own
  Range name;               ///< in text; may be empty
  Range inputs;             ///< in tensor_ids; kNoTensor where left out
  Range outputs;            ///< in tensor_ids; kNoTensor where left out
  Range attributes;         ///< in attributes
};

/// The operators of the main graph or of a body of If, Loop or Scan, in an order in which they can run.
struct Graph {
  std::string name;
  std::vector<Operator> operators;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::vector<TensorId> weights;  ///< parameters and buffers stored in this graph
};

struct Opset {
  std::string domain;
  std::int64_t version = 0;
  friend bool operator==(const Opset&, const Opset&) = default;
};

class Network {
 public:
  std::string name;
  std::vector<Opset> opsets;
  std::vector<Graph> graphs;  ///< graphs[0] is the main one; there is always one
  std::vector<Tensor> tensors;
  Symbols symbols;  ///< declared by inputs and weights; bound later
  /// By tensor, ascending: set_stored (network/stored.hpp). All other weights are stored in their type.
  std::vector<StoredWeight> stored;

  [[nodiscard]] const Graph& main() const { return graphs.front(); }
  [[nodiscard]] const Graph& graph(GraphId id) const { return graphs[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Tensor& tensor(TensorId id) const { return tensors[static_cast<std::size_t>(id)]; }

  /// nullptr where it is stored in its type.
  [[nodiscard]] const StoredWeight* stored_of(TensorId id) const;

  [[nodiscard]] std::string_view name_of(TensorId id) const {
    return id == kNoTensor ? "" : view(tensor(id).name);
  }
  [[nodiscard]] std::string_view name_of(const Operator& op) const { return view(op.name); }
  [[nodiscard]] std::string_view type_of(const Operator& op) const { return view(op.type); }
  [[nodiscard]] std::string_view domain_of(const Operator& op) const { return view(op.domain); }
  [[nodiscard]] std::span<const TensorId> inputs(const Operator& op) const {
    return slice(tensor_ids, op.inputs);
  }
  [[nodiscard]] std::span<const TensorId> outputs(const Operator& op) const {
    return slice(tensor_ids, op.outputs);
  }
  [[nodiscard]] std::span<const Attribute> attributes_of(const Operator& op) const {
    return slice(attributes, op.attributes);
  }
  [[nodiscard]] std::span<const Dim> dims_of(const Tensor& t) const { return slice(dims, t.dims); }
  [[nodiscard]] std::span<const Scalar> value_of(const Tensor& t) const { return slice(scalars, t.value); }
  [[nodiscard]] std::string_view view(Range r) const {
    return std::string_view(text).substr(r.begin, r.count);
  }

  [[nodiscard]] const Attribute* find(const Operator& op, std::string_view attribute) const;
  [[nodiscard]] std::span<const std::int64_t> integers_of(const Attribute& a) const {
    return slice(integers, a.list);
  }
  [[nodiscard]] std::span<const double> reals_of(const Attribute& a) const { return slice(reals, a.list); }

  // The pools.
  std::string text;
  std::vector<TensorId> tensor_ids;
  std::vector<Attribute> attributes;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<Range> ranges;
  std::vector<Dim> dims;
  std::vector<Scalar> scalars;

 private:
  template <class T>
  static std::span<const T> slice(const std::vector<T>& pool, Range r) {
    return std::span(pool).subspan(r.begin, r.count);
  }
};

/// Equal in what they say (names, types, shapes, attributes, order), not in how the pools are laid out.
[[nodiscard]] bool operator==(const Network& a, const Network& b);

/// "Conv '/layer1/conv1'" or, for an operator without a name, "Conv that makes 'x'". Fit for a terminal.
[[nodiscard]] std::string describe(const Network& network, const Operator& op);

}  // namespace plimsoll::network
