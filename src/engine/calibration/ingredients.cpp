#include "engine/calibration/ingredients.hpp"

#include <algorithm>

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

namespace plimsoll::engine {
namespace {

/// More than the last cache of any device known. Weights so small that the most copies together stay warm
/// take next to no time to read.
constexpr std::int64_t kColdBytes = std::int64_t{128} << 20;
constexpr std::int64_t kMostCopies = 64;

}  // namespace

std::size_t cold_copies(std::int64_t bytes) {
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(kColdBytes / std::max<std::int64_t>(bytes, 1) + 1, 1, kMostCopies));
}

Ingredients Ingredients::channels_last() const {
  Ingredients out = *this;
  out.format_ = at::MemoryFormat::ChannelsLast;
  return out;
}

at::Tensor Ingredients::values(at::IntArrayRef dims) const {
  const at::MemoryFormat format = dims.size() == 4 ? format_ : at::MemoryFormat::Contiguous;
  at::Tensor made = at::empty(dims, at::TensorOptions().dtype(type_).device(device_).memory_format(format));
  // What a GPU's multipliers draw, and with it its clock, depends on the numbers. A CPU's time does not, and
  // there drawing them would take longer than what is measured.
  if (device_.is_cpu()) return made.fill_(0.25);
  return made.normal_(0, 0.5);
}

Ring Ingredients::weights(at::IntArrayRef dims) const {
  std::vector<at::Tensor> copies = {values(dims)};
  const std::size_t wanted = cold_copies(static_cast<std::int64_t>(copies[0].nbytes()));
  while (copies.size() < wanted) copies.push_back(values(dims));
  return Ring(std::move(copies));
}

at::Tensor Ingredients::indices(std::int64_t count, std::int64_t below) const {
  return at::randint(below, {count}, at::TensorOptions().dtype(at::kLong).device(device_));
}

at::Tensor Ingredients::truths(at::IntArrayRef dims) const {
  return at::ones(dims, at::TensorOptions().dtype(at::kBool).device(device_));
}

OperatorCall backward_of(const Ingredients& make, std::vector<at::Tensor> inputs, const Forward& forward) {
  for (at::Tensor& input : inputs) input.requires_grad_(true);
  at::Tensor result;
  {
    const c10::AutoGradMode with_gradients(true);
    result = forward();
  }
  const at::Tensor gradient = make.values(result.sizes());
  return [inputs = std::move(inputs), result, gradient] {
    return torch::autograd::grad({result}, inputs, {gradient}, /*retain_graph=*/true);
  };
}

}  // namespace plimsoll::engine
