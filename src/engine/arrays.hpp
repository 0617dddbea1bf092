#pragma once
#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "base/error.hpp"
#include "job/safetensors.hpp"

namespace plimsoll::engine {

/// The arrays of a safetensors file as tensors on the CPU; and the way back.
[[nodiscard]] Result<std::map<std::string, at::Tensor>> read_arrays(const std::string& path);
using ArrayWriter = Status (*)(const std::filesystem::path& path, std::span<const job::ArrayToStore> arrays);
[[nodiscard]] Status write_arrays(const std::string& path, const std::map<std::string, at::Tensor>& arrays,
                                  ArrayWriter write = job::write_safetensors);

}  // namespace plimsoll::engine
