#include <algorithm>

#include "base/printable.hpp"
#include "onnx/graph_reader.hpp"
#include "onnx/schema.hpp"
#include "onnx/wire.hpp"

// Calls of model-local functions are replaced by the function's nodes. Inner tensors are called
// "<the call's first output>/<inner name>", which is unique wherever the call's output is.

namespace plimsoll::onnx {
namespace {

using network::TensorId;

// A few functions that call each other twice make 2^n nodes of n lines ("billion laughs"): what inlining may
// add to the Network is limited. The largest exports of language models stay far below.
constexpr std::size_t kMostInlinedBytes = 96 << 20;
constexpr std::size_t kBytesPerCall = 160;  // of an operator and its tensor, whatever it holds

}  // namespace

const GraphReader::GivenAttribute* GraphReader::find_given(const Frame* frame, std::string_view name) {
  const auto found = std::ranges::find(frame->attributes, name, &GivenAttribute::name);
  return found == frame->attributes.end() ? nullptr : &*found;
}

std::size_t GraphReader::pool_bytes() const {
  const network::Network& n = builder_.peek();
  return n.text.size() + n.tensors.size() * sizeof(network::Tensor) +
         n.attributes.size() * sizeof(network::Attribute) +
         (n.integers.size() + n.reals.size() + n.dims.size()) * 8 +
         n.scalars.size() * sizeof(network::Scalar) + n.tensor_ids.size() * sizeof(TensorId) +
         n.ranges.size() * sizeof(network::Range) + weights_.size() * sizeof(WeightData) +
         n.graphs.size() * sizeof(network::Graph);
}

Status GraphReader::spend() {
  inlined_bytes_ += kBytesPerCall;
  if (inlined_bytes_ + (pool_bytes() - pools_before_call_) > kMostInlinedBytes)
    return fail("the model's functions unfold into too large a graph");
  return {};
}

Status GraphReader::inline_call(const Function& function, Node& node, Environment& env) {
  for (const Frame* f = env.frame; f != nullptr; f = f->caller)
    if (f->function == &function) return fail("function {} calls itself", quote(function.name));
  if (call_depth_ == kDeepestCall) return fail("functions call each other more than {} deep", kDeepestCall);
  if (call_depth_++ == 0) pools_before_call_ = pool_bytes();

  Frame frame{&function, env.frame, env.frame == nullptr ? "" : env.frame->prefix, {}};
  const auto first = std::ranges::find_if(node.outputs, [](std::string_view name) { return !name.empty(); });
  frame.prefix.append(first == node.outputs.end() ? node.name : *first).append("/");
  PLIMSOLL_TRY(give_attributes(function, node, env, frame));
  Scope scope;
  std::vector<TensorId> outputs;
  PLIMSOLL_TRY(bind_arguments(function, node, env, scope, outputs));
  Environment inner{&scope, &frame, env.out_of_order};
  for (const std::string_view message : function.nodes) {
    PLIMSOLL_TRY(read_node(message, inner));
    PLIMSOLL_TRY(spend());
  }
  PLIMSOLL_TRY(close(scope));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] != network::kNoTensor && state(outputs[i]) != State::made)
      return fail("function {} never makes its output {}", quote(function.name), quote(function.outputs[i]));
  if (--call_depth_ == 0) inlined_bytes_ += pool_bytes() - pools_before_call_;
  return {};
}

Status GraphReader::give_attributes(const Function& function, const Node& node, const Environment& env,
                                    Frame& frame) {
  for (const std::string_view message : node.attributes) {
    GivenAttribute given{{}, message, env};
    std::string_view reference;
    for (Fields f(message); f.next();) {
      if (f.key() == bytes_field(schema::attribute::kName)) given.name = f.bytes();
      if (f.key() == bytes_field(schema::attribute::kReference)) reference = f.bytes();
    }
    if (!reference.empty()) {
      if (env.frame == nullptr)
        return fail("attribute {} refers to a function's, but is in none", quote(given.name));
      const GivenAttribute* const outer = find_given(env.frame, reference);
      if (outer == nullptr) continue;
      given.message = outer->message;
      given.environment = outer->environment;
    }
    frame.attributes.push_back(given);
  }
  for (const Function::Default& otherwise : function.defaults)
    if (find_given(&frame, otherwise.name) == nullptr)
      frame.attributes.push_back({otherwise.name, otherwise.message, {}});
  return {};
}

Status GraphReader::bind_arguments(const Function& function, const Node& node, Environment& env, Scope& scope,
                                   std::vector<TensorId>& outputs) {
  if (node.inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size())
    return fail("has {} inputs and {} outputs; function {} has {} and {}", node.inputs.size(),
                node.outputs.size(), quote(function.name), function.inputs.size(), function.outputs.size());
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const std::uint64_t hash = hash_name(function.inputs[i]);
    if (scope.names.find(function.inputs[i], hash) != nullptr)
      return fail("function {} has two inputs {}", quote(function.name), quote(function.inputs[i]));
    scope.names.insert(function.inputs[i], hash,
                       i < node.input_ids.size() ? node.input_ids[i] : network::kNoTensor);
  }
  outputs.assign(function.outputs.size(), network::kNoTensor);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const Result<TensorId> id = make(node.outputs[i], env);
    if (!id) return std::unexpected(id.error());
    outputs[i] = *id;
    const std::uint64_t hash = hash_name(function.outputs[i]);
    if (const NameTable::Item* item = scope.names.find(function.outputs[i], hash)) {
      // An output that is an input, or named twice: only a copy can give it a name of its own.
      if (item->tensor == network::kNoTensor)
        return fail("function {} returns its input {}, which is left out", quote(function.name),
                    quote(function.outputs[i]));
      if (state(item->tensor) != State::made) *env.out_of_order = true;
      builder_.add("Identity", "", node.outputs[i], std::span(&item->tensor, 1), std::span(&*id, 1), {});
      continue;
    }
    state(*id) = State::promised;
    scope.names.insert(function.outputs[i], hash, *id);
  }
  return {};
}

}  // namespace plimsoll::onnx
