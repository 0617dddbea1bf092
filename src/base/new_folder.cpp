#include "base/new_folder.hpp"

#include <cerrno>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/printable.hpp"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

/// In a folder that is not complete, so that what a person put there is never taken for a leftover.
constexpr const char* kMark = ".plimsoll-part";

std::unexpected<Error> folder_failure(std::string_view what, const fs::path& path, int code,
                                      Error::Kind kind = Error::Kind::bad_input) {
  return std::unexpected(Error{.message = fmt::format("{}: {}", what, std::generic_category().message(code)),
                               .where = printable(path.string()),
                               .kind = kind});
}

Status check_free(const fs::path& path) {
  std::error_code problem;
  const fs::file_status status = fs::symlink_status(path, problem);
  if (!fs::exists(status)) return {};
  if (fs::is_directory(status) && fs::is_empty(path, problem) && !problem) return {};
  return std::unexpected(Error{.message = "is there already",
                               .where = printable(path.string()),
                               .hint = "name a folder that is not there yet, or is empty",
                               .kind = Error::Kind::exists_already});
}

Result<FileDescriptor> open_locked(const fs::path& part) {
  if (::mkdir(part.c_str(), 0777) != 0 && errno != EEXIST)
    return folder_failure("cannot create the folder", part, errno);
  FileDescriptor folder(::open(part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return folder_failure("cannot open the folder", part, errno);
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0)
    return folder_failure("another program is writing it", part, errno, Error::Kind::unavailable);
  // Whoever was at it may have given it its name, or removed it, before the lock was had.
  struct stat opened{}, named{};
  if (::fstat(folder.get(), &opened) != 0 || ::lstat(part.c_str(), &named) != 0 ||
      opened.st_ino != named.st_ino || opened.st_dev != named.st_dev)
    return folder_failure("another program was writing it", part, EBUSY, Error::Kind::unavailable);
  return folder;
}

/// The names in it but for the mark; fails where one is no file.
Result<std::vector<fs::path>> files_of(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
    if (!fs::is_regular_file(at->symlink_status(problem)))
      return fail("{} holds {}, which is no file", quote(folder.string()),
                  quote(at->path().filename().string()));
    if (at->path().filename() != kMark) out.push_back(at->path());
  }
  if (problem) return folder_failure("cannot read the folder", folder, problem.value());
  return out;
}

Status empty_leftover(int folder, const fs::path& part) {
  const auto files = files_of(part);
  if (!files) return std::unexpected(files.error());
  const bool marked = ::faccessat(folder, kMark, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  if (!files->empty() && !marked)
    return std::unexpected(Error{.message = "is in the way: no program left its files unfinished",
                                 .where = printable(part.string()),
                                 .hint = "remove the folder, or name another",
                                 .kind = Error::Kind::exists_already});
  for (const fs::path& file : *files)
    if (::unlinkat(folder, file.filename().c_str(), 0) != 0)
      return folder_failure("cannot remove what is left", file, errno);
  const FileDescriptor mark(::openat(folder, kMark, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!mark) return folder_failure("cannot write into the folder", part, errno);
  return {};
}

void sync_parent(const fs::path& path) {
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const FileDescriptor folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) ::fsync(folder.get());
}

}  // namespace

Result<NewFolder> NewFolder::begin(const fs::path& path) {
  const fs::path named = path.has_filename() ? path : path.parent_path();  // "models/"
  if (!named.has_filename() || named.filename() == "." || named.filename() == "..")
    return std::unexpected(Error{.message = "names no new folder", .where = printable(path.string())});
  if (Status free = check_free(named); !free) return std::unexpected(std::move(free).error());
  fs::path part = named;
  part += ".part";
  Result<FileDescriptor> folder = open_locked(part);
  if (!folder) return std::unexpected(std::move(folder).error());
  if (Status emptied = empty_leftover(folder->get(), part); !emptied)
    return std::unexpected(std::move(emptied).error());
  return NewFolder(named, std::move(part), *std::move(folder));
}

NewFolder::~NewFolder() {
  if (!descriptor_) return;
  if (const auto files = files_of(part_))
    for (const fs::path& file : *files) ::unlinkat(descriptor_.get(), file.filename().c_str(), 0);
  ::unlinkat(descriptor_.get(), kMark, 0);
  ::rmdir(part_.c_str());
}

Status NewFolder::File::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      return folder_failure("cannot write", path_, written < 0 ? errno : EIO, Error::Kind::unavailable);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Status NewFolder::File::finish() {
  if (::fsync(descriptor_.get()) != 0)
    return folder_failure("cannot write", path_, errno, Error::Kind::unavailable);
  descriptor_.reset();
  return {};
}

Result<NewFolder::File> NewFolder::create(std::string_view name) const {
  const std::string file(name);
  FileDescriptor descriptor(
      ::openat(descriptor_.get(), file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!descriptor) return folder_failure("cannot create", part_ / file, errno);
  return File(std::move(descriptor), part_ / file);
}

Status NewFolder::finish() {
  if (::fsync(descriptor_.get()) != 0)
    return folder_failure("cannot write", part_, errno, Error::Kind::unavailable);
  if (::rename(part_.c_str(), path_.c_str()) != 0)
    return folder_failure("cannot give the folder its name", path_, errno, Error::Kind::exists_already);
  // Only now: a program that is ended before this leaves a leftover that the next one knows.
  ::unlinkat(descriptor_.get(), kMark, 0);
  ::fsync(descriptor_.get());
  descriptor_.reset();
  sync_parent(path_);
  return {};
}

}  // namespace plimsoll
