#include "onnx/graph_writer.hpp"

#include <algorithm>

#include "base/printable.hpp"
#include "network/operators.hpp"
#include "onnx/elements.hpp"
#include "onnx/schema.hpp"

namespace plimsoll::onnx {
namespace {

using network::Attribute;
using network::DataType;
using network::Dim;
using network::Operator;
using network::Role;
using network::Tensor;
using network::TensorId;
using protozero::pbf_writer;
bool has_rule(const Operator& op) {
  return op.kind != network::kUnknownKind && network::info(op.kind).infer != nullptr;
}

void add_text(pbf_writer& out, std::uint32_t number, std::string_view text) {
  out.add_string(number, text.data(), text.size());
}

std::int64_t stored_bytes(const network::Network& network, const Tensor& t) {
  std::int64_t elements = 1;
  for (const Dim d : network.dims_of(t))
    if (!d.exact() || __builtin_mul_overflow(elements, d.value(), &elements)) return 0;
  return network::packed_bytes(t.type, elements).value_or(0);
}

void add_entry(pbf_writer& out, std::uint32_t number, std::string_view key, std::string_view value) {
  pbf_writer entry(out, number);
  add_text(entry, schema::entry::kKey, key);
  add_text(entry, schema::entry::kValue, value);
}

}  // namespace

GraphWriter::GraphWriter(const network::Network& network, const WeightSource& weights,
                         std::string_view data_location, const ExternalWeights* external)
    : network_(network),
      weights_(weights),
      data_location_(data_location),
      external_(external),
      names_(network) {
  infer_outputs();
}

void GraphWriter::infer_outputs() {
  for (const network::Graph& graph : network_.graphs)
    if (!std::ranges::all_of(graph.operators, has_rule)) return;
  // With no symbol bound, declared extents stay names. A graph whose shapes contradict each other is written
  // all the same, only without its outputs' types.
  if (Result<network::Shapes> shapes = network::infer(network_, {})) inferred_ = std::move(*shapes);
}

Result<std::string> GraphWriter::main_graph() {
  std::string out;
  pbf_writer writer(out);
  PLIMSOLL_TRY(write_graph(network_.main(), network_.name, true, writer));
  return out;
}

std::vector<PendingTensor> GraphWriter::initializers() {
  std::vector<PendingTensor> out;
  out.reserve(network_.main().weights.size());
  for (const TensorId id : network_.main().weights) out.push_back(begin_tensor(id, names_.of(id)));
  return out;
}

Status GraphWriter::write_graph(const network::Graph& graph, std::string_view name, bool is_main,
                                pbf_writer& out) {
  for (const Operator& op : graph.operators) {
    pbf_writer node(out, schema::graph::kNode);
    PLIMSOLL_TRY(write_node(op, node));
  }
  add_text(out, schema::graph::kName, name);
  if (!is_main)
    for (const TensorId id : graph.weights) {
      const Result<std::string> tensor = whole_tensor(id);
      if (!tensor) return std::unexpected(tensor.error());
      out.add_message(schema::graph::kInitializer, *tensor);
    }
  for (const TensorId id : graph.inputs) {
    pbf_writer value(out, schema::graph::kInput);
    write_value(id, value);
  }
  for (const TensorId id : graph.outputs) {
    pbf_writer value(out, schema::graph::kOutput);
    if (is_main && inferred_ && id != network::kNoTensor) {
      add_text(value, schema::value_info::kName, names_.of(id));
      pbf_writer type(value, schema::value_info::kType);
      write_type(inferred_->type(id), inferred_->ranked(id),
                 inferred_->ranked(id) ? inferred_->dims(id) : std::span<const Dim>(), inferred_->symbols(),
                 type);
    } else {
      write_value(id, value);
    }
  }
  for (const Operator& op : graph.operators)
    for (const TensorId id : network_.outputs(op)) {
      if (id == network::kNoTensor) continue;
      const Tensor& t = network_.tensor(id);
      if (t.type == DataType::undefined && !t.has_shape) continue;
      pbf_writer value(out, schema::graph::kValueInfo);
      write_value(id, value);
    }
  return {};
}

Status GraphWriter::write_node(const Operator& op, pbf_writer& out) {
  for (const TensorId id : network_.inputs(op)) add_text(out, schema::node::kInput, names_.of(id));
  for (const TensorId id : network_.outputs(op)) add_text(out, schema::node::kOutput, names_.of(id));
  if (op.name.count > 0) add_text(out, schema::node::kName, network_.name_of(op));
  add_text(out, schema::node::kType, network_.type_of(op));
  for (const Attribute& a : network_.attributes_of(op)) {
    pbf_writer attribute(out, schema::node::kAttribute);
    if (Status status = write_attribute(a, attribute); !status)
      return std::unexpected(std::move(status).error().within(network::describe(network_, op)));
  }
  if (op.domain.count > 0) add_text(out, schema::node::kDomain, network_.domain_of(op));
  const auto set = std::ranges::find(network_.opsets, network_.domain_of(op), &network::Opset::domain);
  if (op.opset != (set == network_.opsets.end() ? 1 : set->version))
    add_entry(out, schema::node::kMetadata, schema::kOpsetKey, fmt::format("{}", op.opset));
  return {};
}

Status GraphWriter::write_attribute(const Attribute& a, pbf_writer& out) {
  add_text(out, schema::attribute::kName, network_.view(a.name));
  switch (a.kind) {
    case Attribute::Kind::integer:
      out.add_int64(schema::attribute::kInteger, a.integer);
      out.add_enum(schema::attribute::kType, schema::attribute::integer);
      break;
    case Attribute::Kind::real:
      out.add_float(schema::attribute::kReal, static_cast<float>(a.real));
      out.add_enum(schema::attribute::kType, schema::attribute::real);
      break;
    case Attribute::Kind::text:
      add_text(out, schema::attribute::kText, network_.view(a.list));
      out.add_enum(schema::attribute::kType, schema::attribute::text);
      break;
    case Attribute::Kind::integers: {
      const auto list = network_.integers_of(a);
      out.add_packed_int64(schema::attribute::kIntegers, list.begin(), list.end());
      out.add_enum(schema::attribute::kType, schema::attribute::integers);
      break;
    }
    case Attribute::Kind::reals: {
      std::vector<float> list;
      for (const double x : network_.reals_of(a)) list.push_back(static_cast<float>(x));
      out.add_packed_float(schema::attribute::kReals, list.begin(), list.end());
      out.add_enum(schema::attribute::kType, schema::attribute::reals);
      break;
    }
    case Attribute::Kind::texts:
      for (std::uint32_t i = 0; i < a.list.count; ++i)
        add_text(out, schema::attribute::kTexts, network_.view(network_.ranges[a.list.begin + i]));
      out.add_enum(schema::attribute::kType, schema::attribute::texts);
      break;
    case Attribute::Kind::tensor: {
      const Result<std::string> tensor = whole_tensor(static_cast<TensorId>(a.integer));
      if (!tensor) return std::unexpected(tensor.error());
      out.add_message(schema::attribute::kTensor, *tensor);
      out.add_enum(schema::attribute::kType, schema::attribute::tensor);
      break;
    }
    case Attribute::Kind::graph: {
      pbf_writer graph(out, schema::attribute::kGraph);
      const network::Graph& body = network_.graph(static_cast<network::GraphId>(a.integer));
      PLIMSOLL_TRY(write_graph(body, body.name, false, graph));
      graph.commit();
      out.add_enum(schema::attribute::kType, schema::attribute::graph);
      break;
    }
    case Attribute::Kind::other: break;
  }
  return {};
}

PendingTensor GraphWriter::begin_tensor(TensorId id, std::string_view name) {
  const Tensor& t = network_.tensor(id);
  PendingTensor out;
  out.tensor = id;
  pbf_writer writer(out.message);
  std::vector<std::int64_t> dims;
  for (const Dim d : network_.dims_of(t)) dims.push_back(d.exact() ? d.value() : 0);
  writer.add_packed_int64(schema::tensor::kDims, dims.begin(), dims.end());
  writer.add_int32(schema::tensor::kType, static_cast<std::int32_t>(t.type));
  add_text(writer, schema::tensor::kName, name);
  const std::int64_t bytes = stored_bytes(network_, t);
  if (external_ != nullptr && external_->offsets.contains(id) && bytes > 0) {
    point_to(external_->location, external_->offsets.at(id), bytes, writer);
  } else if (weights_ && bytes > 0) {
    out.raw_bytes = bytes;
  } else if (t.has_value) {
    writer.add_bytes(schema::tensor::kRaw, encode_raw(t.type, network_.value_of(t)));
  } else if (bytes > 0) {
    point_to(data_location_, data_offset_, bytes, writer);
    if (__builtin_add_overflow(data_offset_, bytes, &data_offset_)) data_offset_ = 0;
  }
  return out;
}

void GraphWriter::point_to(std::string_view location, std::int64_t offset, std::int64_t bytes,
                           pbf_writer& out) {
  add_entry(out, schema::tensor::kExternal, "location", location);
  add_entry(out, schema::tensor::kExternal, "offset", fmt::format("{}", offset));
  add_entry(out, schema::tensor::kExternal, "length", fmt::format("{}", bytes));
  out.add_enum(schema::tensor::kLocation, 1);
}

Result<std::string> GraphWriter::whole_tensor(TensorId id) {
  PendingTensor tensor = begin_tensor(id, network_.name_of(id));
  if (tensor.raw_bytes == 0) return std::move(tensor.message);
  const Result<WeightBytes> bytes = weights_(id);
  if (!bytes) return std::unexpected(bytes.error());
  if (std::ssize(bytes->view) != tensor.raw_bytes)
    return fail("tensor {} has {} bytes; its type and dimensions need {}", quote(network_.name_of(id)),
                bytes->view.size(), tensor.raw_bytes);
  pbf_writer writer(tensor.message);
  writer.add_bytes(schema::tensor::kRaw, reinterpret_cast<const char*>(bytes->view.data()),
                   bytes->view.size());
  return std::move(tensor.message);
}

void GraphWriter::write_value(TensorId id, pbf_writer& out) const {
  add_text(out, schema::value_info::kName, names_.of(id));
  if (id == network::kNoTensor) return;
  const Tensor& t = network_.tensor(id);
  if (t.role != Role::input && t.type == DataType::undefined && !t.has_shape) return;
  pbf_writer type(out, schema::value_info::kType);
  write_type(t.type, t.has_shape, network_.dims_of(t), network_.symbols, type);
}

void GraphWriter::write_type(DataType type, bool has_shape, std::span<const Dim> dims,
                             const network::Symbols& symbols, pbf_writer& out) const {
  pbf_writer tensor(out, schema::type::kTensor);
  tensor.add_int32(schema::type::kElement, static_cast<std::int32_t>(type));
  if (!has_shape) return;
  std::string shape;
  pbf_writer writer(shape);
  for (const Dim d : dims) {
    pbf_writer dim(writer, schema::type::kDim);
    if (d.exact())
      dim.add_int64(schema::type::kDimValue, d.value());
    else if (d.symbolic() && symbols.at(d.id()).origin == network::Symbol::Origin::declared)
      add_text(dim, schema::type::kDimName, symbols.at(d.id()).name);
  }
  // A shape of rank 0 is there, though it is empty; a nested writer would leave it out.
  tensor.add_message(schema::type::kShape, shape);
}

}  // namespace plimsoll::onnx
