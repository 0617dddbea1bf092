#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "engine/executor.hpp"
#include "job/job.hpp"

namespace plimsoll::engine {

/// Changes parameters by their gradients, with the same calls over all of them at once that PyTorch's
/// optimizers make.
class Optimizer {
 public:
  /// Without a decay it is the optimizer's own: 0.01 of AdamW, none of the others.
  Optimizer(network::Optimizer kind, double learning_rate, std::vector<at::Tensor> parameters,
            std::optional<double> weight_decay = {});
  void step();
  void forget_gradients();
  void set_learning_rate(double learning_rate) { learning_rate_ = learning_rate; }

  /// What it keeps from step to step, in the order of the parameters that have gradients.
  struct Kept {
    std::vector<at::Tensor> first, second;  ///< momentum, or Adam's two moments
    std::int64_t taken = 0;                 ///< steps
  };
  [[nodiscard]] const Kept& kept() const { return kept_; }
  void bring_back(Kept kept) { kept_ = std::move(kept); }
  [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }

 private:
  void momentum(at::TensorList parameters, at::TensorList gradients);
  void adam(at::TensorList parameters, at::TensorList gradients, bool decoupled_decay);

  network::Optimizer kind_;
  double learning_rate_;
  double weight_decay_;
  std::vector<at::Tensor> parameters_;
  Kept kept_;
};

/// Classes, drawn, that fit an output of this shape; nothing for losses other than cross-entropy.
[[nodiscard]] at::Tensor random_labels(network::Loss loss, at::IntArrayRef output, at::Device device,
                                       std::uint64_t seed);

/// Cross-entropy of classes in dimension 1; mean of squares of the difference from the labels, or, without
/// labels, of the output itself; the output's sum for none.
[[nodiscard]] at::Tensor loss_of(network::Loss loss, const at::Tensor& output, const at::Tensor& labels);

/// Forward, `weight` times the loss, backward: adds to the gradients that are there. The loss, which is not
/// weighted, stays on the device.
[[nodiscard]] at::Tensor add_gradients(const network::Setting& setting, Executor& executor,
                                       Executor::Inputs inputs, const at::Tensor& labels, double weight = 1);

/// One training step: forgets gradients, forward, loss, backward, update. The loss stays on the device.
[[nodiscard]] at::Tensor training_step(const network::Setting& setting, Executor& executor,
                                       Executor::Inputs inputs, const at::Tensor& labels,
                                       Optimizer& optimizer);

}  // namespace plimsoll::engine
