#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "network/network.hpp"
#include "network/shape.hpp"

namespace plimsoll::network {

/// An attribute to be given to an operator; the views need only live during the call.
struct AttributeValue {
  AttributeValue(std::string_view n, std::int64_t v) : name(n), kind(Attribute::Kind::integer), integer(v) {}
  AttributeValue(std::string_view n, int v) : AttributeValue(n, static_cast<std::int64_t>(v)) {}
  AttributeValue(std::string_view n, double v) : name(n), kind(Attribute::Kind::real), real(v) {}
  AttributeValue(std::string_view n, std::string_view v) : name(n), kind(Attribute::Kind::text), text(v) {}
  AttributeValue(std::string_view n, const char* v) : AttributeValue(n, std::string_view(v)) {}
  AttributeValue(std::string_view n, std::span<const std::int64_t> v)
      : name(n), kind(Attribute::Kind::integers), integers(v) {}
  AttributeValue(std::string_view n, const std::vector<std::int64_t>& v)
      : AttributeValue(n, std::span<const std::int64_t>(v)) {}
  AttributeValue(std::string_view n, std::initializer_list<std::int64_t> v)
      : AttributeValue(n, std::span<const std::int64_t>(v.begin(), v.size())) {}
  AttributeValue(std::string_view n, std::span<const double> v)
      : name(n), kind(Attribute::Kind::reals), reals(v) {}
  AttributeValue(std::string_view n, std::span<const std::string_view> v)
      : name(n), kind(Attribute::Kind::texts), texts(v) {}
  AttributeValue(std::string_view n, TensorId v)
      : name(n), kind(Attribute::Kind::tensor), integer(static_cast<std::int64_t>(v)) {}
  AttributeValue(std::string_view n, GraphId v)
      : name(n), kind(Attribute::Kind::graph), integer(static_cast<std::int64_t>(v)) {}

  std::string_view name;
  Attribute::Kind kind;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text;
  std::span<const std::int64_t> integers;
  std::span<const double> reals;
  std::span<const std::string_view> texts;
};

/// Builds a Network. The importer and the zoo both use it. Names are not checked for uniqueness here:
/// tensors are what they are by id.
class Builder {
 public:
  explicit Builder(std::string_view network_name);
  /// Goes on with one that was built: what is added stands behind what is there.
  explicit Builder(Network begun) : network_(std::move(begun)) {}

  /// Version of an operator set; operators added later carry it. ONNX's own domain is "".
  void opset(std::string_view domain, std::int64_t version);

  /// The extent named `name`: the same name gives the same symbol.
  Dim symbol(std::string_view name);
  [[nodiscard]] std::optional<Dim> find_symbol(std::string_view name) const;

  /// Makes room for so many more operators, each with an output, and weights in the open graph.
  void reserve(std::size_t operators, std::size_t weights);

  // Tensors. They belong to the graph that is open (begin_graph), at first the main one.
  TensorId tensor(std::string_view name);  ///< a computed one, not yet made by any operator
  TensorId input(std::string_view name, DataType type, std::span<const Dim> dims);
  TensorId input(std::string_view name, DataType type, std::initializer_list<Dim> dims) {
    return input(name, type, std::span<const Dim>(dims.begin(), dims.size()));
  }
  TensorId weight(std::string_view name, DataType type, std::span<const Dim> dims,
                  Role role = Role::parameter);
  TensorId parameter(std::string_view name, std::initializer_list<std::int64_t> dims,
                     DataType type = DataType::float32);
  TensorId buffer(std::string_view name, std::initializer_list<std::int64_t> dims,
                  DataType type = DataType::float32);
  /// A buffer of known contents, int64, one-dimensional or (scalar) of rank 0.
  TensorId constant(std::string_view name, std::initializer_list<std::int64_t> values);
  TensorId constant_scalar(std::string_view name, std::int64_t value);
  TensorId constant_scalar(std::string_view name, double value);  ///< float32

  // What the importer learns about a tensor after it was made.
  void declare(TensorId id, DataType type);
  void declare(TensorId id, DataType type, std::span<const Dim> dims);
  void set_value(TensorId id, std::span<const Scalar> values);
  void set_role(TensorId id, Role role);
  [[nodiscard]] const Tensor& at(TensorId id) const { return network_.tensor(id); }
  [[nodiscard]] std::string_view name_of(TensorId id) const { return network_.name_of(id); }

  /// Appends an operator whose outputs exist already.
  void add(std::string_view type, std::string_view domain, std::string_view name,
           std::span<const TensorId> inputs, std::span<const TensorId> outputs,
           std::span<const AttributeValue> attributes);
  /// The same in two steps, for the importer, which meets attributes one by one: each is stored first, then
  /// the operator that has them all.
  Attribute attribute(const AttributeValue& value);
  Operator& add_stored(std::string_view type, std::string_view domain, std::string_view name,
                       std::span<const TensorId> inputs, std::span<const TensorId> outputs,
                       std::span<const Attribute> attributes);
  /// Appends an operator of ONNX's domain with one new output named like the operator (zoo).
  TensorId add(std::string_view type, std::string_view name, std::initializer_list<TensorId> inputs,
               std::initializer_list<AttributeValue> attributes = {});
  TensorId add(std::string_view type, std::string_view name, std::span<const TensorId> inputs,
               std::initializer_list<AttributeValue> attributes = {});

  /// Opens a body; what is added until end_graph belongs to it. Bodies nest.
  GraphId begin_graph(std::string_view name);
  void graph_input(TensorId id);  ///< tensor() made before, now an input of the open graph
  void output(TensorId id);
  void end_graph();

  /// The operators and graphs as built so far, for a caller that must put them in order (importer).
  [[nodiscard]] Graph& open_graph() { return network_.graphs[open_.back()]; }
  [[nodiscard]] const Network& peek() const { return network_; }

  [[nodiscard]] Network finish() &&;

 private:
  Range store(std::string_view text);
  Range store_interned(std::string_view text);  ///< for the few texts that come again and again
  Range store_dims(std::span<const Dim> dims);
  TensorId new_tensor(Tensor t);
  Operator make_operator(std::string_view type, std::string_view domain, std::string_view name);

  Network network_;
  Range last_stored_;
  std::vector<std::size_t> open_ = {0};
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept { return std::hash<std::string_view>{}(s); }
  };
  std::unordered_map<std::string, Range, TextHash, std::equal_to<>> interned_;
  std::unordered_map<std::string, Dim, TextHash, std::equal_to<>> symbols_by_name_;
  // The last operator type seen of each kind is found again without hashing twice.
  struct KnownType {
    Range type, domain;
    OperatorKind kind = kUnknownKind;
    std::uint16_t opset = 0;
  };
  const KnownType& known_type(std::string_view type, std::string_view domain);
  std::unordered_map<std::string, KnownType, TextHash, std::equal_to<>> known_types_;
  // What was asked for lately, found at a glance (builder.cpp) before the maps are.
  static constexpr std::size_t kRecent = 128;
  std::array<Range, kRecent> recent_texts_ = {};
  std::array<KnownType, kRecent> recent_types_ = {};  // of ONNX's own domain
};

}  // namespace plimsoll::network
