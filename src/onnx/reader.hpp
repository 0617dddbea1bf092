#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "onnx/model.hpp"

namespace plimsoll::onnx {

/// Reads an ONNX file: the graph is decoded in place from the mapped file, weights are only noted. Any file
/// is safe to read; one that cannot be used gives an Error that names it and, where it can, the node.
[[nodiscard]] Result<Model> read(const std::filesystem::path& path);

/// The same from memory that must outlive the Model. `origin` stands for the file's name in messages.
[[nodiscard]] Result<Model> read_bytes(std::span<const std::byte> bytes, std::string_view origin);

}  // namespace plimsoll::onnx
