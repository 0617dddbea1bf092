#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "network/binding.hpp"
#include "network/network.hpp"
#include "network/operators.hpp"
#include "network/shape.hpp"

namespace plimsoll::network {

enum class ValueKind : std::uint8_t { tensor, sequence, optional };

/// What inference found about every tensor of a Network under one Binding. Sequences carry the type and
/// shape of their elements (unranked where those differ) and their length.
class Shapes {
 public:
  struct Entry {
    Range dims;   ///< in the dims pool; only where ranked
    Range value;  ///< in the scalars pool; only where has_value
    Dim length;   ///< of a sequence
    DataType type = DataType::undefined;
    ValueKind kind = ValueKind::tensor;
    bool ranked = false;
    bool has_value = false;
  };

  [[nodiscard]] const Entry& at(TensorId id) const { return entries_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] DataType type(TensorId id) const { return at(id).type; }
  [[nodiscard]] bool ranked(TensorId id) const { return at(id).ranked; }
  [[nodiscard]] std::span<const Dim> dims(TensorId id) const {
    return std::span(dims_).subspan(at(id).dims.begin, at(id).dims.count);
  }
  [[nodiscard]] std::span<const Scalar> value(TensorId id) const {
    return std::span(scalars_).subspan(at(id).value.begin, at(id).value.count);
  }
  [[nodiscard]] const Symbols& symbols() const { return symbols_; }
  [[nodiscard]] const std::vector<BoundSymbol>& bound() const { return bound_; }

  /// Number of elements; {0, kUnbounded} where the rank is unknown. For a sequence, of one element of it.
  [[nodiscard]] Interval elements(TensorId id) const;
  /// "1x64x112x112"; "n_NonZero_12(<= 800)x4" for data-dependent extents; "?" where the rank is unknown.
  [[nodiscard]] std::string text(TensorId id) const;

 private:
  friend class InferenceContext;
  friend class InferenceEngine;
  std::vector<Entry> entries_;
  std::vector<Dim> dims_;
  std::vector<Scalar> scalars_;
  Symbols symbols_;
  std::vector<BoundSymbol> bound_;
};

/// An operator's output as a rule describes it, or any tensor's copy.
struct Inferred {
  DataType type = DataType::undefined;
  ValueKind kind = ValueKind::tensor;
  bool ranked = false;
  bool has_value = false;
  Shape shape;                ///< meaningful only where ranked
  std::vector<Scalar> value;  ///< meaningful only where has_value; as many as the shape has elements
  Dim length;                 ///< of a sequence
};

struct InferOptions {
  /// Operators that are in no table give outputs of the declared shape, or of none, instead of an error.
  bool allow_unknown_operators = false;
  struct KnownInput {
    TensorId tensor;
    std::vector<Scalar> values;
  };
  /// Contents of graph inputs that shapes depend on (a Reshape's target given at run time).
  std::vector<KnownInput> known_inputs;
  struct GivenInput {
    TensorId tensor;
    Inferred value;
  };
  /// What graph inputs hold that are sequences or optionals: a Network declares tensors only.
  std::vector<GivenInput> given_inputs;
};

/// Infers every tensor's type and shape, folding shape arithmetic on the way. Time and memory are linear
/// in the size of the Network.
[[nodiscard]] Result<Shapes> infer(const Network& network, const Binding& binding,
                                   const InferOptions& options = {});

class InferenceEngine;

/// What a rule sees of the operator it is asked about, and where it leaves the outputs. Spans it returns
/// stay valid until the rule returns, except across infer_body().
class InferenceContext {
 public:
  InferenceContext(InferenceEngine& engine, const Operator& op);

  // Inputs. An index past the end or an omitted optional input is simply not there.
  [[nodiscard]] std::size_t inputs() const { return inputs_.size(); }
  [[nodiscard]] std::size_t outputs() const { return outputs_.size(); }
  [[nodiscard]] bool has(std::size_t input) const {
    return input < inputs_.size() && inputs_[input] != kNoTensor;
  }
  [[nodiscard]] bool wants(std::size_t output) const {
    return output < outputs_.size() && outputs_[output] != kNoTensor;
  }
  [[nodiscard]] bool ranked(std::size_t input) const { return has(input) && entry(input).ranked; }
  [[nodiscard]] std::size_t rank(std::size_t input) const {
    return entry(input).dims.count;
  }  ///< where ranked
  [[nodiscard]] std::span<const Dim> dims(std::size_t input) const {
    return shapes_.dims(inputs_[input]);
  }  ///< where ranked
  [[nodiscard]] DataType type(std::size_t input) const {
    return has(input) ? entry(input).type : DataType::undefined;
  }
  [[nodiscard]] ValueKind kind(std::size_t input) const { return entry(input).kind; }
  [[nodiscard]] const Shapes::Entry& entry(std::size_t input) const { return shapes_.at(inputs_[input]); }
  [[nodiscard]] bool has_value(std::size_t input) const { return has(input) && entry(input).has_value; }
  [[nodiscard]] std::span<const Scalar> value(std::size_t input) const {
    return shapes_.value(inputs_[input]);
  }  ///< where has_value
  /// The contents as exact integers (axes, pads, …); nullopt where one is not known exactly.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::size_t input) const;
  [[nodiscard]] Inferred copy(std::size_t input) const;
  [[nodiscard]] TensorId input_id(std::size_t input) const { return inputs_[input]; }
  [[nodiscard]] TensorId output_id(std::size_t output) const { return outputs_[output]; }

  // Attributes.
  [[nodiscard]] const Network& network() const { return network_; }
  [[nodiscard]] const Operator& op() const { return op_; }
  [[nodiscard]] int opset() const { return op_.opset; }
  [[nodiscard]] const Attribute* attribute(std::string_view name) const { return network_.find(op_, name); }
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] double real(std::string_view name, double otherwise) const;
  [[nodiscard]] std::string_view text(std::string_view name, std::string_view otherwise) const;
  [[nodiscard]] std::span<const std::int64_t> integers(std::string_view name) const;  ///< empty where absent
  [[nodiscard]] std::optional<GraphId> graph(std::string_view name) const;

  // Outputs. What a rule does not set stays unknown: type undefined, no rank. Setting one that nobody
  // wants (wants() is false) does nothing.
  void set(std::size_t output, DataType type, const Shape& shape);
  void set(std::size_t output, Inferred inferred);
  void set_unranked(std::size_t output, DataType type);
  /// The contents of an output that was set before. Longer than kMaxValueElements is forgotten.
  void set_value(std::size_t output, std::span<const Scalar> values);

  // Extents.
  [[nodiscard]] Symbols& symbols() { return shapes_.symbols_; }
  /// A named unknown for this operator: "NonZero_12.rows", at most `high`.
  Dim unknown(std::string_view what, Interval bounds);
  /// Number of elements as a Dim (exact, or a product symbol).
  Dim count(std::span<const Dim> dims);
  /// numpy's broadcasting of two shapes; fails where exact extents differ and neither is 1.
  Result<Shape> broadcast(std::span<const Dim> a, std::span<const Dim> b);
  /// Axis counted from the end where negative; fails where out of range.
  [[nodiscard]] static Result<std::size_t> axis(std::int64_t axis, std::size_t rank);
  [[nodiscard]] std::string show(std::span<const Dim> dims) const;  ///< "1x64x?" for messages

  // Bodies of If, Loop and Scan: their tensors are in the same table as all others.
  void set_tensor(TensorId id, const Inferred& inferred);  ///< a body's input
  [[nodiscard]] Inferred tensor(TensorId id) const;
  [[nodiscard]] Status infer_body(GraphId id);

 private:
  friend class InferenceEngine;
  struct Output {
    Inferred inferred;
    bool set = false;
  };
  InferenceEngine& engine_;
  const Network& network_;
  Shapes& shapes_;
  const Operator& op_;
  std::span<const TensorId> inputs_;
  std::span<const TensorId> outputs_;
  std::vector<Output>& staged_;
};

}  // namespace plimsoll::network
