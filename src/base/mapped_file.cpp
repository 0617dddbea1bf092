#include "base/mapped_file.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace plimsoll {
namespace {

// Below this a file is a graph without weights and will be read whole: one call brings all pages in.
constexpr off_t kSmall = 8 << 20;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a FIFO that nobody writes to would wait for ever.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) {
    const int why = errno;
    if (why == ENOENT) return fail("there is no such file");
    return fail("cannot open it: {}", std::strerror(why));
  }
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return fail("cannot open it: {}", std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return fail("is a folder, not a file");
  if (!S_ISREG(status.st_mode)) return fail("is not a regular file");
  if (status.st_size == 0) return MappedFile();
  const int flags = MAP_PRIVATE | (status.st_size < kSmall ? MAP_POPULATE : 0);
  void* const at = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, flags, file.get(), 0);
  if (at == MAP_FAILED) return fail("cannot map it into memory: {}", std::strerror(errno));
  return MappedFile(std::span(static_cast<const std::byte*>(at), static_cast<std::size_t>(status.st_size)));
}

MappedFile::~MappedFile() {
  // munmap takes a pointer to non-const, though it writes nothing.
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace plimsoll
