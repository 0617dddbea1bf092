#include "network/inference.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "network/inference_engine.hpp"

namespace plimsoll::network {
namespace {

// A hostile file could make every node carry a long value; past this many elements in all, contents are
// forgotten, which is always sound.
constexpr std::size_t kLeastValueBudget = 1 << 16;
constexpr std::size_t kValueBudgetPerTensor = 8;
constexpr std::size_t kMostSymbols = 1 << 20;

Interval product(const Symbols& symbols, std::span<const Dim> dims) {
  Interval n{1, 1};
  for (const Dim d : dims) {
    const Interval b = symbols.bounds(d);
    if (__builtin_mul_overflow(n.low, b.low, &n.low)) n.low = kUnbounded;
    if (b.high == 0)
      n.high = 0;
    else if (n.high != 0 && (b.high == kUnbounded || n.high == kUnbounded ||
                             __builtin_mul_overflow(n.high, b.high, &n.high)))
      n.high = kUnbounded;
  }
  return n;
}

}  // namespace

Interval Shapes::elements(TensorId id) const {
  if (!ranked(id)) return {0, kUnbounded};
  return product(symbols_, dims(id));
}

std::string Shapes::text(TensorId id) const {
  if (!ranked(id)) return "?";
  if (dims(id).empty()) return "scalar";
  std::string out;
  for (const Dim d : dims(id)) {
    if (!out.empty()) out += 'x';
    if (d.exact()) {
      out += std::to_string(d.value());
      continue;
    }
    const std::int64_t high = symbols_.bounds(d).high;
    out += high == kUnbounded ? symbols_.text(d) : fmt::format("{}(<={})", symbols_.text(d), high);
  }
  return out;
}

Status InferenceEngine::start(const Binding& binding) {
  shapes_.entries_.resize(network_.tensors.size());
  shapes_.dims_.reserve(network_.tensors.size() * 3);
  shapes_.scalars_.reserve(network_.scalars.size() * 3);  // what is known from the start, and what follows
  value_budget_ = std::max(kLeastValueBudget, network_.tensors.size() * kValueBudgetPerTensor);
  shapes_.bound_ = binding.symbols;
  // Declared symbols keep their ids, so that one left unbound stays itself.
  shapes_.symbols_ = network_.symbols;
  for (std::size_t i = 0; i < network_.symbols.size(); ++i)
    bound_.push_back(i < binding.symbols.size() ? Dim::of(binding.symbols[i].value)
                                                : Dim::symbol(static_cast<SymbolId>(i)));
  for (const Graph& graph : network_.graphs) {
    for (const TensorId id : graph.weights) PLIMSOLL_TRY(store_declared(id, binding));
  }
  for (const TensorId id : network_.main().inputs) PLIMSOLL_TRY(store_declared(id, binding));
  for (const InferOptions::GivenInput& given : options_.given_inputs)
    PLIMSOLL_TRY(store(given.tensor, given.value));
  for (const InferOptions::KnownInput& known : options_.known_inputs) {
    Inferred with_value;
    Shapes::Entry& entry = shapes_.entries_[static_cast<std::size_t>(known.tensor)];
    if (known.values.size() > kMaxValueElements) continue;
    entry.value = {static_cast<std::uint32_t>(shapes_.scalars_.size()),
                   static_cast<std::uint32_t>(known.values.size())};
    entry.has_value = true;
    shapes_.scalars_.insert(shapes_.scalars_.end(), known.values.begin(), known.values.end());
  }
  return {};
}

Status InferenceEngine::store_declared(TensorId id, const Binding& binding) {
  const Tensor& t = network_.tensor(id);
  Inferred inferred;
  inferred.type = t.type;
  const auto given = std::ranges::find(binding.inputs, id, &Binding::InputShape::tensor);
  if (given != binding.inputs.end()) {
    inferred.ranked = true;
    for (const std::int64_t d : given->dims) inferred.shape.push_back(Dim::of(d));
  } else if (t.has_shape) {
    inferred.ranked = true;
    for (const Dim d : network_.dims_of(t))
      inferred.shape.push_back(d.symbolic() ? bound_[static_cast<std::size_t>(d.id())] : d);
  }
  if (t.has_value) {
    inferred.has_value = true;
    const auto values = network_.value_of(t);
    inferred.value.assign(values.begin(), values.end());
  }
  if (Status stored = store(id, inferred); !stored)
    return std::unexpected(
        std::move(stored.error()).within(fmt::format("tensor '{}'", network_.name_of(id))));
  return {};
}

Status InferenceEngine::check_size(const Inferred& inferred) const {
  const Shape& shape = inferred.shape;
  if (shape.overflowed()) return fail("a rank over {} is not supported", kMaxRank);
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const Dim d = shape[i];
    if (!d.valid()) return fail("extent {} of the result would be negative or beyond 2^63", i);
    if (!d.exact()) return {};
    if (d.value() == 0) return {};
  }
  for (const Dim d : shape.dims())
    if (__builtin_mul_overflow(elements, d.value(), &elements))
      return fail("the result has more than 2^63 elements");
  if (!packed_bytes(inferred.type, elements)) return fail("the result has more than 2^63 bytes");
  return {};
}

Status InferenceEngine::store(TensorId id, const Inferred& inferred) {
  Shapes::Entry& entry = shapes_.entries_[static_cast<std::size_t>(id)];
  entry.type = inferred.type;
  entry.kind = inferred.kind;
  entry.length = inferred.length;
  entry.ranked = inferred.ranked;
  entry.has_value = false;
  if (inferred.ranked) {
    PLIMSOLL_TRY(check_size(inferred));
    const auto dims = inferred.shape.dims();
    entry.dims = {static_cast<std::uint32_t>(shapes_.dims_.size()), static_cast<std::uint32_t>(dims.size())};
    shapes_.dims_.insert(shapes_.dims_.end(), dims.begin(), dims.end());
  }
  if (inferred.has_value && inferred.value.size() <= kMaxValueElements &&
      inferred.value.size() <= value_budget_) {
    value_budget_ -= inferred.value.size();
    entry.value = {static_cast<std::uint32_t>(shapes_.scalars_.size()),
                   static_cast<std::uint32_t>(inferred.value.size())};
    entry.has_value = true;
    shapes_.scalars_.insert(shapes_.scalars_.end(), inferred.value.begin(), inferred.value.end());
  }
  return {};
}

Status InferenceEngine::check_arity(const Operator& op, const OperatorInfo& row) const {
  const std::uint32_t inputs = op.inputs.count;
  if (inputs < row.min_inputs || (row.max_inputs != kAny && inputs > row.max_inputs))
    return fail("has {} inputs; {} takes {}", inputs, row.name,
                row.max_inputs == kAny             ? fmt::format("{} or more", row.min_inputs)
                : row.min_inputs == row.max_inputs ? fmt::format("{}", row.min_inputs)
                                                   : fmt::format("{} to {}", row.min_inputs, row.max_inputs));
  if (row.max_outputs != kAny && op.outputs.count > row.max_outputs)
    return fail("has {} outputs; {} has at most {}", op.outputs.count, row.name, row.max_outputs);
  const auto ids = network_.inputs(op);
  for (std::uint32_t i = 0; i < row.min_inputs; ++i)
    if (ids[i] == kNoTensor) return fail("input {} is missing; {} needs it", i, row.name);
  return {};
}

Status InferenceEngine::infer_without_rule(const Operator& op) {
  for (const TensorId id : network_.outputs(op)) {
    if (id == kNoTensor) continue;
    const Tensor& t = network_.tensor(id);
    Inferred declared;
    declared.type = t.type;
    if (t.has_shape) {
      declared.ranked = true;
      for (const Dim d : network_.dims_of(t))
        declared.shape.push_back(d.symbolic() ? bound_[static_cast<std::size_t>(d.id())] : d);
    }
    PLIMSOLL_TRY(store(id, declared));
  }
  return {};
}

Status InferenceEngine::infer(const Operator& op) {
  if (op.kind == kUnknownKind) {
    if (options_.allow_unknown_operators) return infer_without_rule(op);
    const std::string_view domain = network_.domain_of(op);
    Error error{
        is_known_domain(domain)
            ? fmt::format("unknown operator '{}' in domain '{}'", network_.type_of(op),
                          domain.empty() ? "ai.onnx" : domain)
            : fmt::format("unknown operator domain '{}' (operator '{}')", domain, network_.type_of(op))};
    error.hint =
        "--allow-unknown goes on without it: its shapes are taken from the file where it says them, "
        "and its work is listed as not counted.";
    return std::unexpected(std::move(error));
  }
  const OperatorInfo& row = network::info(op.kind);
  if (row.infer == nullptr) return infer_without_rule(op);
  PLIMSOLL_TRY(check_arity(op, row));
  if (shapes_.symbols_.size() > kMostSymbols)
    return fail("more than {} extents depend on the data", kMostSymbols);

  if (staged_.size() <= depth_) staged_.emplace_back();
  Staged& staged = staged_[depth_];
  if (staged.size() < op.outputs.count) staged.resize(op.outputs.count);
  for (std::uint32_t i = 0; i < op.outputs.count; ++i) staged[i].set = false;
  InferenceContext context(*this, op);
  ++depth_;
  Status status = row.infer(context);
  --depth_;
  PLIMSOLL_TRY(std::move(status));
  const auto outputs = network_.outputs(op);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == kNoTensor) continue;
    if (staged[i].set)
      PLIMSOLL_TRY(store(outputs[i], staged[i].inferred));
    else
      PLIMSOLL_TRY(store(outputs[i], {}));
  }
  return {};
}

Status InferenceEngine::run(const Graph& graph) {
  for (const Operator& op : graph.operators)
    if (Status status = infer(op); !status)
      return std::unexpected(std::move(status.error()).within(describe(network_, op)));
  return {};
}

Result<Shapes> infer(const Network& network, const Binding& binding, const InferOptions& options) {
  InferenceEngine engine(network, options);
  PLIMSOLL_TRY(engine.start(binding));
  PLIMSOLL_TRY(engine.run(network.main()));
  return std::move(engine).take();
}

InferenceContext::InferenceContext(InferenceEngine& engine, const Operator& op)
    : engine_(engine),
      network_(engine.network_),
      shapes_(engine.shapes_),
      op_(op),
      inputs_(engine.network_.inputs(op)),
      outputs_(engine.network_.outputs(op)),
      staged_(engine.staged_[engine.depth_]) {}

std::optional<std::vector<std::int64_t>> InferenceContext::integers(std::size_t input) const {
  if (!has_value(input)) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const Scalar& s : value(input)) {
    if (!s.is_integer()) return std::nullopt;
    out.push_back(s.integer());
  }
  return out;
}

std::int64_t InferenceContext::integer(std::string_view name, std::int64_t otherwise) const {
  const Attribute* a = attribute(name);
  return a != nullptr && a->kind == Attribute::Kind::integer ? a->integer : otherwise;
}
double InferenceContext::real(std::string_view name, double otherwise) const {
  const Attribute* a = attribute(name);
  return a != nullptr && a->kind == Attribute::Kind::real ? a->real : otherwise;
}
std::string_view InferenceContext::text(std::string_view name, std::string_view otherwise) const {
  const Attribute* a = attribute(name);
  return a != nullptr && a->kind == Attribute::Kind::text ? network().view(a->list) : otherwise;
}
std::span<const std::int64_t> InferenceContext::integers(std::string_view name) const {
  const Attribute* a = attribute(name);
  if (a == nullptr || a->kind != Attribute::Kind::integers) return {};
  return network().integers_of(*a);
}
std::optional<GraphId> InferenceContext::graph(std::string_view name) const {
  const Attribute* a = attribute(name);
  if (a == nullptr || a->kind != Attribute::Kind::graph) return std::nullopt;
  return static_cast<GraphId>(a->integer);
}

Inferred InferenceContext::tensor(TensorId id) const {
  const Shapes::Entry& e = shapes_.at(id);
  Inferred out;
  out.type = e.type;
  out.kind = e.kind;
  out.ranked = e.ranked;
  out.length = e.length;
  if (e.ranked) out.shape = Shape(shapes_.dims(id));
  if (e.has_value) {
    out.has_value = true;
    const auto values = shapes_.value(id);
    out.value.assign(values.begin(), values.end());
  }
  return out;
}
Inferred InferenceContext::copy(std::size_t input) const {
  return tensor(inputs_[input]);
}

void InferenceContext::set(std::size_t output, DataType type, const Shape& shape) {
  set_unranked(output, type);
  if (!wants(output)) return;
  staged_[output].inferred.ranked = true;
  staged_[output].inferred.shape = shape;
}
void InferenceContext::set(std::size_t output, Inferred inferred) {
  if (!wants(output)) return;
  staged_[output].set = true;
  staged_[output].inferred = std::move(inferred);
}
void InferenceContext::set_unranked(std::size_t output, DataType type) {
  if (!wants(output)) return;
  // Not by a new Inferred: the memory of `value` serves one operator after the other.
  Output& o = staged_[output];
  o.set = true;
  o.inferred.type = type;
  o.inferred.kind = ValueKind::tensor;
  o.inferred.ranked = false;
  o.inferred.has_value = false;
  o.inferred.length = Dim();
}
void InferenceContext::set_value(std::size_t output, std::span<const Scalar> values) {
  if (!wants(output) || values.size() > kMaxValueElements) return;
  staged_[output].inferred.has_value = true;
  staged_[output].inferred.value.assign(values.begin(), values.end());
}

Dim InferenceContext::unknown(std::string_view what, Interval bounds) {
  // The operator's own name is often long and always unique; a number keeps the answer readable.
  return symbols().data_dependent(fmt::format("{}_{}.{}", network().type_of(op_), ++engine_.unknowns_, what),
                                  bounds);
}

Dim InferenceContext::count(std::span<const Dim> dims) {
  Dim n = Dim::of(1);
  for (const Dim d : dims) n = symbols().times(n, d);
  return n;
}

Result<Shape> InferenceContext::broadcast(std::span<const Dim> a, std::span<const Dim> b) {
  if (a.size() < b.size()) std::swap(a, b);
  Shape out(a);
  const std::size_t shift = a.size() - b.size();
  for (std::size_t i = 0; i < b.size(); ++i) {
    const Dim x = a[shift + i], y = b[i];
    if (x == y || y.is(1)) continue;
    if (x.is(1))
      out[shift + i] = y;
    else if (x.exact() && y.exact())
      return fail("shapes {} and {} do not broadcast: {} against {}", show(a), show(b), x.value(), y.value());
    else if (x.exact())  // the unknown must be 1 or equal
      out[shift + i] = x;
    else if (y.exact())
      out[shift + i] = y;
    else
      out[shift + i] = symbols().maximum(x, y);
  }
  return out;
}

Result<std::size_t> InferenceContext::axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    return fail("axis {} is outside a shape of rank {}", axis, rank);
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::string InferenceContext::show(std::span<const Dim> dims) const {
  if (dims.empty()) return "scalar";
  std::string out;
  for (const Dim d : dims) {
    if (!out.empty()) out += 'x';
    out += shapes_.symbols_.text(d);
  }
  return out;
}

void InferenceContext::set_tensor(TensorId id, const Inferred& inferred) {
  // Bodies' inputs come from shapes that were checked when they were stored.
  (void)engine_.store(id, inferred);
}

Status InferenceContext::infer_body(GraphId id) {
  return engine_.run(network_.graph(id));
}

}  // namespace plimsoll::network
