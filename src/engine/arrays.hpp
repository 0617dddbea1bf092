#pragma once
#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "base/error.hpp"

namespace plimsoll::engine {

/// The arrays of a safetensors file as tensors on the CPU; and the way back.
[[nodiscard]] Result<std::map<std::string, at::Tensor>> read_arrays(const std::string& path);
[[nodiscard]] Status write_arrays(const std::string& path, const std::map<std::string, at::Tensor>& arrays);

}  // namespace plimsoll::engine
