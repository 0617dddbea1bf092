#include "onnx/graph_reader.hpp"

#include <algorithm>

#include "base/printable.hpp"
#include "onnx/order.hpp"
#include "onnx/schema.hpp"
#include "onnx/wire.hpp"

namespace plimsoll::onnx {
namespace {

using network::DataType;
using network::Dim;
using network::Role;
using network::TensorId;

// Names are copied into the Network's text, whose positions have 32 bits.
constexpr std::size_t kLongestName = 1 << 16;
constexpr std::size_t kMostText = 0xf0000000;

/// The name of a TensorProto that could not be decoded, for the message.
std::string_view tensor_name(std::string_view message, bool sparse) {
  std::string_view name;
  for (Fields f(message); f.next();) {
    if (sparse && f.key() == bytes_field(schema::sparse::kValues)) return tensor_name(f.bytes(), false);
    if (!sparse && f.key() == bytes_field(schema::tensor::kName)) name = f.bytes();
  }
  return name;
}

std::span<const std::byte> as_bytes(std::string_view view) {
  return std::as_bytes(std::span(view.data(), view.size()));
}

}  // namespace

Status GraphReader::read_main(std::string_view graph) {
  return read_graph(graph, nullptr, nullptr, true);
}

std::string GraphReader::place() const {
  return node_depth_ == 0 || nodes_[node_depth_ - 1].type.empty() ? "" : describe(nodes_[node_depth_ - 1]);
}

Status GraphReader::read_graph(std::string_view message, Scope* parent, const Frame* frame, bool is_main) {
  if (graph_depth_ == kDeepestGraph) return fail("bodies are nested more than {} deep", kDeepestGraph);
  ++graph_depth_;
  Scope scope{parent};
  bool out_of_order = false;
  Environment env{&scope, frame, &out_of_order};
  const std::size_t unruled_before = unruled_;
  if (!is_main) builder_.begin_graph("");

  std::vector<std::string_view> inputs, outputs;
  std::vector<Initializer> initializers;
  std::string_view nodes;
  std::size_t node_count = 0;
  bool declares = false;
  std::string_view rest = message;
  for (Fields f(message); f.next(); rest = f.rest()) {
    switch (f.key()) {
      case bytes_field(schema::graph::kNode):
        if (node_count++ == 0) nodes = rest;
        break;
      case bytes_field(schema::graph::kName):
        if (!is_main) builder_.open_graph().name = f.bytes().substr(0, kLongestName);
        break;
      case bytes_field(schema::graph::kInitializer): initializers.push_back({f.bytes(), false}); break;
      case bytes_field(schema::graph::kSparseInitializer): initializers.push_back({f.bytes(), true}); break;
      case bytes_field(schema::graph::kInput): inputs.push_back(f.bytes()); break;
      case bytes_field(schema::graph::kOutput): outputs.push_back(f.bytes()); break;
      case bytes_field(schema::graph::kValueInfo): declares = true; break;
      default: break;
    }
  }
  builder_.reserve(node_count, initializers.size());
  scope.names.reserve(initializers.size() + inputs.size() + node_count);
  for (const Initializer& initializer : initializers) PLIMSOLL_TRY(read_initializer(initializer, env));
  for (const std::string_view input : inputs) PLIMSOLL_TRY(read_input(input, env, is_main));
  for (Fields f(nodes); node_count > 0 && f.next();) {
    if (f.key() != bytes_field(schema::graph::kNode)) continue;
    --node_count;
    PLIMSOLL_TRY(read_node(f.bytes(), env));
  }
  for (const std::string_view output : outputs) PLIMSOLL_TRY(read_output(output, env));
  PLIMSOLL_TRY(close(scope));
  if (unruled_ != unruled_before) {
    // Only where a shape cannot be inferred is it worth reading what the file says about it.
    for (const std::string_view output : outputs) PLIMSOLL_TRY(read_declared(output, env));
    if (declares)
      for (Fields f(message); f.next();)
        if (f.key() == bytes_field(schema::graph::kValueInfo)) PLIMSOLL_TRY(read_declared(f.bytes(), env));
  }
  if (out_of_order) PLIMSOLL_TRY(sort_operators(builder_.peek(), builder_.open_graph().operators));
  if (!is_main) builder_.end_graph();
  --graph_depth_;
  return {};
}

Status GraphReader::read_initializer(const Initializer& initializer, Environment& env) {
  const auto where = [&] {
    return fmt::format("initializer {}", quote(tensor_name(initializer.message, initializer.sparse)));
  };
  const Result<StoredTensor> tensor =
      initializer.sparse ? decode_sparse_tensor(initializer.message) : decode_tensor(initializer.message);
  if (!tensor) return std::unexpected(Error(tensor.error()).within(where()));
  if (tensor->name.empty()) return fail("an initializer has no name");
  const Result<TensorId> id = make(tensor->name, env);
  if (!id) return std::unexpected(Error(id.error()).within(where()));
  builder_.declare(*id, tensor->type, tensor->dims.dims());
  builder_.set_role(*id, Role::parameter);
  builder_.open_graph().weights.push_back(*id);
  remember(*id, *tensor);
  if (Status set = set_small_value(*id, *tensor); !set)
    return std::unexpected(std::move(set).error().within(where()));
  return {};
}

Status GraphReader::set_small_value(TensorId id, const StoredTensor& tensor) {
  const Result<bool> known = decode_values(tensor, scalars_);
  if (!known) return std::unexpected(known.error());
  if (*known) builder_.set_value(id, scalars_);
  return {};
}

void GraphReader::remember(TensorId id, const StoredTensor& tensor) {
  WeightData weight;
  weight.tensor = id;
  weight.storage = tensor.storage;
  weight.length = tensor.bytes;
  weight.location = tensor.location;
  weight.offset = tensor.offset;
  if (tensor.storage == Storage::raw)
    weight.bytes = as_bytes(tensor.raw);
  else if (tensor.storage != Storage::none && tensor.storage != Storage::external)
    weight.bytes = as_bytes(tensor.message);
  raw_bytes_ += static_cast<std::int64_t>(weight.bytes.size());
  weights_.push_back(weight);
}

Dim GraphReader::extent(const ValueInfo& info, std::size_t i) {
  const ValueInfo::Extent& extent = info.shape()[i];
  if (extent.has_value) return Dim::of(extent.value);
  return builder_.symbol(extent.name.empty() ? fmt::format("{}_dim_{}", info.name, i)
                                             : std::string(extent.name));
}

Status GraphReader::read_input(std::string_view message, Environment& env, bool is_main) {
  const Result<ValueInfo> info = decode_value_info(message);
  const auto where = [&] { return fmt::format("input {}", quote(decode_value_name(message))); };
  if (!info) return std::unexpected(Error(info.error()).within(where()));
  if (info->name.empty()) return fail("an input of the graph has no name");
  // Before IR 4 every initializer had to be listed among the inputs as well.
  if (const NameTable::Item* item = env.scope->names.find(info->name, hash_name(info->name));
      item != nullptr && builder_.at(item->tensor).role == Role::parameter)
    return {};
  const Result<TensorId> id = make(info->name, env);
  if (!id) return std::unexpected(Error(id.error()).within(where()));
  builder_.graph_input(*id);
  if (!is_main || !info->has_shape) {
    // What a body's inputs are follows from the operator that owns it.
    builder_.declare(*id, info->type);
  } else {
    network::Shape shape;
    for (std::size_t i = 0; i < info->rank; ++i) shape.push_back(extent(*info, i));
    builder_.declare(*id, info->type, shape.dims());
  }
  if (is_main && info->form != ValueInfo::Form::tensor)
    notes_.push_back(fmt::format("input {} is not a tensor; its shape is not known", quote(info->name)));
  return {};
}

Status GraphReader::read_output(std::string_view message, Environment& env) {
  const std::string_view name = decode_value_name(message);
  if (name.empty()) return fail("an output of the graph has no name");
  builder_.output(resolve(name, env));
  return {};
}

Status GraphReader::read_declared(std::string_view message, Environment& env) {
  const std::string_view name = decode_value_name(message);
  const NameTable::Item* const item = env.scope->names.find(name, hash_name(name));
  if (item == nullptr || item->tensor == network::kNoTensor) return {};
  const network::Tensor& tensor = builder_.at(item->tensor);
  if (tensor.role != Role::computed || tensor.type != DataType::undefined) return {};
  const Result<ValueInfo> info = decode_value_info(message);
  if (!info) return std::unexpected(Error(info.error()).within(fmt::format("tensor {}", quote(name))));
  if (info->form != ValueInfo::Form::tensor) return {};
  network::Shape shape;
  bool known = info->has_shape;
  for (std::size_t i = 0; i < info->rank && known; ++i) {
    // A name that no input declares is one that the exporter made up for something it did not know; as a
    // symbol it would ask the user for a number.
    const ValueInfo::Extent& extent = info->shape()[i];
    if (extent.has_value)
      shape.push_back(Dim::of(extent.value));
    else if (const auto symbol = builder_.find_symbol(extent.name))
      shape.push_back(*symbol);
    else
      known = false;
  }
  if (known)
    builder_.declare(item->tensor, info->type, shape.dims());
  else
    builder_.declare(item->tensor, info->type);
  return {};
}

Status GraphReader::close(Scope& scope) {
  for (Pending& pending : scope.pending) {
    if (state(pending.tensor) == State::made) continue;
    if (scope.parent == nullptr)
      return std::unexpected(
          Error{fmt::format("needs tensor {}, which nothing makes", quote(pending.name)), pending.user});
    scope.parent->names.insert(pending.name, hash_name(pending.name), pending.tensor);
    scope.parent->pending.push_back(std::move(pending));
  }
  return {};
}

TensorId GraphReader::new_tensor(std::string_view name, const Environment& env, State state) {
  if (env.frame != nullptr) {
    name_buffer_.assign(env.frame->prefix).append(name);
    name = name_buffer_;
  }
  states_.push_back(state);
  return builder_.tensor(name);
}

Result<TensorId> GraphReader::make(std::string_view name, Environment& env) {
  const std::uint64_t hash = hash_name(name);
  if (const NameTable::Item* item = env.scope->names.find(name, hash)) {
    if (item->tensor == network::kNoTensor || state(item->tensor) == State::made)
      return fail("tensor {} is made twice", quote(name));
    if (state(item->tensor) == State::pending) *env.out_of_order = true;
    state(item->tensor) = State::made;
    return item->tensor;
  }
  if (name.size() > kLongestName) return fail("has a name of {} bytes", name.size());
  if (builder_.peek().text.size() > kMostText) return fail("the graph's names take more than 4 GB");
  const TensorId id = new_tensor(name, env, State::made);
  env.scope->names.insert(name, hash, id);
  return id;
}

TensorId GraphReader::resolve(std::string_view name, Environment& env) {
  if (name.empty()) return network::kNoTensor;
  const std::uint64_t hash = hash_name(name);
  for (Scope* scope = env.scope; scope != nullptr; scope = scope->parent)
    if (const NameTable::Item* item = scope->names.find(name, hash)) {
      if (item->tensor != network::kNoTensor && state(item->tensor) == State::promised)
        state(item->tensor) = State::pending;
      return item->tensor;
    }
  const TensorId id = new_tensor(name.substr(0, kLongestName), env, State::pending);
  env.scope->names.insert(name, hash, id);
  env.scope->pending.push_back({name, id, node_depth_ == 0 ? "graph output" : place()});
  return id;
}

}  // namespace plimsoll::onnx
