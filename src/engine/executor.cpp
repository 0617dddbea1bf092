#include "engine/executor.hpp"

#include <algorithm>

#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>

namespace plimsoll::engine {

using network::GraphId;
using network::kNoTensor;
using network::TensorId;

/// Tensors of the host up to this size are computed once; more are taken for data.
constexpr std::size_t kMostNumberBytes = std::size_t{1} << 20;

/// One instruction's view of the values.
class InstructionCall final : public Call {
 public:
  InstructionCall(Executor& executor, const Instruction& instruction)
      : executor_(executor), instruction_(instruction) {
    const auto on_host = [&](TensorId id) {
      if (id == kNoTensor) return true;
      const Value& v = executor.values_[index(id)];
      return v.is_sequence || !v.tensor.defined() || v.tensor.is_cpu();
    };
    device_ = instruction.shape_arithmetic && std::ranges::all_of(instruction.inputs, on_host)
                  ? at::Device(at::kCPU)
                  : executor.device_;
  }

  [[nodiscard]] bool has(std::size_t i) const override {
    if (i >= instruction_.inputs.size() || instruction_.inputs[i] == kNoTensor) return false;
    const Value& v = value(i);
    return v.is_sequence || v.tensor.defined();
  }
  [[nodiscard]] std::size_t inputs() const override { return instruction_.inputs.size(); }
  [[nodiscard]] const at::Tensor& in(std::size_t i) override {
    if (device_.is_cpu()) return where_it_lies(i);
    return executor_.on_device(instruction_.inputs[i], instruction_.scalars_stay);
  }
  [[nodiscard]] const at::Tensor& where_it_lies(std::size_t i) const override {
    const Value& v = value(i);
    TORCH_CHECK(v.tensor.defined(), "input ", i, " is not there");
    return v.tensor;
  }
  [[nodiscard]] const std::vector<at::Tensor>& sequence(std::size_t i) const override {
    return value(i).sequence;
  }
  [[nodiscard]] bool is_sequence(std::size_t i) const override { return value(i).is_sequence; }
  [[nodiscard]] at::Device device() const override { return device_; }

  void out(std::size_t i, at::Tensor tensor) override { set(i, Value{.tensor = std::move(tensor)}); }
  void out_sequence(std::size_t i, std::vector<at::Tensor> tensors) override {
    set(i, Value{.tensor = {}, .sequence = std::move(tensors), .is_sequence = true});
  }

  void hold(at::Tensor tensor) override { executor_.held_.push_back(std::move(tensor)); }

  [[nodiscard]] std::vector<Value> run_body(GraphId id, std::span<const Value> inputs) override {
    const network::Graph& body = executor_.routine_.network->graph(id);
    TORCH_CHECK(inputs.size() == body.inputs.size(), "a body of ", body.inputs.size(), " inputs is given ",
                inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) executor_.values_[index(body.inputs[i])] = inputs[i];
    executor_.run_graph(id);
    return executor_.collect(body);
  }

 private:
  [[nodiscard]] const Value& value(std::size_t i) const {
    return executor_.values_[index(instruction_.inputs[i])];
  }
  void set(std::size_t i, Value value) {
    if (i < instruction_.outputs.size() && instruction_.outputs[i] != kNoTensor)
      executor_.values_[index(instruction_.outputs[i])] = std::move(value);
  }

  Executor& executor_;
  const Instruction& instruction_;
  at::Device device_ = at::kCPU;
};

Executor::Executor(Routine routine, at::Device device)
    : routine_(std::move(routine)),
      device_(device),
      values_(routine_.network->tensors.size()),
      kept_(values_.size(), false),
      on_device_(values_.size()) {
  for (const KnownTensor& k : routine_.known) keep(k.tensor, k.contents);
}

void Executor::keep(TensorId id, at::Tensor tensor) {
  values_[index(id)] = Value{.tensor = std::move(tensor)};
  kept_[index(id)] = true;
  on_device_[index(id)] = at::Tensor();
  for (const auto& [output, stored] : routine_.constants)
    if (stored == id && output != id) keep(output, values_[index(id)].tensor);
}

const at::Tensor& Executor::on_device(TensorId id, bool scalars_stay) {
  const at::Tensor& tensor = values_[index(id)].tensor;
  TORCH_CHECK(tensor.defined(), "the tensor '", std::string(routine_.network->name_of(id)), "' is not there");
  if (tensor.device() == device_ || (scalars_stay && tensor.dim() == 0)) return tensor;
  at::Tensor& copy = on_device_[index(id)];
  if (!copy.defined() || !kept_[index(id)]) copy = tensor.to(device_);
  return copy;
}

void Executor::run_instruction(const Instruction& instruction, const network::Graph& graph) {
  running_ = &graph.operators[instruction.op];
  InstructionCall call(*this, instruction);
  instruction.kernel(call);
  for (const TensorId id : instruction.releases) {
    values_[index(id)] = {};
    on_device_[index(id)] = at::Tensor();
  }
}

void Executor::run_graph(GraphId id) {
  const network::Graph& graph = routine_.network->graph(id);
  for (const Instruction& instruction : routine_.graphs[static_cast<std::size_t>(id)])
    run_instruction(instruction, graph);
}

void Executor::run_instructions(std::size_t begin, std::size_t end) {
  const network::Graph& graph = routine_.network->main();
  for (std::size_t i = begin; i < end; ++i) {
    run_instruction(routine_.graphs[0][i], graph);
    if (after_instruction) after_instruction(i);
  }
}

std::vector<Value> Executor::collect(const network::Graph& graph) {
  std::vector<Value> outputs;
  for (const TensorId id : graph.outputs) outputs.push_back(values_[index(id)]);
  return outputs;
}

std::vector<Value> Executor::run(Inputs inputs) {
  for (const auto& [id, tensor] : inputs) values_[index(id)] = Value{.tensor = tensor};
  if (run_main)
    run_main();
  else
    run_instructions(0, routine_.graphs[0].size());
  running_ = nullptr;
  std::vector<Value> outputs = collect(routine_.network->main());
  clear();
  return outputs;
}

void Executor::clear() {
  held_.clear();
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (kept_[i]) continue;
    values_[i] = {};
    on_device_[i] = at::Tensor();
  }
}

std::string Executor::failed_at() const {
  return running_ == nullptr ? std::string() : network::describe(*routine_.network, *running_);
}

namespace {

/// What the mask does, and whether it does so for every query: "none" where it changes nothing, "causal"
/// where each query sees itself and what is before it.
MaskUse use_of(const at::Tensor& mask) {
  const bool truth = mask.scalar_type() == at::kBool;
  const at::Tensor allowed = truth ? mask : mask.eq(0);
  if (!truth && !allowed.logical_or(mask.le(-1e4)).all().item().toBool()) return MaskUse::as_given;
  if (allowed.all().item().toBool()) return MaskUse::none;
  if (allowed.dim() < 2 || allowed.size(-1) != allowed.size(-2)) return MaskUse::as_given;
  const at::Tensor triangle =
      at::ones({allowed.size(-2), allowed.size(-1)}, allowed.options().dtype(at::kBool)).tril();
  return allowed.eq(triangle).all().item().toBool() ? MaskUse::causal : MaskUse::as_given;
}

}  // namespace

/// Marks in `needed` the instructions that make a tensor; true where one of them reads an input of the graph.
bool Executor::depends_on_input(TensorId id, std::vector<bool>& needed) const {
  if (id == kNoTensor || kept_[index(id)]) return false;
  const auto& instructions = routine_.graphs[0];
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (std::ranges::find(instructions[i].outputs, id) == instructions[i].outputs.end()) continue;
    if (needed[i]) return false;
    needed[i] = true;
    for (const TensorId input : instructions[i].inputs)
      if (depends_on_input(input, needed)) return true;
    return false;
  }
  return true;
}

void Executor::settle_masks() {
  auto& instructions = routine_.graphs[0];
  std::vector<bool> made(instructions.size(), false);
  for (const AttentionMask& mask : routine_.masks) {
    std::vector<bool> needed(instructions.size(), false);
    if (depends_on_input(mask.tensor, needed)) continue;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      if (!needed[i] || made[i]) continue;
      made[i] = true;
      const Instruction& instruction = instructions[i];
      InstructionCall call(*this, instruction);
      running_ = &routine_.network->main().operators[instruction.op];
      instruction.kernel(call);
    }
    const at::Tensor contents = values_[index(mask.tensor)].tensor;
    *mask.use = use_of(contents);
    if (*mask.use == MaskUse::as_given) keep(mask.tensor, contents.to(device_));
  }
  running_ = nullptr;
  // Only what made masks may be dropped, and only where nothing else reads it.
  std::vector<std::uint32_t> uses(values_.size(), 0);
  for (const auto& graph : routine_.graphs)
    for (const Instruction& instruction : graph)
      for (const TensorId id : instruction.inputs)
        if (id != kNoTensor) ++uses[index(id)];
  for (const TensorId id : routine_.network->main().outputs) ++uses[index(id)];
  for (const AttentionMask& mask : routine_.masks) {
    std::uint32_t& readers = uses[index(mask.tensor)];
    if (kept_[index(mask.tensor)])
      readers = 0;
    else if (*mask.use != MaskUse::as_given)
      --readers;
  }
  std::vector<bool> dropped(instructions.size(), false);
  for (std::size_t i = instructions.size(); i-- > 0;) {
    if (!made[i]) continue;
    dropped[i] = std::ranges::all_of(instructions[i].outputs,
                                     [&](TensorId id) { return id == kNoTensor || uses[index(id)] == 0; });
    if (!dropped[i]) continue;
    for (const TensorId id : instructions[i].inputs)
      if (id != kNoTensor && uses[index(id)] > 0) --uses[index(id)];
  }
  drop(dropped);
  clear();
}

void Executor::drop(const std::vector<bool>& dropped) {
  std::vector<Instruction>& instructions = routine_.graphs[0];
  std::vector<Instruction> left;
  std::vector<TensorId> releases;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    releases.insert(releases.end(), instructions[i].releases.begin(), instructions[i].releases.end());
    if (dropped[i]) continue;
    left.push_back(std::move(instructions[i]));
    left.back().releases = std::exchange(releases, {});
  }
  instructions = std::move(left);
}

void Executor::settle_numbers() {
  std::vector<Instruction>& instructions = routine_.graphs[0];
  std::vector<bool> dropped(instructions.size(), false);
  const auto is_number = [&](TensorId id) {
    if (id == kNoTensor) return true;
    const at::Tensor& tensor = values_[index(id)].tensor;
    return kept_[index(id)] && tensor.defined() && tensor.is_cpu() && tensor.nbytes() <= kMostNumberBytes &&
           !tensor.requires_grad();
  };
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& instruction = instructions[i];
    if (!instruction.shape_arithmetic || !std::ranges::all_of(instruction.inputs, is_number)) continue;
    running_ = &routine_.network->main().operators[instruction.op];
    InstructionCall call(*this, instruction);
    instruction.kernel(call);
    const bool small = std::ranges::all_of(instruction.outputs, [&](TensorId id) {
      if (id == kNoTensor) return true;
      const Value& v = values_[index(id)];
      return !v.is_sequence && v.tensor.defined() && v.tensor.is_cpu() &&
             v.tensor.nbytes() <= kMostNumberBytes;
    });
    if (!small) continue;
    for (const TensorId id : instruction.outputs)
      if (id != kNoTensor) keep(id, values_[index(id)].tensor);
    dropped[i] = true;
  }
  running_ = nullptr;
  // What is kept for all passes is not released in one.
  for (Instruction& instruction : instructions)
    std::erase_if(instruction.releases, [&](TensorId id) { return kept_[index(id)]; });
  drop(dropped);
  clear();
}

}  // namespace plimsoll::engine
