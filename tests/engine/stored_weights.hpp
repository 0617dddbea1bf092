#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "engine/executor.hpp"
#include "onnx/model.hpp"

namespace plimsoll {

/// Elements as they lie in memory; a copy.
[[nodiscard]] Result<at::Tensor> tensor_of(std::span<const std::byte> bytes, network::DataType type,
                                           std::vector<std::int64_t> dims);

/// Gives the executor the weights that an ONNX file holds.
[[nodiscard]] Status load_weights(engine::Executor& executor, onnx::Model& model);

}  // namespace plimsoll
