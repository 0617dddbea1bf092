#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "network/data_type.hpp"

namespace plimsoll::job {

/// A tensor in a safetensors file: where its bytes lie, from the beginning of the file.
struct StoredArray {
  network::DataType type = network::DataType::undefined;
  std::vector<std::int64_t> dims;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const StoredArray&, const StoredArray&) = default;
};

/// The arrays of a safetensors file by name. Only the header is looked at; every array lies inside the file,
/// on no other, and its size fits its type and shape.
[[nodiscard]] Result<std::map<std::string, StoredArray>> read_safetensors(const std::filesystem::path& path);

/// The same for a file that is in memory, or mapped.
[[nodiscard]] Result<std::map<std::string, StoredArray>> read_safetensors_header(
    std::span<const std::byte> file);

struct ArrayToStore {
  std::string name;
  network::DataType type = network::DataType::undefined;
  std::vector<std::int64_t> dims;
  std::span<const std::byte> bytes;
};
/// Writes the arrays, in this order, each aligned to 64 bytes in the file.
[[nodiscard]] Status write_safetensors(const std::filesystem::path& path,
                                       std::span<const ArrayToStore> arrays);

}  // namespace plimsoll::job
