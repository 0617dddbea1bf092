#include "engine/training.hpp"

#include <cmath>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include "engine/precision.hpp"

namespace plimsoll::engine {
namespace {

constexpr double kMomentum = 0.9, kFirstDecay = 0.9, kSecondDecay = 0.999, kEpsilon = 1e-8,
                 kWeightDecay = 0.01;

}  // namespace

Optimizer::Optimizer(network::Optimizer kind, double learning_rate, std::vector<at::Tensor> parameters,
                     std::optional<double> weight_decay)
    : kind_(kind),
      learning_rate_(learning_rate),
      weight_decay_(weight_decay.value_or(kind == network::Optimizer::adamw ? kWeightDecay : 0)),
      parameters_(std::move(parameters)) {}

void Optimizer::forget_gradients() {
  for (at::Tensor& p : parameters_) p.mutable_grad() = at::Tensor();
}

void Optimizer::step() {
  const c10::NoGradGuard no_gradients;
  std::vector<at::Tensor> parameters, gradients;
  for (const at::Tensor& p : parameters_) {
    if (!p.grad().defined()) continue;
    parameters.push_back(p);
    gradients.push_back(p.grad());
  }
  if (parameters.empty()) return;
  ++kept_.taken;
  // As a term of the loss; AdamW takes it off the parameters themselves.
  if (weight_decay_ > 0 && kind_ != network::Optimizer::adamw)
    gradients = at::_foreach_add(gradients, parameters, weight_decay_);
  switch (kind_) {
    case network::Optimizer::sgd: at::_foreach_add_(parameters, gradients, -learning_rate_); break;
    case network::Optimizer::momentum: momentum(parameters, gradients); break;
    case network::Optimizer::adam: adam(parameters, gradients, false); break;
    case network::Optimizer::adamw: adam(parameters, gradients, true); break;
  }
}

void Optimizer::momentum(at::TensorList parameters, at::TensorList gradients) {
  if (kept_.first.empty()) {
    for (const at::Tensor& g : gradients) kept_.first.push_back(g.detach().clone());
  } else {
    at::_foreach_mul_(kept_.first, kMomentum);
    at::_foreach_add_(kept_.first, gradients, 1);
  }
  at::_foreach_add_(parameters, kept_.first, -learning_rate_);
}

/// Kingma and Ba 2015; decoupled decay: Loshchilov and Hutter 2019. The order of calls, and with it the
/// temporaries, is that of PyTorch's implementation over lists.
void Optimizer::adam(at::TensorList parameters, at::TensorList gradients, bool decoupled_decay) {
  if (kept_.first.empty())
    for (const at::Tensor& p : parameters) {
      kept_.first.push_back(at::zeros_like(p));
      kept_.second.push_back(at::zeros_like(p));
    }
  if (decoupled_decay && weight_decay_ > 0) at::_foreach_mul_(parameters, 1 - learning_rate_ * weight_decay_);
  at::_foreach_mul_(kept_.first, kFirstDecay);
  at::_foreach_add_(kept_.first, gradients, 1 - kFirstDecay);
  at::_foreach_mul_(kept_.second, kSecondDecay);
  at::_foreach_addcmul_(kept_.second, gradients, gradients, 1 - kSecondDecay);
  const auto taken = static_cast<double>(kept_.taken);
  const double first_correction = 1 - std::pow(kFirstDecay, taken);
  const double second_correction = std::sqrt(1 - std::pow(kSecondDecay, taken));
  std::vector<at::Tensor> scale = at::_foreach_sqrt(kept_.second);
  at::_foreach_div_(scale, second_correction);
  at::_foreach_add_(scale, kEpsilon);
  at::_foreach_addcdiv_(parameters, kept_.first, scale, -learning_rate_ / first_correction);
}

at::Tensor random_labels(network::Loss loss, at::IntArrayRef output, at::Device device, std::uint64_t seed) {
  if (loss != network::Loss::cross_entropy || output.size() < 2) return {};
  at::Generator generator = at::detail::createCPUGenerator(seed + 2);
  std::vector<std::int64_t> dims = output.vec();
  dims.erase(dims.begin() + 1);
  return at::empty(dims, at::kLong).random_(0, output[1], generator).to(device);
}

at::Tensor loss_of(network::Loss loss, const at::Tensor& output, const at::Tensor& labels) {
  switch (loss) {
    case network::Loss::cross_entropy:
      TORCH_CHECK(labels.defined(), "cross-entropy needs an output of two dimensions or more");
      return at::cross_entropy_loss(output, labels);
    case network::Loss::mean_square:
      return labels.defined() ? at::mse_loss(output, labels) : output.pow(2).mean();
    case network::Loss::none: break;
  }
  return output.sum();
}

at::Tensor add_gradients(const network::Setting& setting, Executor& executor, Executor::Inputs inputs,
                         const at::Tensor& labels, double weight) {
  at::Tensor loss;
  {
    const Autocast autocast(setting.precision, executor.device());
    const std::vector<Value> outputs = executor.run(inputs);
    TORCH_CHECK(!outputs.empty() && outputs[0].tensor.defined(), "the network has no output to learn from");
    loss = loss_of(setting.loss, outputs[0].tensor, labels);
  }
  if (weight == 1)  // nothing is allocated for it
    loss.backward();
  else
    loss.mul(weight).backward();
  return loss.detach();
}

at::Tensor training_step(const network::Setting& setting, Executor& executor, Executor::Inputs inputs,
                         const at::Tensor& labels, Optimizer& optimizer) {
  optimizer.forget_gradients();
  at::Tensor loss = add_gradients(setting, executor, inputs, labels);
  optimizer.step();
  return loss;
}

}  // namespace plimsoll::engine
