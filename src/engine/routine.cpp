#include "engine/routine.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <ATen/ops/empty.h>

#include "engine/quantized.hpp"
#include "network/causal.hpp"
#include "network/lifetimes.hpp"
#include "network/operators.hpp"

namespace plimsoll::engine {
namespace {

using network::DataType;
using network::Fusion;
using network::GraphId;
using network::kNoTensor;
using network::Network;
using network::Operator;
using network::Role;
using network::Shapes;
using network::TensorId;

/// Activations that networks write over their input where they can.
bool overwrites(std::string_view type) {
  static constexpr std::array<std::string_view, 9> kMayOverwrite = {
      "Celu", "Clip", "Elu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish", "Relu", "Selu"};
  return std::ranges::find(kMayOverwrite, type) != kMayOverwrite.end();
}

/// Layers after which they do.
bool is_layer(std::string_view type) {
  static constexpr std::array<std::string_view, 6> kLayers = {
      "Conv", "ConvTranspose", "BatchNormalization", "GroupNormalization", "InstanceNormalization", "Add"};
  return std::ranges::find(kLayers, type) != kLayers.end();
}

/// Arithmetic takes a single number of the host as it is, without a tensor of the device.
bool takes_numbers(std::string_view type) {
  static constexpr std::array<std::string_view, 5> kArithmetic = {"Add", "Div", "Mul", "Pow", "Sub"};
  return std::ranges::find(kArithmetic, type) != kArithmetic.end();
}

class RoutineMaker {
 public:
  RoutineMaker(const Network& network, const Shapes& shapes, const network::Setting& setting,
               std::vector<Unexecutable>& missing)
      : network_(network),
        shapes_(shapes),
        setting_(setting),
        missing_(missing),
        known_(network.tensors.size(), false),
        uses_(network.tensors.size(), 0),
        maker_(network.tensors.size(), nullptr) {
    routine_.network = &network;
    routine_.numbers = numbers_of(setting.precision);
    routine_.graphs.resize(network.graphs.size());
  }

  Result<Routine> run() {
    find_known();
    count_uses();
    if (!setting_.literal) fusions_ = network::recognise(network_, shapes_);
    if (!setting_.literal && setting_.mode == network::Mode::infer && routine_.numbers.computed == at::kFloat)
      quantized_ = network::find_quantized_layers(network_);
    quantized_.resize(network_.main().operators.size());
    fusions_.resize(network_.main().operators.size());
    if (setting_.key_value_cache && setting_.mode == network::Mode::infer)
      causal_ = network::find_causal_products(network_);
    for (std::size_t g = 0; g < network_.graphs.size(); ++g) add_graph(g);
    set_releases();
    find_weights();
    return std::move(routine_);
  }

 private:
  /// Shape arithmetic, and single numbers, are the host's: what inference knows need not be computed.
  void find_known() {
    for (std::size_t i = 0; i < network_.tensors.size(); ++i) {
      const auto id = static_cast<TensorId>(i);
      const Shapes::Entry& entry = shapes_.at(id);
      if (!entry.has_value || !entry.ranked || entry.kind != network::ValueKind::tensor) continue;
      const auto type = scalar_type(entry.type);
      if (!type || network_.tensor(id).role == Role::parameter || network_.tensor(id).role == Role::input)
        continue;
      if (entry.dims.count > 0 && network::is_float(entry.type)) continue;  // data of the device
      std::vector<std::int64_t> dims;
      for (const network::Dim d : shapes_.dims(id))
        if (d.exact()) dims.push_back(d.value());
      const auto value = shapes_.value(id);
      if (dims.size() != entry.dims.count ||
          std::ranges::any_of(value, [](const network::Scalar& s) { return s.is_symbol(); }))
        continue;
      routine_.known.push_back({id, made_of(value, dims, routine_.numbers.stored(*type))});
      known_[i] = true;
    }
  }

  static at::Tensor made_of(std::span<const network::Scalar> value, const std::vector<std::int64_t>& dims,
                            at::ScalarType type) {
    const bool real = std::ranges::any_of(value, [](const network::Scalar& s) { return s.is_real(); });
    at::Tensor made = at::empty(dims, at::TensorOptions().dtype(real ? at::kDouble : at::kLong));
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (real)
        made.data_ptr<double>()[i] = value[i].real();
      else
        made.data_ptr<std::int64_t>()[i] = value[i].integer();
    }
    return made.to(type);
  }

  void count_uses() {
    for (const network::Graph& graph : network_.graphs) {
      for (const Operator& op : graph.operators) {
        // What inference has computed already reads nothing: the extents of a tensor, most of all.
        const bool done = std::ranges::all_of(
            network_.outputs(op), [&](TensorId id) { return id == kNoTensor || known_[index(id)]; });
        for (const TensorId id : network_.inputs(op))
          if (id != kNoTensor && !done) ++uses_[index(id)];
        for (const TensorId id : network_.outputs(op))
          if (id != kNoTensor) maker_[index(id)] = &op;
      }
      for (const TensorId id : graph.outputs)
        if (id != kNoTensor) uses_[index(id)] += 2;  // the caller reads it, too
    }
  }

  [[nodiscard]] bool in_place(TensorId input, std::string_view type, std::uint32_t readers) const {
    if (setting_.in_place == network::InPlace::never || !overwrites(type) || input == kNoTensor) return false;
    const Operator* maker = maker_[index(input)];
    if (maker == nullptr || uses_[index(input)] > readers) return false;
    return setting_.in_place == network::InPlace::always || is_layer(network_.type_of(*maker));
  }

  void add_graph(std::size_t g) {
    const network::Graph& graph = network_.graphs[g];
    for (std::uint32_t i = 0; i < graph.operators.size(); ++i) {
      const Operator& op = graph.operators[i];
      const auto outputs = network_.outputs(op);
      const bool done =
          std::ranges::all_of(outputs, [&](TensorId id) { return id == kNoTensor || known_[index(id)]; });
      if (done && !outputs.empty()) continue;
      const Fusion fusion = g == 0 ? fusions_[i] : Fusion{};
      if (fusion.kind == Fusion::Kind::skipped) continue;
      if (g == 0 && add_quantized(routine_.graphs[g], i)) continue;
      if (g == 0 && add_projection(routine_.graphs[g], i, op)) continue;
      if (fusion.kind == Fusion::Kind::none)
        add_operator(routine_.graphs[g], i, op);
      else
        add_fused(routine_.graphs[g], i, op, fusion);
    }
  }

  void add_operator(std::vector<Instruction>& instructions, std::uint32_t i, const Operator& op) {
    const std::string_view type = network_.type_of(op), domain = network_.domain_of(op);
    if (type == "Constant" && domain.empty()) return add_constant(op);
    const OperatorRow* row = find_row(domain, type);
    if (row == nullptr) return miss(op, "the engine has no kernel for it");
    const auto inputs = network_.inputs(op), outputs = network_.outputs(op);
    const bool overwrite = in_place(inputs.empty() ? kNoTensor : inputs[0], type, 1);
    const Preparation preparation(network_, shapes_, op, routine_.numbers,
                                  setting_.mode == network::Mode::train, overwrite);
    Result<Kernel> kernel = row->prepare(preparation);
    if (!kernel) return miss(op, kernel.error().text());
    if (overwrite) ++routine_.in_place;
    Instruction instruction{.op = i, .kernel = std::move(*kernel)};
    instruction.inputs.assign(inputs.begin(), inputs.end());
    instruction.outputs.assign(outputs.begin(), outputs.end());
    instruction.shape_arithmetic = row->shape_arithmetic;
    instruction.scalars_stay = domain.empty() && takes_numbers(type);
    instructions.push_back(std::move(instruction));
  }

  /// A Constant's tensor is a stored one like any other, under the attribute's own name.
  void add_constant(const Operator& op) {
    const network::Attribute* value = network_.find(op, "value");
    const auto outputs = network_.outputs(op);
    if (outputs.size() != 1 || outputs[0] == kNoTensor) return;
    if (value != nullptr && value->kind == network::Attribute::Kind::tensor) {
      routine_.constants.push_back({outputs[0], static_cast<TensorId>(value->integer)});
      return;
    }
    add_given_constant(op, outputs[0]);
  }

  void add_given_constant(const Operator& op, TensorId output) {
    std::vector<network::Scalar> list;
    bool scalar = true;
    for (const network::Attribute& a : network_.attributes_of(op)) {
      const std::string_view name = network_.view(a.name);
      scalar = name == "value_int" || name == "value_float";
      if (name == "value_int") list.push_back(network::Scalar::integer(a.integer));
      if (name == "value_float") list.push_back(network::Scalar::real(a.real));
      if (name == "value_ints")
        for (const std::int64_t n : network_.integers_of(a)) list.push_back(network::Scalar::integer(n));
      if (name == "value_floats")
        for (const double x : network_.reals_of(a)) list.push_back(network::Scalar::real(x));
    }
    const auto type = scalar_type(shapes_.type(output));
    if (!type) return miss(op, "constants of this type cannot be kept");
    std::vector<std::int64_t> dims;
    if (!scalar) dims.push_back(static_cast<std::int64_t>(list.size()));
    routine_.known.push_back({output, made_of(list, dims, routine_.numbers.stored(*type))});
    known_[index(output)] = true;
  }

  /// What a tensor of heads was before it was split, and by which operators.
  struct Unsplit {
    TensorId tensor = kNoTensor;
    std::int64_t heads = 0;
    std::vector<const Operator*> by;
  };

  [[nodiscard]] std::vector<std::int64_t> exact_dims(TensorId id) const {
    std::vector<std::int64_t> dims;
    if (shapes_.ranked(id))
      for (const network::Dim d : shapes_.dims(id)) dims.push_back(d.exact() ? d.value() : -1);
    return dims;
  }

  /// Modules write "split in heads" as a view that merges batch and heads, which an exported graph can only
  /// copy: Reshape to tokens, batch x heads, width; Transpose; Reshape to batch, heads, tokens, width.
  [[nodiscard]] std::optional<Unsplit> before_split(TensorId id) const {
    const std::vector<std::int64_t> split = exact_dims(id);
    Unsplit found{.tensor = id, .heads = 0, .by = {}};
    for (const std::string_view type : {"Reshape", "Transpose", "Reshape"}) {
      const Operator* maker = maker_[index(found.tensor)];
      if (maker == nullptr || network_.type_of(*maker) != type || uses_[index(found.tensor)] != 1)
        return std::nullopt;
      found.by.push_back(maker);
      found.tensor = network_.inputs(*maker)[0];
    }
    const network::Attribute* order = network_.find(*found.by[1], "perm");
    static constexpr std::array<std::int64_t, 3> kExchanged = {1, 0, 2};
    if (order == nullptr || !std::ranges::equal(network_.integers_of(*order), kExchanged))
      return std::nullopt;
    const std::vector<std::int64_t> whole = exact_dims(found.tensor);
    if (split.size() != 4 || whole.size() != 3 || split[0] != whole[1] || split[2] != whole[0] ||
        split[1] * split[3] != whole[2])
      return std::nullopt;
    found.heads = split[1];
    return found;
  }

  /// Where query, key and value are all split so, the kernel reads them before; the splitting is dropped.
  std::int64_t read_before_split(std::vector<Instruction>& instructions, Fusion& fusion) {
    std::array<std::optional<Unsplit>, 3> found;
    for (std::size_t i = 0; i < 3; ++i) {
      found[i] = before_split(fusion.inputs[i]);
      if (!found[i] || found[i]->heads != found[0]->heads) return 0;
    }
    for (std::size_t i = 0; i < 3; ++i) {
      fusion.inputs[i] = found[i]->tensor;
      std::erase_if(instructions, [&](const Instruction& instruction) {
        const Operator* op = &network_.main().operators[instruction.op];
        return std::ranges::find(found[i]->by, op) != found[i]->by.end();
      });
    }
    return found[0]->heads;
  }

  /// The operator that makes a tensor, where it is of that type and nobody else reads the tensor.
  [[nodiscard]] const Operator* only_for_this(TensorId id, std::string_view type) const {
    const Operator* maker = id == kNoTensor ? nullptr : maker_[index(id)];
    return maker != nullptr && network_.type_of(*maker) == type && uses_[index(id)] == 1 ? maker : nullptr;
  }

  /// The layer that joins heads again is written over rows: Reshape of tokens, batch, heads, width to rows;
  /// Gemm; Reshape to tokens, batch, width. Attention leaves its result batch first, so that those rows would
  /// be a copy; frameworks run the layer over the tensor as it lies. True where `op` is the last of the
  /// three, and then they are one instruction.
  bool add_projection(std::vector<Instruction>& instructions, std::uint32_t i, const Operator& op) {
    if (setting_.literal || setting_.mode == network::Mode::train || network_.type_of(op) != "Reshape")
      return false;
    const auto inputs = network_.inputs(op), outputs = network_.outputs(op);
    const Operator* product = only_for_this(inputs[0], "Gemm");
    if (product == nullptr || network_.inputs(*product).size() != 3) return false;
    const auto read = network_.inputs(*product);
    const Operator* rows = only_for_this(read[0], "Reshape");
    if (rows == nullptr || !is_plain_layer(*product)) return false;
    const TensorId heads = network_.inputs(*rows)[0];
    const std::vector<std::int64_t> before = exact_dims(heads), flat = exact_dims(read[0]),
                                    after = exact_dims(outputs[0]);
    if (before.size() != 4 || flat.size() != 2 || after.size() != 3 || before[0] != after[0] ||
        before[1] != after[1] || before[2] * before[3] != flat[1] || before[0] * before[1] != flat[0])
      return false;
    std::erase_if(instructions, [&](const Instruction& instruction) {
      const Operator* executed = &network_.main().operators[instruction.op];
      return executed == product || executed == rows;
    });
    Instruction instruction{.op = i, .kernel = projection_kernel(), .inputs = {heads, read[1], read[2]}};
    instruction.outputs.assign(outputs.begin(), outputs.end());
    instruction.label = name(Fusion::Kind::linear);
    instructions.push_back(std::move(instruction));
    ++routine_.recognised[std::string(name(Fusion::Kind::linear))];
    return true;
  }

  /// Rows times a weight that has a row per output, plus a bias.
  [[nodiscard]] bool is_plain_layer(const Operator& gemm) const {
    const auto real = [&](std::string_view attribute) {
      const network::Attribute* a = network_.find(gemm, attribute);
      return a == nullptr ? 1 : a->real;
    };
    const auto turned = [&](std::string_view attribute) {
      const network::Attribute* a = network_.find(gemm, attribute);
      return a != nullptr && a->integer != 0;
    };
    return real("alpha") == 1 && real("beta") == 1 && !turned("transA") && turned("transB") &&
           exact_dims(network_.inputs(gemm)[2]).size() == 1;
  }

  /// Whether an attention is causal is read from the graph, as for the estimate: under capture nobody may
  /// look at what a mask holds.
  AttentionForm attention_form(std::vector<Instruction>& instructions, std::uint32_t i, Fusion& fusion) {
    AttentionForm form{.mask = std::make_shared<MaskUse>(MaskUse::as_given)};
    form.cached = i < causal_.size() && causal_[i];
    const auto maker = [this](TensorId id) { return maker_[index(id)]; };
    const TensorId key = network::before_repetition(network_, shapes_, fusion.inputs[1], maker);
    const TensorId value = network::before_repetition(network_, shapes_, fusion.inputs[2], maker);
    if (form.cached && key != fusion.inputs[1] && value != fusion.inputs[2]) {
      form.unrepeated_key = key;
      form.unrepeated_value = value;
    }
    form.heads = read_before_split(instructions, fusion);
    return form;
  }

  void add_fused(std::vector<Instruction>& instructions, std::uint32_t i, const Operator& op, Fusion fusion) {
    const AttentionForm form =
        fusion.kind == Fusion::Kind::attention ? attention_form(instructions, i, fusion) : AttentionForm{};
    const bool gated = fusion.kind == Fusion::Kind::silu || fusion.kind == Fusion::Kind::hard_swish;
    const bool overwrite = gated && in_place(fusion.inputs[0], "HardSwish", 2);
    FusedKernel fused = fused_kernel(fusion, shapes_, overwrite, form);
    if (fusion.kind == Fusion::Kind::attention && fused.inputs[3] != kNoTensor)
      routine_.masks.push_back({fused.inputs[3], form.mask});
    if (fusion.kind == Fusion::Kind::linear && !fusion.turned) routine_.turned.push_back(fusion.inputs[1]);
    if (overwrite) ++routine_.in_place;
    ++routine_.recognised[std::string(name(fusion.kind))];
    Instruction instruction{.op = i, .kernel = std::move(fused.kernel), .inputs = std::move(fused.inputs)};
    const auto outputs = network_.outputs(op);
    instruction.outputs.assign(outputs.begin(), outputs.end());
    instruction.label = name(fusion.kind);
    instruction.scalars_stay = true;
    instructions.push_back(std::move(instruction));
  }

  /// True where the operator is one, or part of one, that runs on eight-bit numbers.
  bool add_quantized(std::vector<Instruction>& instructions, std::uint32_t i) {
    const network::QuantizedLayer& layer = quantized_[i];
    if (layer.kind == network::QuantizedLayer::Kind::none) return false;
    if (layer.kind == network::QuantizedLayer::Kind::skipped) return true;
    const Operator& op =
        network_.main().operators[layer.kind > network::QuantizedLayer::Kind::dequantize ? layer.op : i];
    const Preparation preparation(network_, shapes_, op, routine_.numbers, false, false);
    FusedKernel fused = quantized_kernel(layer, preparation);
    Instruction instruction{.op = i, .kernel = std::move(fused.kernel), .inputs = std::move(fused.inputs)};
    if (layer.kind == network::QuantizedLayer::Kind::quantize)
      instruction.inputs.insert(instruction.inputs.begin(), network_.inputs(op)[0]);
    const auto outputs = network_.outputs(network_.main().operators[i]);
    instruction.outputs.assign(outputs.begin(), outputs.end());
    instruction.label = name(layer.kind);
    if (!instruction.label.empty()) ++routine_.recognised[instruction.label];
    routine_.eight_bits = true;
    instructions.push_back(std::move(instruction));
    return true;
  }

  void miss(const Operator& op, std::string reason) {
    const std::string_view type = network_.type_of(op), domain = network_.domain_of(op);
    std::string name = domain.empty() ? std::string(type) : fmt::format("{}.{}", domain, type);
    for (Unexecutable& u : missing_)
      if (u.op == name && u.reason == reason) {
        ++u.nodes;
        return;
      }
    missing_.push_back({std::move(name), 1, std::move(reason)});
  }

  /// What a body reads of the graphs around it is read by the operator that owns the body.
  void add_captured(const Operator& op, std::vector<TensorId>& reads) const {
    for (const network::Attribute& a : network_.attributes_of(op)) {
      if (a.kind != network::Attribute::Kind::graph) continue;
      const network::Graph& body = network_.graph(static_cast<GraphId>(a.integer));
      for (const Operator& inner : body.operators) {
        for (const TensorId id : network_.inputs(inner))
          if (id != kNoTensor) reads.push_back(id);
        add_captured(inner, reads);
      }
      for (const TensorId id : body.outputs)
        if (id != kNoTensor) reads.push_back(id);
    }
  }

  void set_releases() {
    const auto& operators = network_.main().operators;
    std::vector<bool> executed(operators.size(), false);
    std::vector<std::vector<TensorId>> reads(operators.size());
    std::vector<Instruction*> instruction_of(operators.size(), nullptr);
    for (Instruction& instruction : routine_.graphs[0]) {
      executed[instruction.op] = true;
      instruction_of[instruction.op] = &instruction;
      for (const TensorId id : instruction.inputs)
        if (id != kNoTensor) reads[instruction.op].push_back(id);
      add_captured(operators[instruction.op], reads[instruction.op]);
    }
    const std::vector<std::uint32_t> released = network::released_after(network_, executed, reads);
    for (const Instruction& instruction : routine_.graphs[0])
      for (const TensorId id : instruction.outputs) {
        if (id == kNoTensor || released[index(id)] == network::kHeld) continue;
        instruction_of[released[index(id)]]->releases.push_back(id);
      }
  }

  void find_weights() {
    std::set<TensorId> read;
    for (const auto& instructions : routine_.graphs)
      for (const Instruction& instruction : instructions)
        for (const TensorId id : instruction.inputs) note_weight(id, read);
    for (const network::Graph& graph : network_.graphs)
      for (const TensorId id : graph.outputs) note_weight(id, read);
    for (const auto& [output, stored] : routine_.constants)
      if (!known_[index(output)]) read.insert(stored);
    routine_.weights.assign(read.begin(), read.end());
  }

  void note_weight(TensorId id, std::set<TensorId>& read) const {
    if (id == kNoTensor || known_[index(id)]) return;
    const Role role = network_.tensor(id).role;
    if (maker_[index(id)] == nullptr && (role == Role::parameter || role == Role::buffer)) read.insert(id);
  }

  const Network& network_;
  const Shapes& shapes_;
  const network::Setting& setting_;
  std::vector<Unexecutable>& missing_;
  Routine routine_;
  std::vector<Fusion> fusions_;
  std::vector<network::QuantizedLayer> quantized_;
  std::vector<bool> causal_;  ///< by operator of the main graph, where keys and values are to be cached
  std::vector<bool> known_;
  std::vector<std::uint32_t> uses_;
  std::vector<const Operator*> maker_;
};

}  // namespace

Numbers numbers_of(network::Precision precision) {
  switch (precision) {
    case network::Precision::fp16: return {at::kHalf};
    case network::Precision::bf16: return {at::kBFloat16};
    default: return {at::kFloat};
  }
}

Result<Routine> make_routine(const Network& network, const Shapes& shapes, const network::Setting& setting,
                             std::vector<Unexecutable>& missing) {
  return RoutineMaker(network, shapes, setting, missing).run();
}

}  // namespace plimsoll::engine
