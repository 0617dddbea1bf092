#pragma once
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace plimsoll {

/// Where a long answer is written piece by piece: standard output, or a file that appears under its name only
/// when it is whole.
class PointFile {
 public:
  /// `path` empty: standard output.
  [[nodiscard]] static Result<PointFile> open(const std::string& path);
  PointFile(PointFile&&) noexcept = default;
  PointFile& operator=(PointFile&&) = delete;
  PointFile(const PointFile&) = delete;
  PointFile& operator=(const PointFile&) = delete;
  ~PointFile();

  [[nodiscard]] Status write(std::string_view text);
  [[nodiscard]] Status finish();

 private:
  PointFile() = default;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, std::fclose};  // none: standard output
  std::string path_ = {};
  std::string unfinished_ = {};  // the name until it is whole; empty where it is written in place
};

}  // namespace plimsoll
