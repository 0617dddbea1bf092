#pragma once
#include <ATen/core/Tensor.h>

#include "network/setting.hpp"

namespace plimsoll::engine {

/// Sets what the whole process computes float32 products and convolutions in: fp32 is what PyTorch does by
/// default (TF32 in convolutions alone), tf32 both, fp32-strict neither.
void set_float32_arithmetic(network::Precision precision);
void set_deterministic(bool deterministic);
void seed_generators(std::uint64_t seed);

/// Autocast, where the precision asks for it, for as long as the object lives.
class Autocast {
 public:
  Autocast(network::Precision precision, at::Device device);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool on_ = false;
  at::DeviceType device_;
};

}  // namespace plimsoll::engine
