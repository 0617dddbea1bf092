#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/mapped_file.hpp"
#include "gguf/metadata.hpp"
#include "gguf/tensor_type.hpp"

namespace plimsoll::gguf {

inline constexpr std::size_t kMostDims = 4;

/// One stored tensor; its name is a view into the file.
struct TensorInfo {
  std::string_view name;
  std::array<std::int64_t, kMostDims> dims = {1, 1, 1, 1};  ///< the innermost first, as the file has them
  std::size_t rank = 0;
  const TensorType* type = nullptr;
  std::int64_t offset = 0;  ///< of its data, from the data's beginning in its part of the file
  std::int64_t bytes = 0;
  std::uint32_t part = 0;  ///< of a file in parts

  [[nodiscard]] std::span<const std::int64_t> extents() const { return std::span(dims).first(rank); }
  [[nodiscard]] std::int64_t elements() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
};

/// A GGUF file, or all parts of a split one. Tensors' data is never looked at.
class File {
 public:
  std::uint32_t version = 0;
  Metadata metadata;                ///< of a split file: of its first part
  std::vector<TensorInfo> tensors;  ///< in the order of the file
  std::int64_t alignment = 0;
  std::int64_t parts = 1;

  [[nodiscard]] const TensorInfo* find(std::string_view name) const;

 private:
  friend Result<File> read(const std::filesystem::path& path);
  friend Result<File> read_bytes(std::span<const std::byte> bytes);
  [[nodiscard]] Status add(const TensorInfo& tensor);
  /// The next part of `count`, and the bytes that it was read from.
  [[nodiscard]] Status join(File part, MappedFile bytes, std::int64_t count);

  std::map<std::string_view, std::uint32_t> by_name_;
  std::vector<MappedFile> mapped_;
};

/// Reads version 2 or 3, little endian. Any file is safe to read. Of a split one
/// (NAME-00001-of-00003.gguf) any part stands for all, which must lie beside it.
[[nodiscard]] Result<File> read(const std::filesystem::path& path);

/// One file, or part, from memory that must outlive the File.
[[nodiscard]] Result<File> read_bytes(std::span<const std::byte> bytes);

}  // namespace plimsoll::gguf
