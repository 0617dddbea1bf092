#include "run/kept_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <system_error>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/printable.hpp"

namespace plimsoll::running {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLargestArtifact = std::int64_t{4} << 30;
// Opening a pipe or a device must neither wait nor do anything.
constexpr int kReadFile = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

/// Opens what lies below a directory; the kernel sees to it that no link, and no change on the way, leads
/// out.
int open_below(int directory, const fs::path& path) {
  open_how how{};
  how.flags = kReadFile;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const auto opened = static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how));
  if (opened >= 0 || (errno != ENOSYS && errno != EPERM)) return opened;
  return open_without_links(directory, path);
}

/// `path` as seen from `directory`; absolute where it cannot be.
fs::path seen_from(const fs::path& directory, const fs::path& path) {
  if (!path.is_absolute()) return path;
  std::error_code ignored;
  for (const fs::path& base : {fs::absolute(directory, ignored), fs::canonical(directory, ignored)}) {
    const fs::path relative = path.lexically_relative(base.lexically_normal());
    if (!base.empty() && !relative.empty() && *relative.begin() != "..") return relative;
  }
  return path;
}

Result<FileDescriptor> open_named(const fs::path& directory, const fs::path& path) {
  const FileDescriptor folder(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return fail("the directory is gone: {}", std::generic_category().message(errno));
  FileDescriptor file(open_below(folder.get(), seen_from(directory, path)));
  if (file) return file;
  if (errno == EXDEV || errno == ELOOP)
    return fail("it is not below the job's directory; --artifact keeps files from anywhere");
  return fail("{}", std::generic_category().message(errno));
}

Result<FileDescriptor> open_given(const fs::path& directory, const fs::path& path) {
  FileDescriptor file(::open((directory / path).c_str(), kReadFile));
  if (!file) return fail("{}", std::generic_category().message(errno));
  return file;
}

Status write_out(int target, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(target, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail("{}", std::generic_category().message(errno));
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Status copy_file(int source, const fs::path& target) {
  struct stat facts{};
  if (::fstat(source, &facts) != 0 || !S_ISREG(facts.st_mode)) return fail("it is no file");
  if (facts.st_size > kLargestArtifact) return fail("it is larger than 4 GiB");
  const FileDescriptor out(
      ::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!out) return fail("{}", std::generic_category().message(errno));
  std::array<char, std::size_t{1} << 16> chunk;  // filled by read
  for (std::int64_t rest = kLargestArtifact; rest > 0;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(rest, chunk.size()));
    const ssize_t count = ::read(source, chunk.data(), wanted);
    if (count == 0) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail("{}", std::generic_category().message(errno));
    PLIMSOLL_TRY(write_out(out.get(), {chunk.data(), static_cast<std::size_t>(count)}));
    rest -= count;
  }
  if (::fsync(out.get()) != 0) return fail("{}", std::generic_category().message(errno));
  return {};
}

}  // namespace

bool flush_entries(const std::filesystem::path& directory) {
  const FileDescriptor opened(
      ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems of the network know no such thing, and need none.
  return opened && (::fsync(opened.get()) == 0 || errno == EINVAL);
}

int open_without_links(int directory, const std::filesystem::path& path) {
  if (path.empty() || path.is_absolute()) {  // an absolute one openat would take from the root
    errno = path.empty() ? ENOENT : EXDEV;
    return -1;
  }
  FileDescriptor folder(::fcntl(directory, F_DUPFD_CLOEXEC, 0));
  for (auto part = path.begin(); part != path.end(); ++part) {
    if (*part == "..") {
      errno = EXDEV;
      return -1;
    }
    const bool last = std::next(part) == path.end();
    FileDescriptor next(
        ::openat(folder.get(), part->c_str(),
                 last ? kReadFile | O_NOFOLLOW : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return -1;
    folder = std::move(next);
  }
  return ::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0);
}

std::vector<std::string> keep_files(const JobSpec& job, const std::vector<std::string>& named,
                                    const fs::path& artifacts) {
  constexpr std::size_t kMostTroubles = 5;
  const fs::path directory = job.directory.empty() ? fs::path(".") : job.directory;
  const fs::path folder = artifacts / "files";
  std::vector<std::string> troubles;
  std::size_t more = 0;
  std::set<std::string> taken;
  const auto keep = [&](const fs::path& path, const auto& open) -> Status {
    const Result<FileDescriptor> source = open(directory, path);
    if (!source) return std::unexpected(source.error());
    const std::string name = path.filename().string();
    if (name.empty() || name == "." || name == "..") return fail("it is no file");
    if (!taken.insert(name).second) return fail("another of that name is");
    std::error_code failed;
    fs::create_directories(folder, failed);
    Status copied = copy_file(source->get(), folder / name);
    if (!copied) fs::remove(folder / name, failed);  // a part of a file is none
    return copied;
  };
  const auto note = [&](const fs::path& path, const Status& kept) {
    if (kept) return;
    if (troubles.size() < kMostTroubles)
      troubles.push_back(fmt::format("{} is not kept: {}", quote(path.string()), kept.error().text()));
    else
      ++more;
  };
  for (const fs::path& path : job.artifacts) note(path, keep(path, open_given));
  for (const std::string& path : named) note(path, keep(path, open_named));
  std::error_code absent;
  if (fs::is_directory(folder, absent) && (!flush_entries(folder) || !flush_entries(artifacts)))
    troubles.push_back(fmt::format("the kept files are not safe from a power cut: {}",
                                   std::generic_category().message(errno)));
  if (more > 0) troubles.push_back(fmt::format("{} more file{} not kept", more, more == 1 ? " is" : "s are"));
  return troubles;
}

}  // namespace plimsoll::running
