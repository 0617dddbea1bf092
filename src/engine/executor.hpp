#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/routine.hpp"

namespace plimsoll::engine {

/// Runs a Routine on one device, pass after pass. Exceptions of the library come through; failed_at() then
/// says where.
class Executor {
 public:
  Executor(Routine routine, at::Device device);

  [[nodiscard]] const Routine& routine() const { return routine_; }
  [[nodiscard]] at::Device device() const { return device_; }

  /// Keeps a tensor for all passes: a weight.
  void keep(network::TensorId id, at::Tensor tensor);
  [[nodiscard]] const at::Tensor& kept(network::TensorId id) const { return values_[index(id)].tensor; }

  /// Computes, once and for all, small tensors of the host that depend on nothing but others of them: shape
  /// arithmetic beyond what inference knows. Weights must be there.
  void settle_numbers();

  /// Finds how each recognised attention uses its mask, where that does not depend on the graph's inputs:
  /// computes the mask once, and drops the instructions that only made it. Weights must be there.
  void settle_masks();

  using Inputs = std::span<const std::pair<network::TensorId, at::Tensor>>;
  /// One pass; the graph's outputs. What a pass made is gone afterwards, but for the outputs.
  [[nodiscard]] std::vector<Value> run(Inputs inputs);

  /// Instructions [begin, end) of the main graph with the values as they are; for checkpointed segments.
  void run_instructions(std::size_t begin, std::size_t end);
  [[nodiscard]] std::vector<Instruction>& instructions() { return routine_.graphs[0]; }
  [[nodiscard]] Value& value(network::TensorId id) { return values_[index(id)]; }
  void clear();  ///< forgets all that a pass made

  /// Called after every instruction of the main graph; for time by layer.
  std::function<void(std::size_t instruction)> after_instruction = {};
  /// Replaces the running of the main graph's instructions; for checkpoints.
  std::function<void()> run_main = {};

  /// The operator that was running when something was thrown; empty between passes.
  [[nodiscard]] std::string failed_at() const;

 private:
  friend class InstructionCall;
  void run_instruction(const Instruction& instruction, const network::Graph& graph);
  void run_graph(network::GraphId id);
  [[nodiscard]] const at::Tensor& on_device(network::TensorId id, bool scalars_stay);
  [[nodiscard]] std::vector<Value> collect(const network::Graph& graph);
  /// Removes instructions; what they were to release is released by the next that is left.
  void drop(const std::vector<bool>& dropped);
  [[nodiscard]] bool depends_on_input(network::TensorId id, std::vector<bool>& needed) const;

  Routine routine_;
  at::Device device_;
  std::vector<Value> values_;          ///< by tensor
  std::vector<bool> kept_;             ///< by tensor: outlives the pass
  std::vector<at::Tensor> on_device_;  ///< by tensor: a kept host tensor's copy on the device
  std::vector<at::Tensor> held_;       ///< until the pass has ended
  const network::Operator* running_ = nullptr;
};

}  // namespace plimsoll::engine
