#pragma once
#include <functional>
#include <vector>

#include "engine/executor.hpp"
#include "job/job.hpp"

namespace plimsoll::engine {

/// Changes parameters by their gradients, with the same calls over all of them at once that PyTorch's
/// optimizers make.
class Optimizer {
 public:
  Optimizer(network::Optimizer kind, double learning_rate, std::vector<at::Tensor> parameters);
  void step();
  void forget_gradients();

 private:
  void momentum(at::TensorList parameters, at::TensorList gradients);
  void adam(at::TensorList parameters, at::TensorList gradients, bool decoupled_decay);

  network::Optimizer kind_;
  double learning_rate_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> first_, second_;  ///< momentum, or Adam's two moments
  std::int64_t taken_ = 0;
};

/// Classes, drawn, that fit an output of this shape; nothing for losses other than cross-entropy.
[[nodiscard]] at::Tensor random_labels(network::Loss loss, at::IntArrayRef output, at::Device device,
                                       std::uint64_t seed);

/// Cross-entropy of classes in dimension 1; mean of squares of the difference from the labels, or, without
/// labels, of the output itself; the output's sum for none.
[[nodiscard]] at::Tensor loss_of(network::Loss loss, const at::Tensor& output, const at::Tensor& labels);

/// One training step: forgets gradients, forward, loss, backward, update. The loss stays on the device.
[[nodiscard]] at::Tensor training_step(const network::Setting& setting, Executor& executor,
                                       Executor::Inputs inputs, const at::Tensor& labels,
                                       Optimizer& optimizer);

}  // namespace plimsoll::engine
