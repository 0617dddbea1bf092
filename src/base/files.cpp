#include "base/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>

#include "base/file_descriptor.hpp"

namespace plimsoll {
namespace {

constexpr std::size_t kChunk = std::size_t{64} << 10;

std::unexpected<Error> system_failure(std::string_view what, const std::filesystem::path& path, int code) {
  return std::unexpected(Error{.message = fmt::format("{}: {}", what, std::generic_category().message(code)),
                               .where = path.string()});
}

Status write_all(int descriptor, std::string_view contents, const std::filesystem::path& path) {
  while (!contents.empty()) {
    const ssize_t written = ::write(descriptor, contents.data(), contents.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return system_failure("cannot write", path, errno);
    }
    contents.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

/// umask can only be read by setting it, which other threads would see; the kernel shows it here.
mode_t new_file_mode() {
  const auto status = read_file("/proc/self/status", kChunk);
  mode_t mask = 022;
  if (status) {
    if (const auto at = status->find("\nUmask:"); at != std::string::npos)
      mask = static_cast<mode_t>(std::strtoul(status->c_str() + at + 7, nullptr, 8));
  }
  return 0666 & ~mask;
}

/// A rename is on disk only when its directory is. Some file systems cannot sync one; nothing is lost then
/// that a plain write would have kept.
void sync_directory(const std::filesystem::path& directory) {
  const FileDescriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened) ::fsync(opened.get());
}

Status write_in_place(const std::filesystem::path& path, std::string_view contents) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return system_failure("cannot open for writing", path, errno);
  return write_all(file.get(), contents, path);
}

Status fill_temporary(int descriptor, mode_t mode, std::string_view contents,
                      const std::filesystem::path& path) {
  PLIMSOLL_TRY(write_all(descriptor, contents, path));
  if (::fchmod(descriptor, mode) != 0) return system_failure("cannot set permissions", path, errno);
  if (::fsync(descriptor) != 0) return system_failure("cannot write", path, errno);
  return {};
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return system_failure("cannot open", path, errno);
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return system_failure("cannot read", path, errno);
  if (S_ISDIR(facts.st_mode)) return system_failure("cannot read", path, EISDIR);

  const auto too_large = [&] {
    return std::unexpected(
        Error{.message = fmt::format("is larger than {} bytes", max_bytes), .where = path.string()});
  };
  const auto announced = static_cast<std::size_t>(std::max<off_t>(facts.st_size, 0));
  if (announced > max_bytes) return too_large();

  // The size is a hint only: /proc announces 0, and a file may grow while it is read.
  std::string contents;
  contents.reserve(announced);
  std::array<char, kChunk> chunk;  // filled by read
  while (true) {
    const ssize_t count = ::read(file.get(), chunk.data(), chunk.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return system_failure("cannot read", path, errno);
    }
    if (count == 0) return contents;
    if (static_cast<std::size_t>(count) > max_bytes - contents.size()) return too_large();
    contents.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

Status write_file(const std::filesystem::path& path, std::string_view contents) {
  std::error_code ignored;
  std::filesystem::path target = std::filesystem::weakly_canonical(path, ignored);
  if (target.empty()) target = path;

  struct stat facts{};
  const bool exists = ::stat(target.c_str(), &facts) == 0;
  if (exists && S_ISDIR(facts.st_mode)) return system_failure("cannot write", path, EISDIR);
  // Of the path as given: /dev/stdout resolves to a name ("pipe:[1]") that cannot be opened.
  if (struct stat given{}; ::stat(path.c_str(), &given) == 0 && !S_ISREG(given.st_mode))
    return write_in_place(path, contents);

  const auto directory = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  std::string temporary = (directory / fmt::format(".{}.XXXXXX", target.filename().string())).string();
  FileDescriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) return system_failure("cannot create a file in its directory", path, errno);

  Status filled =
      fill_temporary(file.get(), exists ? facts.st_mode & 07777 : new_file_mode(), contents, path);
  file.reset();
  if (filled && ::rename(temporary.c_str(), target.c_str()) != 0)
    filled = system_failure("cannot replace", path, errno);
  if (!filled) {
    ::unlink(temporary.c_str());
    return filled;
  }
  sync_directory(directory);
  return {};
}

Result<TemporaryDirectory> TemporaryDirectory::make(std::string_view prefix) {
  const char* const named = std::getenv("TMPDIR");
  const std::filesystem::path base = named != nullptr && *named != '\0' ? named : "/tmp";
  std::string pattern = (base / fmt::format("{}-XXXXXX", prefix)).string();
  if (::mkdtemp(pattern.data()) == nullptr) {  // mkdtemp gives mode 0700
    auto failure = system_failure("cannot create a temporary directory", base, errno);
    failure.error().kind = Error::Kind::machine_lacks;
    failure.error().hint = "set TMPDIR to a directory that can be written to";
    return failure;
  }
  return TemporaryDirectory(std::move(pattern));
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::move(other.path_)) {
  other.path_.clear();
}

TemporaryDirectory& TemporaryDirectory::operator=(TemporaryDirectory&& other) noexcept {
  path_.swap(other.path_);
  return *this;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;  // a destructor has nobody to tell
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace plimsoll
