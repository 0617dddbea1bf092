#include "program/lowering.hpp"

#include <algorithm>

#include "network/causal.hpp"
#include "network/operators.hpp"
#include "network/saturating.hpp"
#include "program/views.hpp"

namespace plimsoll::program {
namespace {

using network::DataType;
using network::kNoTensor;
using network::Operator;
using network::product;
using network::TensorId;

constexpr std::int64_t kMostBytes = std::int64_t{1} << 60, kMostElements = std::int64_t{1} << 62;

std::size_t at_index(TensorId id) {
  return static_cast<std::size_t>(id);
}

}  // namespace

std::string_view name(Phase phase) {
  static constexpr std::string_view kNames[] = {"load", "forward", "backward", "step"};
  return kNames[static_cast<std::size_t>(phase)];
}

std::string_view name(Purpose purpose) {
  static constexpr std::string_view kNames[] = {
      "weights",          "inputs",           "activations", "saved for backward", "gradients",
      "optimizer state",  "workspaces",       "libraries",   "key-value cache",    "step's temporaries",
      "gathered weights", "reduction buckets"};
  return kNames[static_cast<std::size_t>(purpose)];
}

Lowering::Lowering(const network::Network& network, const network::Shapes& shapes,
                   const network::Setting& setting, const Platform& platform)
    : network_(network),
      shapes_(shapes),
      setting_(setting),
      platform_(platform),
      bound_(network.tensors.size(), kNoValue),
      uses_(network.tensors.size()),
      producer_(network.tensors.size(), 0xffffffff) {
  const auto& operators = network.main().operators;
  for (std::uint32_t i = 0; i < operators.size(); ++i) {
    for (const TensorId id : network.inputs(operators[i]))
      if (id != kNoTensor) ++uses_[at_index(id)];
    for (const TensorId id : network.outputs(operators[i]))
      if (id != kNoTensor) producer_[at_index(id)] = i;
  }
  for (const TensorId id : network.main().outputs) ++uses_[at_index(id)];
}

TensorId Lowering::input(const Operator& op, std::size_t i) const {
  const auto inputs = network_.inputs(op);
  return i < inputs.size() ? inputs[i] : kNoTensor;
}

TensorId Lowering::output(const Operator& op, std::size_t i) const {
  const auto outputs = network_.outputs(op);
  return i < outputs.size() ? outputs[i] : kNoTensor;
}

std::int64_t Lowering::integer(const Operator& op, std::string_view attribute, std::int64_t otherwise) const {
  const auto* a = network_.find(op, attribute);
  return a != nullptr && a->kind == network::Attribute::Kind::integer ? a->integer : otherwise;
}

std::vector<std::int64_t> Lowering::integers(const Operator& op, std::string_view attribute) const {
  const auto* a = network_.find(op, attribute);
  if (a == nullptr || a->kind != network::Attribute::Kind::integers) return {};
  const auto list = network_.integers_of(*a);
  return {list.begin(), list.end()};
}

const Operator* Lowering::producer(TensorId id) const {
  const std::uint32_t index = producer_[at_index(id)];
  return index == 0xffffffff ? nullptr : &network_.main().operators[index];
}

bool Lowering::is_network_weight(TensorId id) const {
  if (id == kNoTensor) return false;
  const auto role = network_.tensor(id).role;
  return role == network::Role::parameter || role == network::Role::buffer;
}

DataType Lowering::stored_type(DataType type) const {
  return network::kept_type(type, setting_.precision);
}

DataType Lowering::low_type(DataType natural) const {
  if (!network::is_float(natural) || natural == DataType::float64) return natural;
  if (setting_.precision == network::Precision::amp_bf16) return DataType::bfloat16;
  if (setting_.precision == network::Precision::amp_fp16) return DataType::float16;
  return natural;
}

DataType Lowering::full_type(DataType natural) const {
  const bool amp = network::is_autocast(setting_.precision);
  return amp && (natural == DataType::bfloat16 || natural == DataType::float16) ? DataType::float32 : natural;
}

DataType Lowering::natural_type(std::initializer_list<ValueId> inputs) const {
  // Type promotion: the widest floating type wins over all others; a single number does not widen a tensor.
  DataType best = DataType::undefined;
  bool best_is_tensor = false;
  for (const ValueId id : inputs) {
    if (id == kNoValue) continue;
    const Value& v = at(id);
    const bool tensor = v.rank > 0;
    const bool wider =
        best == DataType::undefined || (network::is_float(v.type) && !network::is_float(best)) ||
        (network::is_float(v.type) == network::is_float(best) && network::bits(v.type) > network::bits(best));
    if ((tensor && !best_is_tensor) || (tensor == best_is_tensor && wider)) {
      best = v.type;
      best_is_tensor = tensor;
    }
  }
  return best;
}

Value Lowering::describe(TensorId tensor, DataType type) const {
  Value v{.type = type, .elements = 1};
  if (!shapes_.ranked(tensor)) {
    v.strided = false;
    v.elements = 0;
    return v;
  }
  const auto dims = shapes_.dims(tensor);
  v.strided = dims.size() <= kMaxViewRank;
  v.rank = static_cast<std::uint8_t>(std::min(dims.size(), kMaxViewRank));
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t extent = shapes_.symbols().bounds(dims[i]).high;
    if (extent == network::kUnbounded || __builtin_mul_overflow(v.elements, extent, &v.elements))
      v.elements = kMostElements;
    if (v.elements > kMostElements) v.elements = kMostElements;
    if (i < kMaxViewRank) v.dims[i] = extent;
  }
  if (v.strided) set_contiguous(v);
  return v;
}

ValueId Lowering::add_value(Value value) {
  program_.values.push_back(value);
  return static_cast<ValueId>(program_.values.size() - 1);
}

ValueId Lowering::add_storage(Value value, Purpose purpose, TensorId tensor) {
  value.storage = static_cast<StorageId>(program_.storages.size());
  const std::int64_t kept = purpose == Purpose::weight ? kept_bytes(tensor) : 0;
  const std::int64_t bytes = kept > 0 ? kept : value.bytes();
  if (bytes >= kMostBytes && too_large_.empty())
    too_large_ = tensor == kNoTensor ? "a tensor" : std::string(network_.name_of(tensor));
  program_.storages.push_back({.bytes = bytes, .purpose = purpose, .tensor = tensor});
  made_by_.push_back(op_);
  return add_value(value);
}

void Lowering::bind(TensorId tensor, ValueId id) {
  if (tensor != kNoTensor) bound_[at_index(tensor)] = id;
}

ValueId Lowering::value(TensorId id) {
  if (id == kNoTensor) return kNoValue;
  ValueId& v = bound_[at_index(id)];
  if (v != kNoValue) return v;
  // Known numbers are the host's; what is left is a constant that the program keeps on the device.
  if (shapes_.at(id).has_value) return kNoValue;
  v = add_storage(describe(id, stored_type(shapes_.type(id))), Purpose::weight, id);
  program_.resident.push_back(at(v).storage);
  return v;
}

void Lowering::weights_and_inputs() {
  for (const TensorId id : network_.main().weights) {
    const auto role = network_.tensor(id).role;
    const bool kept = kept_bytes(id) > 0;  // what reads it unpacks it into what is computed in
    Value v = describe(id, kept ? low_type(stored_type(shapes_.type(id))) : stored_type(shapes_.type(id)));
    if (setting_.layout == network::Layout::channels_last) set_channels_last(v);
    v.parameter = role == network::Role::parameter && network::is_float(v.type);
    const std::string_view name = network_.name_of(id);
    v.needs_gradient =
        training() && v.parameter && std::ranges::none_of(setting_.frozen, [&](const std::string& prefix) {
          return name.starts_with(prefix);
        });
    const ValueId made = add_storage(v, Purpose::weight, id);
    bind(id, made);
    program_.resident.push_back(at(made).storage);
    if (v.parameter) program_.parameters.push_back(made);
  }
  for (const TensorId id : network_.main().inputs) {
    if (bound_[at_index(id)] != kNoValue || shapes_.at(id).has_value) continue;
    Value v = describe(id, stored_type(shapes_.type(id)));
    if (setting_.layout == network::Layout::channels_last) set_channels_last(v);
    const ValueId made = add_storage(v, Purpose::input, id);
    bind(id, made);
    program_.resident.push_back(at(made).storage);
  }
}

/// A decoder's head computes for the last position alone where nobody asks for more: of the network's result,
/// and of what turns the head's product into it value by value.
void Lowering::find_last_only() {
  if (setting_.logits != network::Logits::last || training() || network_.main().outputs.empty()) return;
  static constexpr std::string_view kByValue[] = {"Cast", "Div", "Identity", "Mul", "Tanh"};
  std::vector<TensorId> found;
  for (TensorId id = network_.main().outputs.front();;) {
    const Operator* maker = producer(id);
    if (maker == nullptr || uses(id) > 1 || !shapes_.ranked(id) || shapes_.dims(id).size() != 3) return;
    found.push_back(id);
    const std::string_view type = network_.type_of(*maker);
    if (type == "MatMul" || type == "Gemm") break;
    if (type == "Add" && is_network_weight(input(*maker, 1))) {  // a bias
      id = input(*maker, 0);
    } else if (type == "Add" && is_network_weight(input(*maker, 0))) {
      id = input(*maker, 1);
    } else if (std::ranges::find(kByValue, type) != std::end(kByValue)) {
      id = input(*maker, 0);
    } else {
      return;
    }
  }
  last_only_ = std::move(found);
  program_.last_position_only = true;
}

void Lowering::begin() {
  call_ = Call();
  call_.op = op_;
  call_.forward.begin = static_cast<std::uint32_t>(program_.actions.size());
  backward_.clear();
  saved_.clear();
  kernels_.clear();
  backward_kernels_.clear();
}

ValueId Lowering::make(TensorId tensor, DataType type, bool needs_gradient) {
  Value v = describe(tensor, type);
  if (std::ranges::find(last_only_, tensor) != last_only_.end() && v.dims[1] > 1) {
    v.elements /= v.dims[1];
    v.dims[1] = 1;
    set_contiguous(v);
  }
  v.needs_gradient = training() && needs_gradient && network::is_float(type);
  const ValueId id = add_storage(v, Purpose::activation, tensor);
  program_.actions.push_back({ActionKind::output, id, at(id).bytes()});
  bind(tensor, id);
  return id;
}

ValueId Lowering::make_like(ValueId like, DataType type) {
  Value v = at(like);
  v.type = type;
  v.needs_gradient = false;
  v.parameter = false;
  set_layout_like(v, at(like));
  const TensorId tensor = program_.storage(at(like).storage).tensor;
  const ValueId id = add_storage(v, Purpose::activation, tensor);
  program_.actions.push_back({ActionKind::output, id, at(id).bytes()});
  return id;
}

ValueId Lowering::make_hidden(std::int64_t elements, DataType type) {
  Value v{.type = type, .rank = 1, .elements = elements};
  v.dims[0] = elements;
  set_contiguous(v);
  const ValueId id = add_storage(v, Purpose::activation, kNoTensor);
  program_.actions.push_back({ActionKind::output, id, v.bytes()});
  return id;
}

void Lowering::save(ValueId id) {
  if (id != kNoValue && training()) saved_.push_back(id);
}
void Lowering::workspace(std::int64_t bytes, std::int64_t most) {
  if (!platform_.gpu || most <= 0) return;
  program_.actions.push_back({ActionKind::workspace, kNoValue, bytes, std::max(bytes, most)});
  program_.actions.push_back({ActionKind::drop, kNoValue, 0});
}
void Lowering::library() {
  if (platform_.gpu) program_.actions.push_back({ActionKind::library, kNoValue, 0});
}

void Lowering::backward_gradient(ValueId id) {
  if (needs_gradient(id)) backward_.push_back({ActionKind::gradient, id, at(id).bytes()});
}
void Lowering::backward_share(ValueId id) {
  if (needs_gradient(id)) backward_.push_back({ActionKind::share, id, 0});
}
void Lowering::backward_scratch(std::int64_t bytes) {
  backward_.push_back({ActionKind::scratch, kNoValue, bytes});
}
void Lowering::backward_workspace(std::int64_t bytes, std::int64_t most) {
  if (!platform_.gpu || most <= 0) return;
  backward_.push_back({ActionKind::workspace, kNoValue, bytes, std::max(bytes, most)});
  backward_drop();
}
void Lowering::backward_drop() {
  backward_.push_back({ActionKind::drop, kNoValue, 0});
}
void Lowering::backward_library() {
  if (platform_.gpu) backward_.push_back({ActionKind::library, kNoValue, 0});
}

void Lowering::backward_sum(ValueId from, ValueId to) {
  if (!needs_gradient(to)) return;
  backward_gradient(to);
  const std::int64_t columns = std::max<std::int64_t>(at(to).elements, 1);
  if (!platform_.gpu) return;
  const Value& t = at(to);
  // Only sums over leading dimensions run down whole columns.
  const bool trailing =
      t.rank > 0 && at(from).rank > 0 && t.dims[t.rank - 1] == at(from).dims[at(from).rank - 1];
  if (!trailing) return;
  const ColumnSum sum{at(from).elements / columns, columns};
  program_.column_sums.push_back(sum);
  const std::int64_t buffer = reduction_buffer(sum.rows, sum.columns, platform_.multiprocessors);
  if (buffer > 0) {
    backward_scratch(buffer);
    backward_drop();
  }
}

void Lowering::end(std::initializer_list<ValueId> results) {
  end(std::span(results.begin(), results.size()));
}

void Lowering::end(std::span<const ValueId> results) {
  call_.forward.count = static_cast<std::uint32_t>(program_.actions.size()) - call_.forward.begin;
  const bool gradient = std::ranges::any_of(results, [&](ValueId id) { return needs_gradient(id); });
  add_unnamed_kernels(results);
  call_.kernels = {static_cast<std::uint32_t>(program_.kernels.size()),
                   static_cast<std::uint32_t>(kernels_.size())};
  program_.kernels.insert(program_.kernels.end(), kernels_.begin(), kernels_.end());
  call_.backward_kernels.begin = static_cast<std::uint32_t>(program_.kernels.size());
  if (gradient)
    program_.kernels.insert(program_.kernels.end(), backward_kernels_.begin(), backward_kernels_.end());
  call_.backward_kernels.count =
      static_cast<std::uint32_t>(program_.kernels.size()) - call_.backward_kernels.begin;
  call_.saved.begin = static_cast<std::uint32_t>(program_.values_of.size());
  if (gradient) program_.values_of.insert(program_.values_of.end(), saved_.begin(), saved_.end());
  call_.saved.count = static_cast<std::uint32_t>(program_.values_of.size()) - call_.saved.begin;
  call_.results.begin = static_cast<std::uint32_t>(program_.values_of.size());
  program_.values_of.insert(program_.values_of.end(), results.begin(), results.end());
  call_.results.count = static_cast<std::uint32_t>(results.size());
  call_.backward.begin = static_cast<std::uint32_t>(program_.actions.size());
  if (gradient) program_.actions.insert(program_.actions.end(), backward_.begin(), backward_.end());
  call_.backward.count = static_cast<std::uint32_t>(program_.actions.size()) - call_.backward.begin;
  program_.calls.push_back(call_);
}

ValueId Lowering::alias(ValueId of, Value view) {
  const Value& source = at(of);
  view.storage = source.storage;
  view.needs_gradient = source.needs_gradient;
  view.parameter = false;
  return add_value(view);
}

void Lowering::lay_out_like(ValueId result, ValueId input) {
  set_layout_like(program_.values[static_cast<std::size_t>(result)], at(input));
}

void Lowering::lay_out_channels_last(ValueId result) {
  set_channels_last(program_.values[static_cast<std::size_t>(result)]);
}

void Lowering::lay_out_tokens_first(ValueId result) {
  Value& v = program_.values[static_cast<std::size_t>(result)];
  if (v.rank != 4 || !v.strided) return;
  const auto [n, heads, tokens, width] = std::array{v.dims[0], v.dims[1], v.dims[2], v.dims[3]};
  v.strides = {product(product(heads, tokens), width), width, product(heads, width), 1};
}

void Lowering::bind_view(TensorId tensor, ValueId of, Value view) {
  begin();
  const ValueId id = alias(of, view);
  bind(tensor, id);
  backward_share(of);
  end({id});
}

ValueId Lowering::cast(ValueId id, DataType type) {
  if (id == kNoValue || at(id).type == type || !network::is_float(at(id).type)) return id;
  if (cast_of_.size() < program_.values.size()) cast_of_.resize(program_.values.size(), kNoValue);
  const bool weight = at(id).parameter;
  if (weight && cast_of_[static_cast<std::size_t>(id)] != kNoValue)
    return cast_of_[static_cast<std::size_t>(id)];
  begin();
  const ValueId made = make_like(id, type);
  program_.values[static_cast<std::size_t>(made)].needs_gradient = at(id).needs_gradient;
  // Devices that divide the weights cast their part before they exchange it, and the gradient's after that.
  const bool divided = program_.storage(at(id).storage).purpose == Purpose::weight;
  if (divided) program_.weight_copies.push_back({at(made).storage, at(id).storage});
  // As many bytes as a copy of so many floats.
  const std::int64_t whole = (at(id).bytes() + at(made).bytes() + 7) / 8;
  const std::int64_t floats = divided ? network::divided(whole, parts_of_weights()) : whole;
  kernel(hardware::OperatorClass::copy, DataType::float32, {floats});
  backward_gradient(id);
  backward_kernel(id, hardware::OperatorClass::copy, hardware::Direction::forward, DataType::float32,
                  {floats});
  end({made});
  if (weight) {
    cast_of_[static_cast<std::size_t>(id)] = made;
    program_.held.push_back(at(made).storage);
  }
  return made;
}

bool Lowering::unpacks_projection(const Operator& gather) const {
  if (network_.type_of(gather) != "Gather" || integer(gather, "axis", 0) != 0) return false;
  const TensorId from = input(gather, 0);
  if (from == kNoTensor || uses(from) != 3) return false;
  const Operator* maker = producer(from);
  return maker != nullptr && network_.type_of(*maker) == "Squeeze";
}

/// For inference without autocast torch.nn.MultiheadAttention has a way of its own, from the joint projection
/// to the kernel and on to the output's projection without a copy; what is exported is the other way.
bool Lowering::has_fast_attention() const {
  return !training() && !network::is_autocast(setting_.precision) &&
         std::ranges::any_of(network_.main().operators,
                             [&](const Operator& op) { return unpacks_projection(op); });
}

ValueId Lowering::copy(ValueId id) {
  if (fast_attention_ && rows_stay_whole(at(id))) {
    Value view = at(id);
    set_contiguous(view);
    begin();
    const ValueId made = alias(id, view);
    end({made});
    return made;
  }
  begin();
  const ValueId made = make_like(id, at(id).type);
  Value& v = program_.values[static_cast<std::size_t>(made)];
  set_contiguous(v);
  v.needs_gradient = at(id).needs_gradient;
  name_copy(id);
  backward_share(id);
  end({made});
  return made;
}

TensorId Lowering::before_repetition(TensorId id) const {
  return network::before_repetition(network_, shapes_, id, [this](TensorId made) { return producer(made); });
}

void Lowering::add_cache(TokenCache cache) {
  cache.call = static_cast<std::uint32_t>(program_.calls.size());
  program_.caches.push_back(cache);
}

ValueId Lowering::cached(ValueId id) {
  const ValueId made = copy(id);
  hold_for_cache(made);
  return made;
}

void Lowering::keep_in_cache(TensorId key, std::int64_t elements, DataType type) {
  begin();
  const ValueId made = make_hidden(elements, type);
  program_.storages[static_cast<std::size_t>(at(made).storage)].tensor = key;
  name_copy(made);
  hold_for_cache(made);
  end({made});
}

void Lowering::hold_for_cache(ValueId id) {
  program_.cache_copies = network::sum(program_.cache_copies, at(id).bytes());
  if (training()) return;  // the backward pass keeps what it needs
  program_.storages[static_cast<std::size_t>(at(id).storage)].purpose = Purpose::cache;
  program_.held.push_back(at(id).storage);  // until the pass has ended
}

ValueId Lowering::contiguous(ValueId id) {
  return id == kNoValue || at(id).contiguous() ? id : copy(id);
}

void Lowering::unruled(const Operator& op) {
  const std::string kind(network_.type_of(op));
  if (std::ranges::find(program_.unruled, kind) == program_.unruled.end()) program_.unruled.push_back(kind);
  std::vector<ValueId> results;
  bool gradient = false;
  for (const TensorId id : network_.inputs(op))
    if (id != kNoTensor && bound_[at_index(id)] != kNoValue) gradient |= needs_gradient(bound_[at_index(id)]);
  begin();
  for (const TensorId id : network_.outputs(op)) {
    if (id == kNoTensor) continue;
    results.push_back(make(id, stored_type(shapes_.type(id)), gradient));
    program_.unruled_bytes += std::min(at(results.back()).bytes(), kMostBytes - program_.unruled_bytes);
  }
  name_counted(op, results);
  for (const TensorId id : network_.inputs(op)) {
    if (id == kNoTensor || bound_[at_index(id)] == kNoValue) continue;
    save(bound_[at_index(id)]);
    backward_gradient(bound_[at_index(id)]);
  }
  end(results);
}

/// One kernel that does what is counted for the operator, its bodies included; of what nobody counts, it
/// moves what goes in and out.
void Lowering::name_counted(const Operator& op, std::span<const ValueId> results) {
  if (!counts_) counts_ = count(network_, shapes_, Conventions());
  Work forward, backward;
  bool mine = false;
  for (const OperatorCount& row : counts_->operators) {
    if (row.graph == network::GraphId{0}) mine = row.index == op_;  // bodies stand after their owner
    if (!mine || row.alternative > 0) continue;
    forward += counts_->work_of(row);
    backward += counts_->backward_of(row);
  }
  std::int64_t in = 0, out = 0;
  for (const TensorId id : network_.inputs(op))
    if (id != kNoTensor && bound_[at_index(id)] != kNoValue)
      in = network::sum(in, at(bound_[at_index(id)]).bytes());
  for (const ValueId id : results) out = network::sum(out, at(id).bytes());
  const auto counted = [&](const Work& work, std::int64_t read, std::int64_t written) {
    const auto known = [](const Interval& bounds) {
      return bounds.high == network::kUnbounded ? bounds.low : bounds.high;
    };
    hardware::OperatorCase c{.operator_class = hardware::OperatorClass::counted,
                             .arithmetic = arithmetic(hardware::OperatorClass::matrix, DataType::float32)};
    c.extents = {known(work.flops), std::max(known(work.bytes_read), read),
                 std::max(known(work.bytes_written), written)};
    return c;
  };
  kernel(counted(forward, in, out));
  backward_kernels_.push_back(counted(backward, network::sum(in, out), in));
}

void Lowering::lower_operator(std::uint32_t index, const Operator& op, const Fusion& fusion) {
  op_ = index;
  if (lower_quantized(index)) return;
  const TensorId out = output(op, 0);
  switch (fusion.kind) {
    case Fusion::Kind::skipped: return;
    case Fusion::Kind::attention:
      return lower_attention(*this, fusion.inputs[0], fusion.inputs[1], fusion.inputs[2], out);
    case Fusion::Kind::linear:
      return lower_linear(*this, fusion.inputs[0], fusion.inputs[1], fusion.inputs[2], out);
    case Fusion::Kind::layer_norm:
      return lower_layer_norm(*this, fusion.inputs[0], fusion.inputs[1], fusion.inputs[2], out);
    case Fusion::Kind::gelu:
      return lower_unary(*this, fusion.inputs[0], out, op,
                         {.name = "Gelu", .lower = nullptr, .saved = LoweringRule::Saved::input});
    case Fusion::Kind::silu:
    case Fusion::Kind::hard_swish:
      return lower_unary(
          *this, fusion.inputs[0], out, op,
          {.name = "Silu", .lower = nullptr, .saved = LoweringRule::Saved::input, .in_place = true});
    case Fusion::Kind::none: break;
  }
  // Shape arithmetic is the host's.
  const auto outputs = network_.outputs(op);
  if (std::ranges::all_of(outputs, [&](TensorId id) { return id == kNoTensor || shapes_.at(id).has_value; }))
    return;
  const LoweringRule* rule = op.kind == network::kUnknownKind ? nullptr : lowering_rule(op.kind);
  if (rule == nullptr) return unruled(op);
  rule->lower(*this, op, *rule);
}

void Lowering::lower_loss() {
  if (setting_.loss == network::Loss::none || network_.main().outputs.empty()) return;
  op_ = kLossCall;
  const ValueId out = bound_[at_index(network_.main().outputs.front())];
  if (out == kNoValue || !network::is_float(at(out).type)) return;
  ValueId x = cast(out, full_type(at(out).type));
  begin();
  const std::int64_t bytes = at(x).bytes();
  const ValueId inner = make_like(x, at(x).type);  // the squares, or the log-probabilities
  if (setting_.loss == network::Loss::cross_entropy && at(x).rank > 0 && at(x).elements > 0) {
    const std::int64_t width = std::max<std::int64_t>(at(x).dims[at(x).rank - 1], 1);
    kernel(hardware::OperatorClass::softmax, at(x).type, {at(x).elements / width, width});
    backward_kernel(x, hardware::OperatorClass::softmax, hardware::Direction::backward_input, at(x).type,
                    {at(x).elements / width, width});
  }
  program_.values[static_cast<std::size_t>(inner)].needs_gradient = needs_gradient(x);
  if (setting_.loss == network::Loss::mean_square) {
    save(x);
    // x², then x, 2x, and the product with what came back
    using hardware::Direction;
    using hardware::OperatorClass;
    kernel(OperatorClass::unary, at(x).type, {at(x).elements});
    for (int i = 0; i < 2; ++i)
      backward_kernel(x, OperatorClass::unary, Direction::forward, at(x).type, {at(x).elements});
    backward_kernel(x, OperatorClass::binary, Direction::forward, at(x).type, {at(x).elements});
    backward_scratch(bytes);
    backward_scratch(bytes);
    backward_gradient(x);
  } else {
    save(inner);
    backward_gradient(x);
  }
  end({inner});
  begin();
  const ValueId loss = make_hidden(1, at(inner).type);
  program_.values[static_cast<std::size_t>(loss)].needs_gradient = needs_gradient(inner);
  if (setting_.loss == network::Loss::mean_square) {
    kernel(hardware::OperatorClass::row_sum, at(inner).type, {1, at(inner).elements});
    backward_kernel(inner, hardware::OperatorClass::unary, hardware::Direction::forward, at(inner).type,
                    {at(inner).elements});
  }
  backward_gradient(inner);
  end({loss});
}

Result<Program> Lowering::run() {
  weights_and_inputs();
  fusions_ = network::recognise(network_, shapes_);
  if (platform_.eight_bits && !training()) quantized_ = network::find_quantized_layers(network_);
  fast_attention_ = has_fast_attention();
  causal_ = network::find_causal_products(network_);
  find_last_only();
  const auto& operators = network_.main().operators;
  last_call_.assign(operators.size(), kNoCall);
  for (std::uint32_t i = 0; i < operators.size() && too_large_.empty(); ++i) {
    const std::size_t before = program_.calls.size();
    lower_operator(i, operators[i], fusions_[i]);
    if (program_.calls.size() > before) last_call_[i] = static_cast<std::uint32_t>(program_.calls.size() - 1);
  }
  for (const TensorId id : network_.main().outputs)
    if (const ValueId v = bound_[at_index(id)]; v != kNoValue)
      program_.storages[static_cast<std::size_t>(at(v).storage)].output = true;
  if (training() && too_large_.empty()) lower_loss();
  if (!too_large_.empty()) return fail("'{}' has 2^60 bytes or more", too_large_);
  if (training()) {
    add_gradient_sums();
    add_accumulation();
    add_update();
  }
  set_lifetimes();
  find_layers();
  return std::move(program_);
}

Result<Program> lower(const network::Network& network, const network::Shapes& shapes,
                      const network::Setting& setting, const Platform& platform) {
  if (setting.mode == network::Mode::train && setting.precision == network::Precision::int8)
    return fail("int8 is for inference; no framework trains in it");
  const auto kept = std::ranges::find(network.stored, true, &network::StoredWeight::kept);
  if (setting.mode == network::Mode::train && kept != network.stored.end())
    return fail("its weights are stored as {} and stay so, which is for inference; no framework trains them",
                network.view(kept->format));
  return Lowering(network, shapes, setting, platform).run();
}

const LoweringRule* lowering_rule(network::OperatorKind kind) {
  static const std::vector<const LoweringRule*> rules = [] {
    std::vector<const LoweringRule*> table(network::operator_table().size(), nullptr);
    for (const auto rows : {elementwise_rules(), view_rules(), layer_rules(), normalization_rules(),
                            attention_rules(), expert_rules()})
      for (const LoweringRule& row : rows) {
        const auto found = network::find_operator(row.domain, row.name);
        if (found != network::kUnknownKind) table[static_cast<std::size_t>(found)] = &row;
      }
    return table;
  }();
  return rules[static_cast<std::size_t>(kind)];
}

}  // namespace plimsoll::program
