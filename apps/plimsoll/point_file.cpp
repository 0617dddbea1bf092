#include "point_file.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <unistd.h>

namespace plimsoll {
namespace {

std::unexpected<Error> failure(std::string_view what, const std::string& path) {
  return std::unexpected(Error{fmt::format("{}: {}", what, std::generic_category().message(errno)),
                               path.empty() ? "standard output" : path});
}

}  // namespace

Result<PointFile> PointFile::open(const std::string& path) {
  PointFile out;
  if (path.empty()) return out;
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  // A pipe or a device cannot be replaced by another file.
  const bool in_place = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  out.path_ = path;
  if (!in_place) out.unfinished_ = fmt::format("{}.{}.part", path, ::getpid());
  const std::string& name = in_place ? path : out.unfinished_;
  out.file_.reset(std::fopen(name.c_str(), in_place ? "we" : "wxe"));
  if (!out.file_) {
    out.unfinished_.clear();
    return failure("cannot open for writing", path);
  }
  return out;
}

PointFile::~PointFile() {
  if (file_ && !unfinished_.empty()) ::unlink(unfinished_.c_str());
}

Status PointFile::write(std::string_view text) {
  std::FILE* const file = file_ ? file_.get() : stdout;
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size()) return failure("cannot write", path_);
  return {};
}

Status PointFile::finish() {
  if (std::fflush(file_ ? file_.get() : stdout) != 0) return failure("cannot write", path_);
  if (!file_) return {};
  if (!unfinished_.empty()) {
    if (::fsync(::fileno(file_.get())) != 0) return failure("cannot write", path_);
    if (std::rename(unfinished_.c_str(), path_.c_str()) != 0) return failure("cannot replace", path_);
    unfinished_.clear();
  }
  file_.reset();
  return {};
}

}  // namespace plimsoll
