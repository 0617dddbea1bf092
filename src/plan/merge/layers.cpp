#include "plan/merge/layers.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plimsoll::plan::merge {
namespace {

using network::Attribute;
using network::Network;
using network::Operator;
using network::TensorId;

/// An attribute that two layers must agree on, and what it is where it is left out: for a list, each of its
/// items.
struct AttributeRow {
  std::string_view name;
  std::string_view otherwise;
};

struct LayerRow {
  std::string_view type;
  LayerKind kind;
  std::size_t weight;  ///< the input without which it is no layer
  std::span<const AttributeRow> attributes;
};

constexpr AttributeRow kConvolution[] = {{"auto_pad", "NOTSET"}, {"dilations", "1"}, {"group", "1"},
                                         {"pads", "0"},          {"strides", "1"},   {"output_padding", "0"},
                                         {"output_shape", ""}};
constexpr AttributeRow kGemm[] = {{"alpha", "1"}, {"beta", "1"}, {"transA", "0"}, {"transB", "0"}};
constexpr AttributeRow kNorm[] = {{"axis", "-1"}, {"epsilon", "1e-05"}, {"num_groups", ""}};
constexpr AttributeRow kGather[] = {{"axis", "0"}};
constexpr AttributeRow kRecurrent[] = {{"direction", "forward"},
                                       {"hidden_size", ""},
                                       {"layout", "0"},
                                       {"activations", ""},
                                       {"clip", ""},
                                       {"input_forget", "0"},
                                       {"activation_alpha", ""},
                                       {"activation_beta", ""},
                                       {"linear_before_reset", "0"}};

constexpr LayerRow kRows[] = {
    {"Conv", LayerKind::convolution, 1, kConvolution},
    {"ConvTranspose", LayerKind::convolution, 1, kConvolution},
    {"Gemm", LayerKind::linear, 1, kGemm},
    {"MatMul", LayerKind::linear, 1, {}},
    {"BatchNormalization", LayerKind::normalization, 1, kNorm},
    {"LayerNormalization", LayerKind::normalization, 1, kNorm},
    {"GroupNormalization", LayerKind::normalization, 1, kNorm},
    {"InstanceNormalization", LayerKind::normalization, 1, kNorm},
    {"RMSNormalization", LayerKind::normalization, 1, kNorm},
    {"SimplifiedLayerNormalization", LayerKind::normalization, 1, kNorm},
    {"Gather", LayerKind::embedding, 0, kGather},
    {"LSTM", LayerKind::recurrent, 1, kRecurrent},
    {"GRU", LayerKind::recurrent, 1, kRecurrent},
    {"RNN", LayerKind::recurrent, 1, kRecurrent},
};

const LayerRow* row_of(std::string_view type) {
  const auto found = std::ranges::find(kRows, type, &LayerRow::type);
  return found == std::end(kRows) ? nullptr : found;
}

Bytes stored_bytes(const Network& network, TensorId id) {
  if (const network::StoredWeight* stored = network.stored_of(id)) return Bytes(stored->bytes);
  const network::Tensor& tensor = network.tensor(id);
  std::int64_t elements = 1;
  for (const network::Dim d : network.dims_of(tensor))
    if (!d.exact() || __builtin_mul_overflow(elements, d.value(), &elements)) return Bytes();
  return Bytes(network::packed_bytes(tensor.type, elements).value_or(0));
}

std::string dims_text(const Network& network, TensorId id) {
  std::string out;
  for (const network::Dim d : network.dims_of(network.tensor(id)))
    out += fmt::format("{}{}", out.empty() ? "" : "x", d.exact() ? d.value() : 0);
  return out.empty() ? "scalar" : out;
}

std::string attribute_text(const Network& network, const Attribute& attribute) {
  switch (attribute.kind) {
    case Attribute::Kind::integer: return fmt::format("{}", attribute.integer);
    // As many digits as a file's single precision tells apart.
    case Attribute::Kind::real:
      return fmt::format("{:.8g}", static_cast<double>(static_cast<float>(attribute.real)));
    case Attribute::Kind::text: return std::string(network.view(attribute.list));
    case Attribute::Kind::integers: return fmt::format("{}", fmt::join(network.integers_of(attribute), ","));
    case Attribute::Kind::reals: return fmt::format("{}", fmt::join(network.reals_of(attribute), ","));
    case Attribute::Kind::texts: {
      std::string out;
      for (std::uint32_t i = 0; i < attribute.list.count; ++i)
        out += fmt::format("{}{}", i == 0 ? "" : ",", network.view(network.ranges[attribute.list.begin + i]));
      return out;
    }
    default: return "?";
  }
}

bool says_the_default(const Network& network, const Attribute& attribute, const AttributeRow& row) {
  if (attribute.kind != Attribute::Kind::integers) return attribute_text(network, attribute) == row.otherwise;
  const auto all = network.integers_of(attribute);
  return !row.otherwise.empty() && std::ranges::all_of(all, [&](std::int64_t each) {
    return fmt::format("{}", each) == row.otherwise;
  });
}

/// Operators of the main graph with who reads what.
class LayerFinder {
 public:
  LayerFinder(const Network& network, Model& model) : network_(network), model_(model) {
    for (const TensorId id : network.main().weights) places_.emplace(id, places_.size());
    uses_.resize(network.tensors.size());
    makers_.resize(network.tensors.size(), nullptr);
    for (const Operator& op : network.main().operators) {
      for (const TensorId id : network.inputs(op))
        if (id != network::kNoTensor) note_use(id, op);
      for (const TensorId id : network.outputs(op))
        if (id != network::kNoTensor) makers_[index(id)] = &op;
    }
    for (const TensorId id : network.main().outputs)
      if (id != network::kNoTensor) uses_[index(id)].count += 2;  // what is given out is no layer's own
  }

  void run() {
    for (const Operator& op : network_.main().operators) add(op);
    mark_heads();
  }

 private:
  struct Use {
    std::size_t count = 0;
    const Operator* last = nullptr;
  };
  static std::size_t index(TensorId id) { return static_cast<std::size_t>(id); }
  void note_use(TensorId id, const Operator& op) {
    ++uses_[index(id)].count;
    uses_[index(id)].last = &op;
  }
  [[nodiscard]] std::optional<std::size_t> place(TensorId id) const {
    const auto found = places_.find(id);
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Floating-point numbers stored in the main graph, or what is stored in a format of its own.
  [[nodiscard]] bool is_weight(TensorId id) const {
    return id != network::kNoTensor && places_.contains(id) &&
           (network::is_float(network_.tensor(id).type) || network_.stored_of(id) != nullptr);
  }

  void add(const Operator& op) {
    const LayerRow* const row = row_of(network_.type_of(op));
    const auto inputs = network_.inputs(op);
    if (row == nullptr || row->weight >= inputs.size() || !is_weight(inputs[row->weight])) return;
    Layer layer{.name = std::string(network_.name_of(op)), .kind = row->kind};
    if (layer.name.empty()) layer.name = network_.name_of(inputs[row->weight]);
    layer.definition = network_.type_of(op);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (is_weight(inputs[i])) add_weight(layer, i, inputs[i]);
    if (row->type == "MatMul") add_bias(layer, op, inputs[row->weight]);
    for (const AttributeRow& each : row->attributes) add_attribute(layer, op, each);
    made_by_[&op] = model_.layers.size();
    if (!seen_.emplace(layer.tensors, model_.layers.size()).second) {
      made_by_[&op] = seen_.at(layer.tensors);  // one set of weights that runs twice
      return;
    }
    model_.layers.push_back(std::move(layer));
  }

  void add_weight(Layer& layer, std::size_t input, TensorId id) {
    const std::size_t at = *place(id);
    const bool first = layer.tensors.empty();
    layer.definition += first ? fmt::format(" {}", dims_text(network_, id))
                              : fmt::format(" +{}:{}", input, dims_text(network_, id));
    const network::StoredWeight* const stored = network_.stored_of(id);
    const std::string_view type =
        stored != nullptr ? network_.view(stored->format) : network::name(network_.tensor(id).type);
    if (type != "float32") layer.definition += fmt::format(":{}", type);
    layer.tensors.push_back(at);
    layer.bytes += model_.tensors[at].bytes;
  }

  void add_bias(Layer& layer, const Operator& product, TensorId weight) {
    const auto outputs = network_.outputs(product);
    if (outputs.size() != 1 || outputs[0] == network::kNoTensor) return;
    const Use& use = uses_[index(outputs[0])];
    if (use.count != 1 || network_.type_of(*use.last) != "Add") return;
    const auto dims = network_.dims_of(network_.tensor(weight));
    for (const TensorId id : network_.inputs(*use.last)) {
      if (!is_weight(id) || dims.empty()) continue;
      const auto bias = network_.dims_of(network_.tensor(id));
      if (bias.size() != 1 || !bias[0].exact() || !dims.back().exact() ||
          bias[0].value() != dims.back().value())
        continue;
      add_weight(layer, 2, id);
      made_by_[use.last] = model_.layers.size();
      return;
    }
  }

  void add_attribute(Layer& layer, const Operator& op, const AttributeRow& row) {
    const Attribute* const attribute = network_.find(op, row.name);
    if (attribute != nullptr && !says_the_default(network_, *attribute, row))
      layer.definition += fmt::format(" {}={}", row.name, attribute_text(network_, *attribute));
  }

  /// Back from every output to the first layer. Where two branches are joined by arithmetic, what comes
  /// before is features, not a head.
  void mark_heads() {
    std::vector<TensorId> open(network_.main().outputs.begin(), network_.main().outputs.end());
    std::vector<bool> seen(network_.tensors.size());
    while (!open.empty()) {
      const TensorId id = open.back();
      open.pop_back();
      if (id == network::kNoTensor || seen[index(id)] || makers_[index(id)] == nullptr) continue;
      seen[index(id)] = true;
      const Operator& op = *makers_[index(id)];
      if (const auto layer = made_by_.find(&op); layer != made_by_.end()) {
        Layer& found = model_.layers[layer->second];
        found.head |= found.kind == LayerKind::convolution || found.kind == LayerKind::linear;
        continue;
      }
      const auto inputs = network_.inputs(op);
      const auto computed = std::ranges::count_if(inputs, [&](TensorId input) {
        return input != network::kNoTensor && makers_[index(input)] != nullptr;
      });
      static constexpr std::string_view kJoins[] = {"Add", "Sub", "Mul", "Div", "Sum", "MatMul", "Einsum"};
      if (computed > 1 && std::ranges::find(kJoins, network_.type_of(op)) != std::end(kJoins)) continue;
      open.insert(open.end(), inputs.begin(), inputs.end());
    }
  }

  const Network& network_;
  Model& model_;
  std::map<TensorId, std::size_t> places_;  // of the main graph's weights in the model's tensors
  std::vector<Use> uses_;
  std::vector<const Operator*> makers_;
  std::map<const Operator*, std::size_t> made_by_;
  std::map<std::vector<std::size_t>, std::size_t> seen_;
};

/// Those of the main graph first, in its order; then what bodies and attributes hold.
std::vector<StoredTensor> stored_tensors(const Network& network) {
  std::vector<StoredTensor> out;
  std::vector<bool> seen(network.tensors.size());
  const auto add = [&](TensorId id) {
    if (id == network::kNoTensor || seen[static_cast<std::size_t>(id)]) return;
    seen[static_cast<std::size_t>(id)] = true;
    out.push_back({id, std::string(network.name_of(id)), stored_bytes(network, id)});
  };
  for (const network::Graph& graph : network.graphs)
    for (const TensorId id : graph.weights) add(id);
  for (const Attribute& attribute : network.attributes)
    if (attribute.kind == Attribute::Kind::tensor) add(static_cast<TensorId>(attribute.integer));
  return out;
}

/// A scale that Resize reads, or a target of Reshape, decides shapes: whoever infers them looks for it in the
/// model's own file. A layer's weights decide none.
void mark_movable(const Network& network, Model& model) {
  for (std::size_t i = 0; i < network.main().weights.size() && i < model.tensors.size(); ++i) {
    const network::Tensor& tensor = network.tensor(model.tensors[i].id);
    model.tensors[i].movable = tensor.role == network::Role::parameter || !tensor.has_value;
  }
  for (const Layer& layer : model.layers)
    for (const std::size_t i : layer.tensors) model.tensors[i].movable = true;
}

}  // namespace

std::string_view name(LayerKind kind) {
  static constexpr std::array<std::string_view, 5> kNames = {"convolution", "linear", "normalization",
                                                             "embedding", "recurrent"};
  return kNames[static_cast<std::size_t>(kind)];
}

Model describe(std::string name, const Network& network) {
  Model model{.name = std::move(name), .tensors = stored_tensors(network)};
  for (const StoredTensor& tensor : model.tensors) model.bytes += tensor.bytes;
  LayerFinder(network, model).run();
  mark_movable(network, model);
  return model;
}

}  // namespace plimsoll::plan::merge
