#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan.hpp"

namespace plimsoll::engine {

/// Runs a Plan on one device, pass after pass. Exceptions of the library come through; failed_at() then says
/// where.
class Executor {
 public:
  Executor(Plan plan, at::Device device);

  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] at::Device device() const { return device_; }

  /// Keeps a tensor for all passes: a weight.
  void keep(network::TensorId id, at::Tensor tensor);
  [[nodiscard]] const at::Tensor& kept(network::TensorId id) const { return values_[index(id)].tensor; }

  /// Computes, once and for all, small tensors of the host that depend on nothing but others of them: shape
  /// arithmetic beyond what inference knows. Weights must be there.
  void settle_numbers();

  /// Finds how each recognised attention uses its mask, where that does not depend on the graph's inputs:
  /// computes the mask once, and drops the steps that only made it. Weights must be there.
  void settle_masks();

  using Inputs = std::span<const std::pair<network::TensorId, at::Tensor>>;
  /// One pass; the graph's outputs. What a pass made is gone afterwards, but for the outputs.
  [[nodiscard]] std::vector<Value> run(Inputs inputs);

  /// Steps [begin, end) of the main graph with the values as they are; for checkpointed segments.
  void run_steps(std::size_t begin, std::size_t end);
  [[nodiscard]] std::vector<Step>& steps() { return plan_.graphs[0]; }
  [[nodiscard]] Value& value(network::TensorId id) { return values_[index(id)]; }
  void clear();  ///< forgets all that a pass made

  /// Called after every step of the main graph; for time by layer.
  std::function<void(std::size_t step)> after_step = {};
  /// Replaces the running of the main graph's steps; for checkpoints.
  std::function<void()> run_main = {};

  /// The operator that was running when something was thrown; empty between passes.
  [[nodiscard]] std::string failed_at() const;

 private:
  friend class StepCall;
  void run_step(const Step& step, const network::Graph& graph);
  void run_graph(network::GraphId id);
  [[nodiscard]] const at::Tensor& on_device(network::TensorId id, bool scalars_stay);
  [[nodiscard]] std::vector<Value> collect(const network::Graph& graph);
  /// Removes steps; what they were to release is released by the next that is left.
  void drop(const std::vector<bool>& dropped);
  [[nodiscard]] bool depends_on_input(network::TensorId id, std::vector<bool>& needed) const;

  Plan plan_;
  at::Device device_;
  std::vector<Value> values_;          ///< by tensor
  std::vector<bool> kept_;             ///< by tensor: outlives the pass
  std::vector<at::Tensor> on_device_;  ///< by tensor: a kept host tensor's copy on the device
  std::vector<at::Tensor> held_;       ///< until the pass has ended
  const network::Operator* running_ = nullptr;
};

}  // namespace plimsoll::engine
