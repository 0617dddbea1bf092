#include <algorithm>

#include "job/network_json.hpp"
#include "job/network_words.hpp"
#include "network/builder.hpp"
#include "network/shape.hpp"

namespace plimsoll::job {
namespace {

using network::Attribute;
using network::Builder;
using network::DataType;
using network::Dim;
using network::Graph;
using network::GraphId;
using network::kDataTypes;
using network::kMaxRank;
using network::kMaxValueElements;
using network::kNoTensor;
using network::kUnbounded;
using network::Network;
using network::Operator;
using network::Role;
using network::Scalar;
using network::Shape;
using network::SymbolId;
using network::Tensor;
using network::TensorId;

constexpr int kDeepestBody = 64;  // as the ONNX reader allows

class NetworkReader {
 public:
  explicit NetworkReader(const Fields& fields)
      : fields_(fields),
        builder_(fields.text("name")),
        symbol_count_(fields.list("symbols").size()),
        tensor_count_(fields.list("tensors").size()),
        levels_(fields.list("graphs").size(), 0) {}

  [[nodiscard]] Network network() {
    if (levels_.empty()) fields_.complain("graphs", "has no main graph");
    fields_.each("opsets", [this](const Fields& set) {
      builder_.opset(set.text("domain"), set.whole("version", std::numeric_limits<std::int64_t>::min()));
    });
    fields_.each("tensors", [this](const Fields& tensor) { read_tensor(tensor); });
    fields_.each("graphs", [this](const Fields& graph) { read_graph(graph); });
    Network out = std::move(builder_).finish();
    fields_.each("symbols", [&out](const Fields& symbol) {
      const std::int64_t low = symbol.whole("low");
      out.symbols.add({symbol.text("name"),
                       {low, symbol.has("high") ? symbol.whole("high", low) : kUnbounded},
                       symbol.choice("origin", origin_named)});
    });
    return out;
  }

 private:
  [[nodiscard]] std::optional<SymbolId> symbol_of(const Json& value) const {
    if (!value.is_object() || !value.contains("symbol")) return std::nullopt;
    const auto id = whole_of(value["symbol"]);
    if (!id || *id < 0 || static_cast<std::size_t>(*id) >= symbol_count_) return std::nullopt;
    return static_cast<SymbolId>(*id);
  }
  [[nodiscard]] std::optional<Dim> dim_of(const Json& value) const {
    if (value.is_null()) return Dim::invalid();
    if (const auto id = symbol_of(value)) return Dim::symbol(*id);
    const auto extent = whole_of(value);
    return extent && *extent >= 0 ? std::optional(Dim::of(*extent)) : std::nullopt;
  }
  [[nodiscard]] std::optional<Scalar> scalar_of(const Json& value) const {
    if (const auto id = symbol_of(value)) return Scalar::extent(Dim::symbol(*id));
    if (const auto integer = whole_of(value)) return Scalar::integer(*integer);
    if (value.is_number_integer()) return std::nullopt;  // beyond 63 bits
    const auto real = real_of(value);
    return real ? std::optional(Scalar::real(*real)) : std::nullopt;
  }

  void read_tensor(const Fields& fields) {
    const TensorId id = builder_.tensor(fields.text("name"));
    const auto type = network::data_type_from_number(fields.whole("type", 0, kDataTypes - 1));
    builder_.declare(id, type.value_or(DataType::undefined));
    builder_.set_role(id, fields.choice("role", role_named));
    if (fields.has("dims")) read_dims(fields, id);
    if (fields.has("value")) read_value(fields, id);
  }
  void read_dims(const Fields& fields, TensorId id) {
    const auto& list = fields.list("dims");
    if (list.size() > kMaxRank)
      return fields.complain("dims", fmt::format("has more than {} extents", kMaxRank));
    Shape shape;
    for (const Json& item : list) {
      const auto dim = dim_of(item);
      if (!dim) return fields.complain("dims", "is not a list of extents");
      shape.push_back(*dim);
    }
    builder_.declare(id, builder_.at(id).type, shape.dims());
  }
  /// As many as the shape has elements: an engine fills a tensor of that shape with them.
  void read_value(const Fields& fields, TensorId id) {
    const auto& list = fields.list("value");
    if (list.size() > kMaxValueElements)
      return fields.complain("value", fmt::format("has more than {} elements", kMaxValueElements));
    if (const auto elements = elements_of(id); elements && *elements != list.size())
      return fields.complain("value",
                             fmt::format("has {} elements where the shape has {}", list.size(), *elements));
    scalars_.clear();
    for (const Json& item : list) {
      const auto scalar = scalar_of(item);
      if (!scalar) return fields.complain("value", "is not a list of numbers and symbols");
      scalars_.push_back(*scalar);
    }
    builder_.set_value(id, scalars_);
  }
  /// Nothing where no shape is declared or an extent is no exact number; at most kMaxValueElements + 1.
  [[nodiscard]] std::optional<std::size_t> elements_of(TensorId id) const {
    const Tensor& tensor = builder_.at(id);
    const std::span<const Dim> dims = builder_.peek().dims_of(tensor);
    if (!tensor.has_shape || !std::ranges::all_of(dims, &Dim::exact)) return std::nullopt;
    if (std::ranges::any_of(dims, [](Dim d) { return d.is(0); })) return 0;
    std::int64_t product = 1;
    for (const Dim dim : dims)
      product = dim.value() > static_cast<std::int64_t>(kMaxValueElements)
                    ? static_cast<std::int64_t>(kMaxValueElements) + 1
                    : std::min(product * dim.value(), static_cast<std::int64_t>(kMaxValueElements) + 1);
    return static_cast<std::size_t>(product);
  }

  [[nodiscard]] std::vector<TensorId> ids(const Fields& fields, std::string_view key,
                                          bool may_be_none) const {
    std::vector<TensorId> out;
    for (const std::int64_t id :
         fields.wholes(key, may_be_none ? -1 : 0, static_cast<std::int64_t>(tensor_count_) - 1))
      out.push_back(id < 0 ? kNoTensor : static_cast<TensorId>(id));
    return out;
  }

  void read_graph(const Fields& fields) {
    const std::size_t number = graph_number_++;
    if (number > 0) builder_.begin_graph("");
    Graph& graph = builder_.open_graph();
    graph.name = fields.text("name");
    graph.inputs = ids(fields, "inputs", false);
    graph.outputs = ids(fields, "outputs", false);
    graph.weights = ids(fields, "weights", false);
    check_roles(fields, graph);
    fields.each("operators", [&](const Fields& op) { read_operator(op, number); });
    if (number > 0) builder_.end_graph();
  }
  void check_roles(const Fields& fields, const Graph& graph) const {
    const auto role = [this](TensorId id) { return builder_.at(id).role; };
    for (const TensorId id : graph.inputs)
      if (role(id) != Role::input) fields.complain("inputs", "has a tensor whose role is not \"input\"");
    for (const TensorId id : graph.weights)
      if (role(id) != Role::parameter && role(id) != Role::buffer)
        fields.complain("weights", "has a tensor whose role is neither \"parameter\" nor \"buffer\"");
  }

  void read_operator(const Fields& fields, std::size_t graph) {
    const std::vector<TensorId> inputs = ids(fields, "inputs", true);
    const std::vector<TensorId> outputs = ids(fields, "outputs", true);
    std::vector<Attribute> attributes;
    if (fields.has("attributes"))
      fields.each("attributes",
                  [&](const Fields& attribute) { attributes.push_back(read_attribute(attribute, graph)); });
    if (!fields.good()) return;
    Operator& op = builder_.add_stored(fields.text("type"), fields.has("domain") ? fields.text("domain") : "",
                                       fields.text("name"), inputs, outputs, attributes);
    op.opset = static_cast<std::uint16_t>(fields.whole("opset", 0, 0xffff));
  }

  Attribute read_attribute(const Fields& fields, std::size_t graph) {
    const std::string name = fields.text("name");
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    using Kind = Attribute::Kind;
    switch (fields.choice("kind", attribute_kind_named)) {
      case Kind::integer: return builder_.attribute({name, fields.whole("value", kLeast)});
      case Kind::real: return builder_.attribute({name, fields.real("value")});
      case Kind::text: return builder_.attribute({name, std::string_view(fields.text("value"))});
      case Kind::integers: return builder_.attribute({name, fields.wholes("value")});
      case Kind::reals: return builder_.attribute({name, std::span<const double>(fields.reals("value"))});
      case Kind::texts: {
        const std::vector<std::string> texts = fields.texts("value");
        const std::vector<std::string_view> views(texts.begin(), texts.end());
        return builder_.attribute({name, std::span<const std::string_view>(views)});
      }
      case Kind::tensor:
        return builder_.attribute({name, static_cast<TensorId>(fields.whole(
                                             "value", 0, static_cast<std::int64_t>(tensor_count_) - 1))});
      case Kind::graph: return builder_.attribute({name, read_body(fields, graph)});
      case Kind::other: break;
    }
    Attribute other = builder_.attribute({name, std::int64_t{0}});
    other.kind = Kind::other;
    return other;
  }
  /// Bodies form a tree: each stands after the graph whose operator owns it, and is owned once. So that
  /// whoever walks them comes to an end.
  GraphId read_body(const Fields& fields, std::size_t graph) {
    const auto body =
        static_cast<std::size_t>(fields.whole("value", 0, static_cast<std::int64_t>(levels_.size()) - 1));
    if (!fields.good()) return GraphId{};
    if (body <= graph || levels_[body] != 0)
      fields.complain("value", "names a graph that is no body of this operator alone");
    levels_[body] = levels_[graph] + 1;
    if (levels_[body] > kDeepestBody)
      fields.complain("value", fmt::format("bodies are nested more than {} deep", kDeepestBody));
    return static_cast<GraphId>(body);
  }

  const Fields& fields_;
  Builder builder_;
  std::size_t symbol_count_, tensor_count_;
  std::vector<int> levels_;  // by graph; 0 for the main one and those not owned yet
  std::size_t graph_number_ = 0;
  std::vector<Scalar> scalars_;
};

}  // namespace

Network read_network(const Fields& fields) {
  return NetworkReader(fields).network();
}

}  // namespace plimsoll::job
