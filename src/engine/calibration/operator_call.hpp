#pragma once
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/error.hpp"
#include "job/operator_case.hpp"

namespace plimsoll::engine {

/// One call of an operator, ready to run again and again: its inputs lie on the device. Answers its results,
/// so that the caller decides how long they live. Every call takes the next of several copies of the weights,
/// which together are larger than the device's cache: cold, as in a network, while activations stay warm
/// where they fit.
using OperatorCall = std::function<std::vector<at::Tensor>()>;

/// Puts a case's inputs on the device and sets what float32 products are computed in (of the whole process).
/// An error where no such operator is known or extents make no sense; throws what the library throws.
[[nodiscard]] Result<OperatorCall> prepare_call(const job::OperatorCase& c, at::Device device);

}  // namespace plimsoll::engine
