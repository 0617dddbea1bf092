#include "engine/precision.hpp"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/api/include/torch/version.h>

namespace plimsoll::engine {

using network::Precision;

void set_float32_arithmetic(Precision precision) {
  at::Context& context = at::globalContext();
  context.setAllowTF32CuDNN(precision != Precision::fp32_strict);
  context.setAllowTF32CuBLAS(precision == Precision::tf32);
  context.setBenchmarkCuDNN(false);
}

void set_deterministic(bool deterministic) {
  at::globalContext().setDeterministicAlgorithms(deterministic, /*warn_only=*/true);
  at::globalContext().setDeterministicCuDNN(deterministic);
}

void seed_generators(std::uint64_t seed) {
  at::manual_seed(seed);
}

Autocast::Autocast(Precision precision, at::Device device) : device_(device.type()) {
  if (precision != Precision::amp_bf16 && precision != Precision::amp_fp16) return;
  const at::ScalarType type = precision == Precision::amp_bf16 ? at::kBFloat16 : at::kHalf;
  on_ = true;
  at::autocast::increment_nesting();
#if TORCH_VERSION_MAJOR >= 2
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, type);
#else
  if (device.is_cpu()) {
    at::autocast::set_cpu_enabled(true);
    at::autocast::set_autocast_cpu_dtype(type);
  } else {
    at::autocast::set_enabled(true);
    at::autocast::set_autocast_gpu_dtype(type);
  }
#endif
  at::autocast::set_autocast_cache_enabled(true);
}

Autocast::~Autocast() {
  if (!on_) return;
#if TORCH_VERSION_MAJOR >= 2
  at::autocast::set_autocast_enabled(device_, false);
#else
  at::autocast::set_enabled(false);
  at::autocast::set_cpu_enabled(false);
#endif
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
}

}  // namespace plimsoll::engine
