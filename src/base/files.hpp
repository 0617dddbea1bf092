#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace plimsoll {

/// The whole contents of a file, a pipe or a file of /proc. Fails where there are more than `max_bytes`,
/// without having read more than that. For models, which are large, map the file instead.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path, std::size_t max_bytes);

/// Writes `contents` so that a reader, and a machine that loses power, sees the old file or the new one and
/// never a part: a temporary file beside it, fsync, rename. An existing file's permissions are kept and a
/// symbolic link is followed. What is no regular file (/dev/stdout) is written to directly.
[[nodiscard]] Status write_file(const std::filesystem::path& path, std::string_view contents);

/// A new directory that only this user may enter; removed with all it holds when the object goes.
class TemporaryDirectory {
 public:
  /// In $TMPDIR, else /tmp; its name begins with `prefix`.
  [[nodiscard]] static Result<TemporaryDirectory> make(std::string_view prefix = "plimsoll");

  TemporaryDirectory(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;  // empty after a move
};

}  // namespace plimsoll
