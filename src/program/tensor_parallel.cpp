#include "program/tensor_parallel.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "network/causal.hpp"
#include "network/fusion.hpp"
#include "network/saturating.hpp"

namespace plimsoll::program {
namespace {

using hardware::OperatorCase;
using hardware::OperatorClass;
using network::divided;
using network::Fusion;
using network::kNoTensor;
using network::Operator;
using network::TensorId;

/// What is known of a tensor: made of constants and inputs alone, of weights alone, or an activation that all
/// devices have, or of which each has a part.
enum class Share : std::uint8_t { constant, weight, whole, part };

constexpr std::size_t kImageRank = 4;  // batch, heads, tokens, width: its channels are not divided

std::size_t index_of(TensorId id) {
  return static_cast<std::size_t>(id);
}

class Division {
 public:
  Division(const network::Network& network, const network::Shapes& shapes)
      : network_(network), shapes_(shapes), share_(network.tensors.size(), Share::constant) {
    out_.divided.assign(network.tensors.size(), false);
    out_.weight.assign(network.tensors.size(), false);
    out_.roles.assign(network.main().operators.size(), ProductRole::none);
    summed_.assign(network.tensors.size(), false);
    source_.assign(network.tensors.size(), kNoTensor);
    producer_.assign(network.tensors.size(), kNobody);
    for (std::uint32_t i = 0; i < network.main().operators.size(); ++i)
      for (const TensorId id : network.outputs(network.main().operators[i]))
        if (id != kNoTensor) producer_[index_of(id)] = i;
    for (const TensorId id : network.main().weights)
      if (network.tensor(id).role == network::Role::parameter) {
        share_[index_of(id)] = Share::weight;
        source_[index_of(id)] = id;
      }
  }

  LayerDivision run() {
    const std::vector<Fusion> fusions = network::recognise(network_, shapes_);
    const auto& operators = network_.main().operators;
    for (const Operator& op : operators) find_vocabulary(op);
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const Operator& op = operators[i];
      const Share result = walk(i, op);
      for (const TensorId id : network_.outputs(op)) {
        if (id == kNoTensor) continue;
        share_[index_of(id)] = result;
        out_.divided[index_of(id)] = result == Share::part;
      }
      // The kernel is known by the last operator of what it fuses.
      if (fusions[i].kind == Fusion::Kind::linear) out_.roles[i] = role_of(fusions[i].inputs[0]);
      if (fusions[i].kind == Fusion::Kind::attention) note_heads_of_keys(fusions[i]);
    }
    for (const TensorId id : network_.main().outputs)
      if (of(id) == Share::part) out_.output_elements = network::sum(out_.output_elements, elements(id));
    return std::move(out_);
  }

 private:
  [[nodiscard]] Share of(TensorId id) const {
    return id == kNoTensor ? Share::constant : share_[index_of(id)];
  }
  [[nodiscard]] ProductRole role_of(TensorId x) const {
    return of(x) == Share::part ? ProductRole::row : ProductRole::column;
  }
  [[nodiscard]] std::size_t rank(TensorId id) const {
    return shapes_.ranked(id) ? shapes_.dims(id).size() : 0;
  }
  [[nodiscard]] std::int64_t extent(TensorId id, std::size_t axis) const {
    return shapes_.symbols().bounds(shapes_.dims(id)[axis]).high;
  }
  [[nodiscard]] std::int64_t elements(TensorId id) const {
    std::int64_t n = 1;
    for (std::size_t i = 0; i < rank(id); ++i) n = network::product(n, extent(id, i));
    return n;
  }

  /// The largest table that rows are picked from: words. Tables of positions and kinds stay whole.
  void find_vocabulary(const Operator& op) {
    if (network_.type_of(op) != "Gather" || network_.inputs(op).empty()) return;
    const TensorId table = network_.inputs(op)[0];
    if (of(table) != Share::weight || rank(table) != 2) return;
    if (vocabulary_ == kNoTensor || elements(table) > elements(vocabulary_)) vocabulary_ = table;
  }

  void sum_forward(TensorId id) {
    out_.forward_elements = network::sum(out_.forward_elements, elements(id));
    ++out_.sums;
  }
  /// The gradients that the devices have of a whole input are parts of a sum: once, however many read it.
  void sum_backward(TensorId id) {
    if (summed_[index_of(id)]) return;
    summed_[index_of(id)] = true;
    out_.backward_elements = network::sum(out_.backward_elements, elements(id));
  }
  void divide_weight(TensorId id) {
    if (source_[index_of(id)] != kNoTensor) out_.weight[index_of(source_[index_of(id)])] = true;
  }

  Share walk(std::size_t i, const Operator& op) {
    const auto inputs = network_.inputs(op);
    const std::string_view type = network_.type_of(op);
    const TensorId result = network_.outputs(op).empty() ? kNoTensor : network_.outputs(op)[0];
    const bool product = type == "MatMul" || type == "Gemm";
    if (product && inputs.size() >= 2 && of(inputs[1]) == Share::weight && of(inputs[0]) != Share::weight &&
        result != kNoTensor) {
      divide_weight(inputs[1]);
      const ProductRole role = out_.roles[i] = role_of(inputs[0]);
      if (role == ProductRole::row) {
        sum_forward(result);
        return Share::whole;
      }
      if (type == "Gemm" && inputs.size() > 2 && inputs[2] != kNoTensor) divide_weight(inputs[2]);
      sum_backward(inputs[0]);
      return Share::part;
    }
    if (type == "MoE" && inputs.size() > 4 && result != kNoTensor && of(inputs[0]) == Share::whole) {
      // Each expert's hidden width is divided; the chosen are the same on all devices.
      for (const std::size_t weight : {2U, 4U, 6U})
        if (weight < inputs.size() && of(inputs[weight]) == Share::weight) divide_weight(inputs[weight]);
      out_.roles[i] = ProductRole::column;
      sum_forward(result);
      sum_backward(inputs[0]);
      return Share::whole;
    }
    if (type == "Gather" && !inputs.empty() && of(inputs[0]) == Share::weight) {
      if (inputs[0] == vocabulary_ && result != kNoTensor) {
        divide_weight(inputs[0]);
        sum_forward(result);
      }
      return Share::whole;
    }
    bool any_whole = false, any_part = false, any_weight = false;
    for (const TensorId id : inputs) {
      any_whole |= of(id) == Share::whole;
      any_part |= of(id) == Share::part;
      any_weight |= of(id) == Share::weight;
    }
    if (type == "Softmax" && !inputs.empty()) note_heads(inputs[0]);
    for (std::size_t k = 0; type == "Attention" && k < inputs.size() && k < 3; ++k) note_heads(inputs[k]);
    if (any_part) {
      if (!any_whole && !mixes(type, inputs)) return Share::part;
      // Parts meet what is whole: all devices fetch all of them first.
      for (const TensorId id : inputs)
        if (of(id) == Share::part) sum_forward(id);
      return Share::whole;
    }
    if (any_whole) return Share::whole;
    if (type == "Conv" || type == "ConvTranspose") return Share::whole;
    if (!any_weight) return Share::constant;
    if (result != kNoTensor)
      for (const TensorId id : inputs)
        if (of(id) == Share::weight) source_[index_of(result)] = source_[index_of(id)];
    return Share::weight;
  }

  /// Of scores, queries, keys or values: batch, heads, tokens, width; or batch, heads, 1, … to be repeated.
  void note_heads(TensorId id) {
    if (id == kNoTensor || rank(id) < kImageRank || of(id) != Share::part) return;
    out_.heads = std::gcd(out_.heads, extent(id, 1));
  }
  /// Grouped queries share keys and values, which have fewer heads before they are repeated.
  void note_heads_of_keys(const Fusion& attention) {
    const auto producer = [this](TensorId made) { return producer_of(made); };
    for (const TensorId id : {attention.inputs[1], attention.inputs[2]})
      if (id != kNoTensor) note_heads(network::before_repetition(network_, shapes_, id, producer));
  }
  [[nodiscard]] const Operator* producer_of(TensorId id) const {
    const std::uint32_t at = producer_[index_of(id)];
    return at == kNobody ? nullptr : &network_.main().operators[at];
  }

  /// Works across the channels, of which each device would have a part: not where those are within a head.
  [[nodiscard]] bool mixes(std::string_view type, std::span<const TensorId> inputs) const {
    static constexpr std::array<std::string_view, 13> kMixing = {"BatchNormalization",
                                                                 "Conv",
                                                                 "ConvTranspose",
                                                                 "GroupNormalization",
                                                                 "GlobalAveragePool",
                                                                 "InstanceNormalization",
                                                                 "LayerNormalization",
                                                                 "LpNormalization",
                                                                 "RMSNormalization",
                                                                 "ReduceMean",
                                                                 "ReduceSum",
                                                                 "Softmax",
                                                                 "TopK"};
    if (std::ranges::find(kMixing, type) == kMixing.end()) return false;
    return inputs.empty() || rank(inputs[0]) < kImageRank || type == "Conv" || type == "ConvTranspose";
  }

  const network::Network& network_;
  const network::Shapes& shapes_;
  std::vector<Share> share_;
  std::vector<TensorId> source_;  ///< by tensor made of weights alone: the weight
  static constexpr std::uint32_t kNobody = 0xffffffff;
  std::vector<std::uint32_t> producer_;  ///< by tensor: the operator
  std::vector<bool> summed_;
  TensorId vocabulary_ = kNoTensor;
  LayerDivision out_;
};

/// Of kernels that go over elements or rows: the first extent that can be divided.
void divide_rows(OperatorCase& c, std::int64_t parts) {
  const std::size_t count = hardware::extent_count(c.operator_class);
  for (std::size_t i = 0; i < count; ++i)
    if (c.extents[i] >= parts && c.extents[i] % parts == 0) {
      c.extents[i] /= parts;
      return;
    }
  if (c.extents[0] > 0) c.extents[0] = divided(c.extents[0], parts);
}

/// The part of a product that one device computes.
void divide_product(OperatorCase& c, ProductRole role, std::int64_t parts) {
  if (c.operator_class == OperatorClass::matrix) {
    std::int64_t& extent = c.extents[role == ProductRole::column ? 1 : 2];
    extent = divided(extent, parts);
  } else if (c.operator_class == OperatorClass::column_sum) {
    if (role == ProductRole::column) c.extents[1] = divided(c.extents[1], parts);
  } else if (c.operator_class == OperatorClass::batched) {
    // Features are divided whichever of the products it is: the widest of its extents.
    auto* widest = std::max_element(c.extents.begin() + 1, c.extents.begin() + 4);
    *widest = divided(*widest, parts);
  } else if (c.operator_class == OperatorClass::counted) {
    // What it reads is nearly all weights, its multiply-adds stand last; the sums of rows are written whole.
    for (const std::size_t i : {1U, 3U}) c.extents[i] = divided(c.extents[i], parts);
    if (role == ProductRole::column) c.extents[2] = divided(c.extents[2], parts);
  }
}

void divide_kernel(OperatorCase& c, std::int64_t parts) {
  if (c.operator_class == OperatorClass::attention)
    c.extents[1] = divided(c.extents[1], parts);
  else if (c.operator_class == OperatorClass::grouped_attention)
    for (const std::size_t i : {hardware::grouped::heads, hardware::grouped::key_heads})
      c.extents[i] = divided(c.extents[i], parts);
  else
    divide_rows(c, parts);
}

bool is_product_like(const OperatorCase& c) {
  return c.operator_class == OperatorClass::matrix || c.operator_class == OperatorClass::batched ||
         c.operator_class == OperatorClass::column_sum || is_stored_product(c);
}

}  // namespace

LayerDivision divide_layers(const network::Network& network, const network::Shapes& shapes) {
  return Division(network, shapes).run();
}

Program tensor_part(const Program& whole, const LayerDivision& division, std::int64_t parts) {
  Program p = whole;
  if (parts <= 1) return p;
  // A storage without a tensor of its own goes with the call that makes it.
  std::vector<bool> split(p.storages.size(), false);
  const auto by_tensor = [&](const Storage& s) {
    if (s.tensor == kNoTensor) return false;
    return s.purpose == Purpose::weight ? division.weight[index_of(s.tensor)]
                                        : division.divided[index_of(s.tensor)];
  };
  for (std::size_t i = 0; i < split.size(); ++i) split[i] = by_tensor(p.storages[i]);
  for (const WeightCopy& c : p.weight_copies)
    split[static_cast<std::size_t>(c.copy)] = split[static_cast<std::size_t>(c.weight)];
  for (const Call& call : p.calls) {
    bool part = false;
    for (const ValueId id : p.ids(call.results)) part |= split[static_cast<std::size_t>(p.value(id).storage)];
    for (const Action& action : p.slice(call.forward)) {
      if (action.kind != ActionKind::output) continue;
      const auto storage = static_cast<std::size_t>(p.value(action.value).storage);
      if (p.storages[storage].tensor == kNoTensor) split[storage] = part;
    }
  }
  for (std::size_t i = 0; i < split.size(); ++i)
    if (split[i]) p.storages[i].bytes = divided(p.storages[i].bytes, parts);
  for (Value& v : p.values)
    if (split[static_cast<std::size_t>(v.storage)]) v.elements = divided(v.elements, parts);
  for (Action& action : p.actions)
    if (action.value != kNoValue &&
        (action.kind == ActionKind::gradient || action.kind == ActionKind::output))
      action.bytes = p.value(action.value).bytes();
  for (const Call& call : p.calls) {
    const ProductRole role = call.op < division.roles.size() ? division.roles[call.op] : ProductRole::none;
    bool part = false;
    for (const ValueId id : p.ids(call.results)) part |= split[static_cast<std::size_t>(p.value(id).storage)];
    for (const network::Range range : {call.kernels, call.backward_kernels})
      for (OperatorCase& c : std::span(p.kernels).subspan(range.begin, range.count)) {
        if (role != ProductRole::none && is_product_like(c))
          divide_product(c, role, parts);
        else if (part)
          divide_kernel(c, parts);
      }
  }
  for (std::uint32_t i = 0; i < p.accumulation.count; ++i)
    p.kernels[p.accumulation.begin + i].extents[0] = p.value(p.accumulated[i]).elements;
  if (p.update.count > 0) {
    std::int64_t elements = 0;
    for (const ValueId id : p.parameters)
      if (p.value(id).needs_gradient) elements = network::sum(elements, p.value(id).elements);
    p.kernels[p.update.begin].extents[1] = elements;
  }
  for (TokenCache& cache : p.caches) {
    if (cache.key == kNoTensor || !division.divided[index_of(cache.key)]) continue;
    cache.bytes_per_token = divided(cache.bytes_per_token, parts);
    cache.context_bytes = divided(cache.context_bytes, parts);
  }
  p.cache_copies = divided(p.cache_copies, parts);
  return p;
}

}  // namespace plimsoll::program
