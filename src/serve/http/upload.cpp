#include "serve/http/upload.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace plimsoll::serve {
namespace {

std::unexpected<Error> cannot(std::string_view what, const std::filesystem::path& path) {
  const std::string why = std::generic_category().message(errno);
  return std::unexpected(
      Error{fmt::format("cannot {}: {}", what, why), path, {}, Error::Kind::machine_lacks});
}

}  // namespace

Status Upload::open() {
  file_ = FileDescriptor(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file_) return cannot("make the file", path_);
  received_.emplace(path_);
  return {};
}

Status Upload::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot("write the file", path_);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Status Upload::flush() {
  if (::fsync(file_.get()) != 0) return cannot("flush the file to the disk", path_);
  is_flushed_ = true;
  return {};
}

std::optional<ReceivedFile> Upload::finish() {
  file_.reset();
  return std::exchange(received_, std::nullopt);
}

}  // namespace plimsoll::serve
