#include "network/builder.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "network/operators.hpp"

namespace plimsoll::network {
namespace {

template <class T>
Range append(std::vector<T>& pool, std::span<const T> items) {
  const Range r{static_cast<std::uint32_t>(pool.size()), static_cast<std::uint32_t>(items.size())};
  pool.insert(pool.end(), items.begin(), items.end());
  return r;
}

/// Room for `more` items. At least doubles, so that many small requests cost no more than push_back would.
template <class T>
void make_room(std::vector<T>& pool, std::size_t more) {
  if (pool.capacity() - pool.size() < more) pool.reserve(std::max(pool.size() + more, 2 * pool.capacity()));
}

/// A hash of three letters and the length: enough to tell the few operator types and attribute names of a
/// model apart nearly always, and what it finds is compared in full.
std::size_t glance(std::string_view text) {
  const auto letter = [text](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(text[i]));
  };
  return text.size() * 37 + letter(0) * 5 + letter(text.size() / 2) * 3 + letter(text.size() - 1);
}

std::vector<Dim> exact_dims(std::initializer_list<std::int64_t> dims) {
  std::vector<Dim> out;
  out.reserve(dims.size());
  for (const std::int64_t d : dims) out.push_back(Dim::of(d));
  return out;
}

}  // namespace

Builder::Builder(std::string_view network_name) {
  network_.name = network_name;
  network_.graphs.emplace_back();
}

void Builder::opset(std::string_view domain, std::int64_t version) {
  if (domain == "ai.onnx") domain = "";
  network_.opsets.push_back({std::string(domain), version});
  known_types_.clear();
  recent_types_ = {};
}

Dim Builder::symbol(std::string_view name) {
  if (const auto found = symbols_by_name_.find(name); found != symbols_by_name_.end()) return found->second;
  const Dim dim = Dim::symbol(network_.symbols.add({std::string(name), {}, Symbol::Origin::declared}));
  symbols_by_name_.emplace(name, dim);
  return dim;
}

std::optional<Dim> Builder::find_symbol(std::string_view name) const {
  const auto found = symbols_by_name_.find(name);
  return found == symbols_by_name_.end() ? std::nullopt : std::optional(found->second);
}

void Builder::reserve(std::size_t operators, std::size_t weights) {
  open_graph().operators.reserve(operators);
  open_graph().weights.reserve(weights);
  make_room(network_.dims, 2 * weights);
  make_room(network_.tensors, weights + 2 * operators);  // a Constant has a tensor of its own
  make_room(network_.tensor_ids, 3 * operators);
  make_room(network_.attributes, operators);
  // Exported names are about so long; longer ones only cost a copy.
  if (const std::size_t more = 64 * (operators + weights);
      network_.text.capacity() - network_.text.size() < more)
    network_.text.reserve(std::max(network_.text.size() + more, 2 * network_.text.capacity()));
}

Range Builder::store(std::string_view text) {
  // Exporters name an operator's output after the operator ("/conv/Conv", "/conv/Conv_output_0"), the zoo and
  // Constant's tensors are named alike: what the text before begins with needs no place of its own.
  if (network_.view(last_stored_).starts_with(text))
    return {last_stored_.begin, static_cast<std::uint32_t>(text.size())};
  const Range r{static_cast<std::uint32_t>(network_.text.size()), static_cast<std::uint32_t>(text.size())};
  network_.text.append(text);
  last_stored_ = r;
  return r;
}

Range Builder::store_interned(std::string_view text) {
  if (text.empty()) return {};
  Range& recent = recent_texts_[glance(text) % kRecent];
  if (network_.view(recent) == text) return recent;
  const auto found = interned_.find(text);
  recent = found != interned_.end() ? found->second : interned_.emplace(text, store(text)).first->second;
  return recent;
}

Range Builder::store_dims(std::span<const Dim> dims) {
  return append(network_.dims, dims);
}

TensorId Builder::new_tensor(Tensor t) {
  network_.tensors.push_back(t);
  return static_cast<TensorId>(network_.tensors.size() - 1);
}

TensorId Builder::tensor(std::string_view name) {
  Tensor t;
  t.name = store(name);
  return new_tensor(t);
}

TensorId Builder::input(std::string_view name, DataType type, std::span<const Dim> dims) {
  const TensorId id = tensor(name);
  declare(id, type, dims);
  graph_input(id);
  return id;
}

TensorId Builder::weight(std::string_view name, DataType type, std::span<const Dim> dims, Role role) {
  const TensorId id = tensor(name);
  declare(id, type, dims);
  set_role(id, role);
  open_graph().weights.push_back(id);
  return id;
}

TensorId Builder::parameter(std::string_view name, std::initializer_list<std::int64_t> dims, DataType type) {
  return weight(name, type, exact_dims(dims), Role::parameter);
}

TensorId Builder::buffer(std::string_view name, std::initializer_list<std::int64_t> dims, DataType type) {
  return weight(name, type, exact_dims(dims), Role::buffer);
}

TensorId Builder::constant(std::string_view name, std::initializer_list<std::int64_t> values) {
  const TensorId id = buffer(name, {static_cast<std::int64_t>(values.size())}, DataType::int64);
  std::vector<Scalar> scalars;
  for (const std::int64_t v : values) scalars.push_back(Scalar::integer(v));
  set_value(id, scalars);
  return id;
}

TensorId Builder::constant_scalar(std::string_view name, std::int64_t value) {
  const TensorId id = buffer(name, {}, DataType::int64);
  const Scalar scalar = Scalar::integer(value);
  set_value(id, std::span(&scalar, 1));
  return id;
}

TensorId Builder::constant_scalar(std::string_view name, double value) {
  const TensorId id = buffer(name, {}, DataType::float32);
  const Scalar scalar = Scalar::real(value);
  set_value(id, std::span(&scalar, 1));
  return id;
}

void Builder::declare(TensorId id, DataType type) {
  network_.tensors[static_cast<std::size_t>(id)].type = type;
}

void Builder::declare(TensorId id, DataType type, std::span<const Dim> dims) {
  const Range range = store_dims(dims);
  Tensor& t = network_.tensors[static_cast<std::size_t>(id)];
  t.type = type;
  t.dims = range;
  t.has_shape = true;
}

void Builder::set_value(TensorId id, std::span<const Scalar> values) {
  if (values.size() > kMaxValueElements) return;
  const Range range = append(network_.scalars, values);
  Tensor& t = network_.tensors[static_cast<std::size_t>(id)];
  t.value = range;
  t.has_value = true;
}

void Builder::set_role(TensorId id, Role role) {
  network_.tensors[static_cast<std::size_t>(id)].role = role;
}

const Builder::KnownType& Builder::known_type(std::string_view type, std::string_view domain) {
  auto found =
      domain.empty() ? known_types_.find(type) : known_types_.find(fmt::format("{}:{}", domain, type));
  if (found == known_types_.end()) {
    const auto set = std::ranges::find(network_.opsets, domain, &Opset::domain);
    const std::int64_t version =
        set == network_.opsets.end() ? 1 : std::clamp<std::int64_t>(set->version, 0, 0xffff);
    const KnownType known{store(type), store_interned(domain), find_operator(domain, type),
                          static_cast<std::uint16_t>(version)};
    std::string key = domain.empty() ? std::string(type) : fmt::format("{}:{}", domain, type);
    found = known_types_.emplace(std::move(key), known).first;
  }
  return found->second;
}

Operator Builder::make_operator(std::string_view type, std::string_view domain, std::string_view name) {
  if (domain == "ai.onnx") domain = "";
  const bool plain = domain.empty() && !type.empty();
  KnownType* const recent = plain ? &recent_types_[glance(type) % kRecent] : nullptr;
  const bool hit = plain && network_.view(recent->type) == type;
  const KnownType known = hit ? *recent : known_type(type, domain);
  if (plain && !hit) *recent = known;
  Operator op;
  op.kind = known.kind;
  op.opset = known.opset;
  op.type = known.type;
  op.domain = known.domain;
  op.name = store(name);
  return op;
}

Attribute Builder::attribute(const AttributeValue& value) {
  Attribute a;
  a.name = store_interned(value.name);
  a.kind = value.kind;
  a.integer = value.integer;
  a.real = value.real;
  switch (value.kind) {
    case Attribute::Kind::text: a.list = store(value.text); break;
    case Attribute::Kind::integers: a.list = append(network_.integers, value.integers); break;
    case Attribute::Kind::reals: a.list = append(network_.reals, value.reals); break;
    case Attribute::Kind::texts:
      a.list = {static_cast<std::uint32_t>(network_.ranges.size()),
                static_cast<std::uint32_t>(value.texts.size())};
      for (const std::string_view t : value.texts) network_.ranges.push_back(store(t));
      break;
    default: break;
  }
  return a;
}

Operator& Builder::add_stored(std::string_view type, std::string_view domain, std::string_view name,
                              std::span<const TensorId> inputs, std::span<const TensorId> outputs,
                              std::span<const Attribute> attributes) {
  Operator op = make_operator(type, domain, name);
  op.inputs = append(network_.tensor_ids, inputs);
  op.outputs = append(network_.tensor_ids, outputs);
  op.attributes = append(network_.attributes, attributes);
  return open_graph().operators.emplace_back(op);
}

void Builder::add(std::string_view type, std::string_view domain, std::string_view name,
                  std::span<const TensorId> inputs, std::span<const TensorId> outputs,
                  std::span<const AttributeValue> attributes) {
  Operator& op = add_stored(type, domain, name, inputs, outputs, {});
  for (const AttributeValue& value : attributes) network_.attributes.push_back(attribute(value));
  op.attributes.count = static_cast<std::uint32_t>(attributes.size());
}

TensorId Builder::add(std::string_view type, std::string_view name, std::span<const TensorId> inputs,
                      std::initializer_list<AttributeValue> attributes) {
  const TensorId out = tensor(name);
  add(type, "", name, inputs, std::span(&out, 1), std::span(attributes.begin(), attributes.size()));
  return out;
}

TensorId Builder::add(std::string_view type, std::string_view name, std::initializer_list<TensorId> inputs,
                      std::initializer_list<AttributeValue> attributes) {
  return add(type, name, std::span<const TensorId>(inputs.begin(), inputs.size()), attributes);
}

GraphId Builder::begin_graph(std::string_view name) {
  network_.graphs.emplace_back();
  network_.graphs.back().name = name;
  open_.push_back(network_.graphs.size() - 1);
  return static_cast<GraphId>(network_.graphs.size() - 1);
}

void Builder::graph_input(TensorId id) {
  set_role(id, Role::input);
  open_graph().inputs.push_back(id);
}

void Builder::output(TensorId id) {
  open_graph().outputs.push_back(id);
}
void Builder::end_graph() {
  open_.pop_back();
}
Network Builder::finish() && {
  return std::move(network_);
}

}  // namespace plimsoll::network
