#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include <ATen/core/Tensor.h>

#include "engine/calibration/operator_call.hpp"

namespace plimsoll::engine {

/// Several tensors of one shape, taken in turns.
class Ring {
 public:
  explicit Ring(std::vector<at::Tensor> copies) : copies_(std::move(copies)) {}
  [[nodiscard]] const at::Tensor& next() {
    at_ = at_ + 1 < copies_.size() ? at_ + 1 : 0;
    return copies_[at_];
  }

 private:
  std::vector<at::Tensor> copies_;
  std::size_t at_ = 0;
};

/// How many copies of so many bytes are together larger than any cache.
[[nodiscard]] std::size_t cold_copies(std::int64_t bytes);

/// Makes the tensors of one case.
class Ingredients {
 public:
  Ingredients(at::Device device, at::ScalarType type) : device_(device), type_(type) {}

  /// The same, but tensors of four dimensions have the second fastest in memory.
  [[nodiscard]] Ingredients channels_last() const;
  [[nodiscard]] at::Tensor values(at::IntArrayRef dims) const;
  [[nodiscard]] Ring weights(at::IntArrayRef dims) const;
  [[nodiscard]] at::Tensor indices(std::int64_t count, std::int64_t below) const;
  [[nodiscard]] at::Tensor truths(at::IntArrayRef dims) const;  ///< all true

 private:
  at::Device device_;
  at::ScalarType type_;
  at::MemoryFormat format_ = at::MemoryFormat::Contiguous;
};

using Forward = std::function<at::Tensor()>;
/// The gradients of `inputs` from one of the result, as autograd computes them; the pass forward runs once.
[[nodiscard]] OperatorCall backward_of(const Ingredients& make, std::vector<at::Tensor> inputs,
                                       const Forward& forward);

}  // namespace plimsoll::engine
