#include "run/file_lock.hpp"

#include <cerrno>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>

namespace plimsoll::running {
namespace {

std::unexpected<Error> cannot_lock(const std::filesystem::path& path, int code) {
  const bool held = code == EWOULDBLOCK;
  return std::unexpected(Error{held ? "another plimsoll has it locked"
                                    : fmt::format("cannot lock: {}", std::generic_category().message(code)),
                               path.string(),
                               {},
                               held ? Error::Kind::unavailable : Error::Kind::machine_lacks});
}

}  // namespace

Result<FileLock> FileLock::of_file(const std::filesystem::path& path, std::chrono::milliseconds patience) {
  return take(FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)), path,
              patience);
}

Result<FileLock> FileLock::of_directory(const std::filesystem::path& path,
                                        std::chrono::milliseconds patience) {
  return take(FileDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), path, patience);
}

Result<FileLock> FileLock::take(FileDescriptor file, const std::filesystem::path& path,
                                std::chrono::milliseconds patience) {
  if (!file) return cannot_lock(path, errno);
  // Asked again and again: a wait in the kernel has no end that one could set.
  const auto until = std::chrono::steady_clock::now() + patience;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return cannot_lock(path, errno);
    if (std::chrono::steady_clock::now() >= until) return cannot_lock(path, EWOULDBLOCK);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return FileLock(std::move(file));
}

}  // namespace plimsoll::running
