#include <algorithm>
#include <charconv>

#include "base/printable.hpp"
#include "network/operators.hpp"
#include "onnx/graph_reader.hpp"
#include "onnx/schema.hpp"
#include "onnx/wire.hpp"

namespace plimsoll::onnx {
namespace {

using network::Attribute;
using network::AttributeValue;
using network::TensorId;
// Longer texts are not settings but blobs (a compiled engine, a vocabulary); they are not copied.
constexpr std::size_t kLongestText = 1 << 16;

}  // namespace

std::string GraphReader::describe(const Node& node) {
  if (!node.name.empty()) return fmt::format("{} {}", node.type, quote(node.name));
  for (const std::string_view out : node.outputs)
    if (!out.empty()) return fmt::format("{} that makes {}", node.type, quote(out));
  return std::string(node.type);
}

std::optional<std::uint16_t> GraphReader::decode_opset(std::string_view entry) {
  std::string_view key, value;
  for (Fields f(entry); f.next();) {
    if (f.key() == bytes_field(schema::entry::kKey)) key = f.bytes();
    if (f.key() == bytes_field(schema::entry::kValue)) value = f.bytes();
  }
  std::uint16_t version = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), version);
  if (key != schema::kOpsetKey || error != std::errc{} || end != value.data() + value.size())
    return std::nullopt;
  return version;
}

Status GraphReader::decode_node(std::string_view message, Node& node) {
  node.type = node.domain = node.name = node.overload = {};
  node.opset.reset();
  node.inputs.clear();
  node.outputs.clear();
  node.attributes.clear();
  for (Fields f(message); f.next();) {
    switch (f.key()) {
      case bytes_field(schema::node::kInput): node.inputs.push_back(f.bytes()); break;
      case bytes_field(schema::node::kOutput): node.outputs.push_back(f.bytes()); break;
      case bytes_field(schema::node::kName): node.name = f.bytes(); break;
      case bytes_field(schema::node::kType): node.type = f.bytes(); break;
      case bytes_field(schema::node::kAttribute): node.attributes.push_back(f.bytes()); break;
      case bytes_field(schema::node::kDomain): node.domain = plain_domain(f.bytes()); break;
      case bytes_field(schema::node::kOverload): node.overload = f.bytes(); break;
      case bytes_field(schema::node::kMetadata):
        if (is_own_) node.opset = decode_opset(f.bytes());
        break;
      default: break;
    }
  }
  if (node.type.empty()) {
    node.type = "node";
    const std::string where = describe(node);
    return std::unexpected(Error{"has no operator type", where});
  }
  if (node.type.size() > kLongestText || node.name.size() > kLongestText || node.domain.size() > kLongestText)
    return fail("a node's name or type is longer than {} bytes", kLongestText);
  return {};
}

Status GraphReader::read_node(std::string_view message, Environment& env) {
  if (nodes_.size() == node_depth_) nodes_.emplace_back();
  Node& node = nodes_[node_depth_++];
  PLIMSOLL_TRY(decode_node(message, node));
  node.input_ids.clear();
  for (const std::string_view name : node.inputs) node.input_ids.push_back(resolve(name, env));
  const Function* const function = functions_.find(node.domain, node.type, node.overload);
  if (Status status = function != nullptr ? inline_call(*function, node, env) : add_operator(node, env);
      !status)
    return std::unexpected(std::move(status).error().within(describe(node)));
  --node_depth_;
  return {};
}

Status GraphReader::add_operator(Node& node, Environment& env) {
  node.read.clear();
  for (const std::string_view message : node.attributes)
    PLIMSOLL_TRY(read_attribute(message, node, env, false, {}));
  // Only now, so that a body that needs its own operator's result is found to be a cycle.
  node.output_ids.clear();
  for (const std::string_view name : node.outputs) {
    if (name.empty()) {
      node.output_ids.push_back(network::kNoTensor);
      continue;
    }
    const Result<TensorId> id = make(name, env);
    if (!id) return std::unexpected(id.error());
    node.output_ids.push_back(*id);
  }
  std::string_view name = node.name;
  if (env.frame != nullptr && !name.empty()) {
    name_buffer_.assign(env.frame->prefix).append(name);
    name = name_buffer_;
  }
  network::Operator& op =
      builder_.add_stored(node.type, node.domain, name, node.input_ids, node.output_ids, node.read);
  if (env.frame != nullptr) {
    const auto& imports = env.frame->function->imports;
    const auto import = std::ranges::find(imports, node.domain, &Function::Import::domain);
    if (import != imports.end())
      op.opset = static_cast<std::uint16_t>(std::clamp<std::int64_t>(import->version, 0, 0xffff));
  }
  if (node.opset) op.opset = *node.opset;
  if (op.kind == network::kUnknownKind || network::info(op.kind).infer == nullptr) ++unruled_;
  return {};
}

Status GraphReader::read_attribute(std::string_view message, Node& node, Environment& env, bool substituted,
                                   std::string_view name) {
  AttributeValue a("", std::int64_t{0});
  std::int64_t type = schema::attribute::undefined;
  std::int64_t guess = schema::attribute::undefined;  // before IR 2 attributes did not say their type
  std::string_view tensor, sparse, graph, reference;
  node.integers.clear();
  node.reals.clear();
  node.texts.clear();
  for (Fields f(message); f.next();) {
    switch (f.key()) {
      case bytes_field(schema::attribute::kName): a.name = f.bytes(); break;
      case fixed32_field(schema::attribute::kReal):
        a.real = static_cast<double>(f.real());
        guess = schema::attribute::real;
        break;
      case varint_field(schema::attribute::kInteger):
        a.integer = f.integer();
        guess = schema::attribute::integer;
        break;
      case bytes_field(schema::attribute::kText):
        a.text = f.bytes();
        guess = schema::attribute::text;
        break;
      case bytes_field(schema::attribute::kTensor):
        tensor = f.bytes();
        guess = schema::attribute::tensor;
        break;
      case bytes_field(schema::attribute::kGraph):
        graph = f.bytes();
        guess = schema::attribute::graph;
        break;
      case fixed32_field(schema::attribute::kReals):
        node.reals.push_back(static_cast<double>(f.real()));
        guess = schema::attribute::reals;
        break;
      case bytes_field(schema::attribute::kReals):
        each_packed_fixed<float>(f.bytes(), [&](float x) { node.reals.push_back(static_cast<double>(x)); });
        guess = schema::attribute::reals;
        break;
      case varint_field(schema::attribute::kIntegers):
        node.integers.push_back(f.integer());
        guess = schema::attribute::integers;
        break;
      case bytes_field(schema::attribute::kIntegers):
        each_packed_varint(f.bytes(), [&](std::int64_t n) { node.integers.push_back(n); });
        guess = schema::attribute::integers;
        break;
      case bytes_field(schema::attribute::kTexts):
        node.texts.push_back(f.bytes().substr(0, kLongestText));
        guess = schema::attribute::texts;
        break;
      case varint_field(schema::attribute::kType): type = f.integer(); break;
      case bytes_field(schema::attribute::kReference): reference = f.bytes(); break;
      case bytes_field(schema::attribute::kSparseTensor):
        sparse = f.bytes();
        guess = schema::attribute::sparse_tensor;
        break;
      default: break;
    }
  }
  if (!reference.empty() && !substituted) {
    if (env.frame == nullptr)
      return fail("attribute {} refers to a function's, but is in none", quote(a.name));
    const GivenAttribute* const given = find_given(env.frame, reference);
    if (given == nullptr) return {};  // left out by the caller and without a default: as if it were not there
    Environment theirs = given->environment;
    if (theirs.scope == nullptr) theirs = env;
    theirs.out_of_order = env.out_of_order;
    return read_attribute(given->message, node, theirs, true, a.name);
  }
  if (substituted) a.name = name;
  if (a.name.size() > kLongestText) return fail("an attribute's name is longer than {} bytes", kLongestText);
  switch (type == schema::attribute::undefined ? guess : type) {
    case schema::attribute::real: a.kind = Attribute::Kind::real; break;
    case schema::attribute::integer: a.kind = Attribute::Kind::integer; break;
    case schema::attribute::text:
      a.kind = a.text.size() > kLongestText ? Attribute::Kind::other : Attribute::Kind::text;
      break;
    case schema::attribute::reals:
      a.kind = Attribute::Kind::reals;
      a.reals = node.reals;
      break;
    case schema::attribute::integers:
      a.kind = Attribute::Kind::integers;
      a.integers = node.integers;
      break;
    case schema::attribute::texts:
      a.kind = Attribute::Kind::texts;
      a.texts = node.texts;
      break;
    case schema::attribute::tensor:
    case schema::attribute::sparse_tensor: {
      const bool is_sparse = !sparse.empty();
      const Result<TensorId> id = read_attribute_tensor(is_sparse ? sparse : tensor, is_sparse, node, env);
      if (!id) return std::unexpected(Error(id.error()).within(fmt::format("attribute {}", quote(a.name))));
      a.kind = Attribute::Kind::tensor;
      a.integer = static_cast<std::int64_t>(*id);
      break;
    }
    case schema::attribute::graph: {
      const auto id = static_cast<std::int64_t>(builder_.peek().graphs.size());
      PLIMSOLL_TRY(read_graph(graph, env.scope, env.frame, false));
      a.kind = Attribute::Kind::graph;
      a.integer = id;
      break;
    }
    default: a.kind = Attribute::Kind::other; break;
  }
  node.read.push_back(builder_.attribute(a));
  return {};
}

Result<TensorId> GraphReader::read_attribute_tensor(std::string_view message, bool sparse, const Node& node,
                                                    Environment& env) {
  const Result<StoredTensor> tensor = sparse ? decode_sparse_tensor(message) : decode_tensor(message);
  if (!tensor) return std::unexpected(tensor.error());
  // Its own name where it has one; else that of the result, which is what people know it by.
  std::string_view name = tensor->name;
  if (name.empty() && !node.outputs.empty()) name = node.outputs.front();
  const TensorId id = new_tensor(name.substr(0, kLongestText), env, State::made);
  builder_.declare(id, tensor->type, tensor->dims.dims());
  builder_.set_role(id, network::Role::buffer);
  remember(id, *tensor);
  PLIMSOLL_TRY(set_small_value(id, *tensor));
  return id;
}

}  // namespace plimsoll::onnx
