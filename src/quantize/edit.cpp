#include "quantize/edit.hpp"

#include <algorithm>

namespace plimsoll::quantize {

using network::kNoTensor;
using network::Network;
using network::Operator;
using network::TensorId;

namespace {

std::size_t at(TensorId id) {
  return static_cast<std::size_t>(id);
}

/// Marks what bodies of If, Loop and Scan read of the graphs around them.
void mark_bodies(const Network& network, std::vector<bool>& needed) {
  for (std::size_t g = 1; g < network.graphs.size(); ++g) {
    for (const Operator& op : network.graphs[g].operators)
      for (const TensorId id : network.inputs(op))
        if (id != kNoTensor) needed[at(id)] = true;
    for (const TensorId id : network.graphs[g].outputs)
      if (id != kNoTensor) needed[at(id)] = true;
  }
}

}  // namespace

Edit::Edit(Network network) : builder_(std::move(network)) {
  operators_ = std::exchange(builder_.open_graph().operators, {});
}

void Edit::keep(const Operator& op, std::span<const TensorId> inputs, std::span<const TensorId> outputs) {
  // Copies: the pools that these look into grow.
  const Network& from = builder_.peek();
  const std::string type(from.type_of(op)), domain(from.domain_of(op)), name(from.name_of(op));
  const auto given = from.attributes_of(op);
  const std::vector<network::Attribute> attributes(given.begin(), given.end());
  const std::vector<TensorId> in(inputs.begin(), inputs.end()), out(outputs.begin(), outputs.end());
  builder_.add_stored(type, domain, name, in, out, attributes).opset = op.opset;
}

TensorId Edit::add(std::string_view type, const std::string& name, std::initializer_list<TensorId> inputs,
                   std::initializer_list<network::AttributeValue> attributes, TensorId output) {
  if (output == kNoTensor) output = builder_.tensor(name);
  builder_.add(type, "", "", std::span(inputs.begin(), inputs.size()), std::span(&output, 1),
               std::span(attributes.begin(), attributes.size()));
  return output;
}

Model Edit::finish() && {
  Network network = std::move(builder_).finish();
  network::Graph& graph = network.graphs.front();
  std::vector<bool> needed(network.tensors.size(), false);
  for (const TensorId id : graph.outputs) needed[at(id)] = true;
  mark_bodies(network, needed);
  std::vector<Operator> left;
  for (std::size_t i = graph.operators.size(); i-- > 0;) {
    const Operator& op = graph.operators[i];
    const auto outputs = network.outputs(op);
    if (std::ranges::none_of(outputs, [&](TensorId id) { return id != kNoTensor && needed[at(id)]; }))
      continue;
    for (const TensorId id : network.inputs(op))
      if (id != kNoTensor) needed[at(id)] = true;
    left.push_back(op);
  }
  std::ranges::reverse(left);
  graph.operators = std::move(left);
  std::erase_if(graph.weights, [&](TensorId id) { return !needed[at(id)]; });
  std::erase_if(contents_, [&](const auto& entry) { return !needed[at(entry.first)]; });
  return {std::move(network), std::move(contents_)};
}

Readers::Readers(const Network& network)
    : network_(network),
      makers_(network.tensors.size(), nullptr),
      readers_(network.tensors.size(), nullptr),
      reads_(network.tensors.size(), 0) {
  for (const network::Graph& graph : network.graphs) {
    const bool main = &graph == &network.graphs.front();
    for (const Operator& op : graph.operators) {
      for (const TensorId id : network.inputs(op)) {
        if (id == kNoTensor) continue;
        reads_[at(id)] += main ? 1 : 2;  // a body may read it many times
        readers_[at(id)] = &op;
      }
      for (const TensorId id : network.outputs(op))
        if (id != kNoTensor && main) makers_[at(id)] = &op;
    }
    for (const TensorId id : graph.outputs)
      if (id != kNoTensor) reads_[at(id)] += 2;
  }
}

const Operator* Readers::maker(TensorId id) const {
  return id == kNoTensor ? nullptr : makers_[at(id)];
}

std::uint32_t Readers::reads(TensorId id) const {
  return id == kNoTensor ? 0 : reads_[at(id)];
}

const Operator* Readers::only_reader(TensorId id) const {
  return id != kNoTensor && reads_[at(id)] == 1 ? readers_[at(id)] : nullptr;
}

Readers::Stored Readers::stored(TensorId id) const {
  bool turned = false;
  // Each step goes to an earlier operator; a graph that goes round in circles was refused when it was read.
  while (id != kNoTensor) {
    const Operator* made = makers_[at(id)];
    if (made == nullptr) {
      const network::Role role = network_.tensor(id).role;
      const bool kept = role == network::Role::parameter || role == network::Role::buffer;
      return kept ? Stored{id, turned} : Stored{};
    }
    if (!network_.domain_of(*made).empty()) return {};
    const std::string_view type = network_.type_of(*made);
    if (type == "Constant") {
      const network::Attribute* value = network_.find(*made, "value");
      if (value == nullptr || value->kind != network::Attribute::Kind::tensor) return {};
      return {static_cast<TensorId>(value->integer), turned};
    }
    if (type == "Transpose") {
      const network::Attribute* order = network_.find(*made, "perm");
      const bool two =
          order == nullptr ? false : std::ranges::equal(network_.integers_of(*order), std::array{1, 0});
      if (!two) return {};
      turned = !turned;
    } else if (type != "Identity") {
      return {};
    }
    id = network_.inputs(*made).empty() ? kNoTensor : network_.inputs(*made)[0];
  }
  return {};
}

std::vector<std::int64_t> extents_of(const Network& network, TensorId id) {
  if (id == kNoTensor || !network.tensor(id).has_shape) return {};
  std::vector<std::int64_t> out;
  for (const network::Dim d : network.dims_of(network.tensor(id))) {
    if (!d.exact()) return {};
    out.push_back(d.value());
  }
  return out;
}

}  // namespace plimsoll::quantize
