#pragma once
#include <chrono>
#include <filesystem>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace plimsoll::running {

/// Held by one process, and one thread of it, at a time; goes with the object, and with the process.
class FileLock {
 public:
  /// Of a file of its own, which is made where it is not there, or of a directory, which needs none. Waits no
  /// longer than told: then the error may pass.
  [[nodiscard]] static Result<FileLock> of_file(const std::filesystem::path& path,
                                                std::chrono::milliseconds patience);
  [[nodiscard]] static Result<FileLock> of_directory(const std::filesystem::path& path,
                                                     std::chrono::milliseconds patience);

 private:
  explicit FileLock(FileDescriptor file) : file_(std::move(file)) {}
  [[nodiscard]] static Result<FileLock> take(FileDescriptor file, const std::filesystem::path& path,
                                             std::chrono::milliseconds patience);
  FileDescriptor file_;
};

}  // namespace plimsoll::running
