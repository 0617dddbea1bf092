#include "telemetry/kept_file.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace plimsoll::telemetry {
namespace {

/// The kernel hands out long texts in parts of about a page, which end where the next record does not fit. A
/// shorter part is the last one: no second call is needed to learn that, and most files are short.
constexpr ssize_t kLeastPart = 2048;

}  // namespace

std::string_view read_from_start(int descriptor, ReadBuffer& buffer) {
  std::size_t length = 0;
  while (length < buffer.size()) {
    const ssize_t got =
        ::pread(descriptor, buffer.data() + length, buffer.size() - length, static_cast<off_t>(length));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {};
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
    if (got < kLeastPart) break;
  }
  return {buffer.data(), length};
}

// O_NONBLOCK: a FIFO put in place of a file must not stop the thread.
KeptFile::KeptFile(const std::filesystem::path& path)
    : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}

KeptFile::KeptFile(int directory, const char* name)
    : descriptor_(::openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}

std::string_view KeptFile::read(ReadBuffer& buffer) const {
  return descriptor_ ? read_from_start(descriptor_.get(), buffer) : std::string_view{};
}

}  // namespace plimsoll::telemetry
