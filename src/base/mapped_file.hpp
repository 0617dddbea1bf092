#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

#include "base/error.hpp"

namespace plimsoll {

/// A regular file mapped into memory for reading. Opening costs the same for any size: pages are read when
/// they are looked at. Anything but a regular file (a folder, FIFO, device) is refused, never waited for.
class MappedFile {
 public:
  [[nodiscard]] static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

}  // namespace plimsoll
