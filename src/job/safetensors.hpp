#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
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

/// Takes bytes that are to be written.
using ByteSink = std::function<Status(std::span<const std::byte>)>;

struct ArrayToStore {
  std::string name;
  network::DataType type = network::DataType::undefined;
  std::vector<std::int64_t> dims;
  std::span<const std::byte> bytes;
  /// In place of `bytes`, for what is larger than memory: called when it is due, in the order of the arrays;
  /// it hands over as many bytes as type and shape take.
  std::function<Status(const ByteSink&)> stream = {};
};
/// Writes the arrays, in this order, each aligned to 64 bytes in the file.
[[nodiscard]] Status write_safetensors(const std::filesystem::path& path,
                                       std::span<const ArrayToStore> arrays);
/// The same so that a reader, and a machine that loses power, sees the old file or the new one and never a
/// part: a temporary file beside it ("PATH.part"), fsync, rename. One writer at a time.
[[nodiscard]] Status replace_safetensors(const std::filesystem::path& path,
                                         std::span<const ArrayToStore> arrays);

}  // namespace plimsoll::job
