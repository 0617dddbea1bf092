#pragma once
#include <array>
#include <filesystem>
#include <string_view>

#include "base/file_descriptor.hpp"

namespace plimsoll::telemetry {

/// What one reading of a file of /proc or /sys may hold; longer ones are cut.
using ReadBuffer = std::array<char, 64 << 10>;

/// Reads a whole file from its beginning; empty where it cannot be read or holds nothing.
[[nodiscard]] std::string_view read_from_start(int descriptor, ReadBuffer& buffer);

/// A file of /proc or /sys that is read again and again through one descriptor: half the system calls, and of
/// a process that is gone it says so, even where another got its number.
class KeptFile {
 public:
  KeptFile() = default;
  explicit KeptFile(const std::filesystem::path& path);
  KeptFile(int directory, const char* name);  ///< as openat

  [[nodiscard]] bool open() const { return static_cast<bool>(descriptor_); }
  [[nodiscard]] std::string_view read(ReadBuffer& buffer) const;

 private:
  FileDescriptor descriptor_;
};

}  // namespace plimsoll::telemetry
