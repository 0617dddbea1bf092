#include "serve/http/request.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "base/file_descriptor.hpp"

namespace plimsoll::serve {
namespace {

Status flush(const std::filesystem::path& path, int flags) {
  const FileDescriptor file(::open(path.c_str(), flags | O_CLOEXEC));
  if (file && ::fsync(file.get()) == 0) return {};
  const std::string why = std::generic_category().message(errno);
  return std::unexpected(Error{"cannot flush it to the disk: " + why, path, {}, Error::Kind::machine_lacks});
}

}  // namespace

ReceivedFile::~ReceivedFile() {
  if (!path_.empty()) (void)::unlink(path_.c_str());
}

Status ReceivedFile::move_to(const std::filesystem::path& place) {
  PLIMSOLL_TRY(flush(path_, O_RDONLY));
  if (::rename(path_.c_str(), place.c_str()) != 0) {
    const std::string why = std::generic_category().message(errno);
    return std::unexpected(Error{"cannot put the file there: " + why, place, {}, Error::Kind::machine_lacks});
  }
  path_.clear();
  return flush(place.parent_path(), O_RDONLY | O_DIRECTORY);
}

}  // namespace plimsoll::serve
