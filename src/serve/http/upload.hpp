#pragma once
#include <filesystem>
#include <string_view>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "serve/http/request.hpp"

namespace plimsoll::serve {

/// A body on its way into a file. Shared by a connection and the thread that writes, which may still be at it
/// when the connection has gone; one uses it at a time.
class Upload {
 public:
  explicit Upload(std::filesystem::path path) : path_(std::move(path)) {}

  [[nodiscard]] Status open();  ///< refuses a file that is there already
  [[nodiscard]] Status write(std::string_view bytes);
  /// Brings all of it to the disk; once, after the last write.
  [[nodiscard]] Status flush();
  [[nodiscard]] bool is_flushed() const { return is_flushed_; }
  /// The file as it is; without this it goes with the object.
  [[nodiscard]] std::optional<ReceivedFile> finish();

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  bool is_flushed_ = false;
  std::optional<ReceivedFile> received_;
};

}  // namespace plimsoll::serve
