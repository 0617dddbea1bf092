#include "run/attempt_folder.hpp"

#include <array>
#include <cerrno>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/supervision.hpp"

namespace plimsoll::running {
namespace {

namespace fs = std::filesystem;
using job::Fields;
using job::Json;

constexpr int kVersion = 1;
constexpr std::size_t kLargestFile = std::size_t{1} << 20;
constexpr int kMostLevels = 4;
constexpr const char* kLock = "lock";
constexpr const char* kBegan = "began";
constexpr const char* kSaved = "saved";
constexpr const char* kEnded = "ended";
constexpr const char* kUndone = "undone";
constexpr const char* kLease = "lease";

std::unexpected<Error> folder_failure(std::string_view what, const fs::path& path, int code) {
  return std::unexpected(Error{fmt::format("{}: {}", what, std::generic_category().message(code)),
                               path.string(),
                               {},
                               code == ENOENT ? Error::Kind::not_found : Error::Kind::machine_lacks});
}

Result<FileDescriptor> open_folder(const fs::path& path) {
  FileDescriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return folder_failure("cannot open the attempt's folder", path, errno);
  return folder;
}

/// A plain file; nothing where there is none.
Result<FileDescriptor> open_plain(int folder, const fs::path& path, const char* name, int more = 0) {
  // A pipe in its place must not hold anybody up.
  FileDescriptor file(
      ::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | more, 0600));
  if (!file && errno == ENOENT && (more & O_CREAT) == 0) return FileDescriptor();
  if (!file) return folder_failure("cannot open", path / name, errno);
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return folder_failure("cannot open", path / name, errno);
  if (!S_ISREG(facts.st_mode)) return folder_failure("is no plain file", path / name, EINVAL);
  return file;
}

Result<std::optional<std::string>> read_plain(int folder, const fs::path& path, const char* name) {
  Result<FileDescriptor> file = open_plain(folder, path, name);
  if (!file) return std::unexpected(std::move(file).error());
  if (!*file) return std::nullopt;
  std::string contents;
  std::array<char, 4096> chunk;  // filled by read
  while (true) {
    const ssize_t count = ::read(file->get(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return folder_failure("cannot read", path / name, errno);
    if (count == 0) return contents;
    contents.append(chunk.data(), static_cast<std::size_t>(count));
    if (contents.size() > kLargestFile) return folder_failure("cannot read", path / name, EFBIG);
  }
}

Status fill_and_flush(int file, std::string_view contents, const fs::path& path) {
  while (!contents.empty()) {
    const ssize_t written = ::write(file, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return folder_failure("cannot write", path, errno);
    contents.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(file) != 0) return folder_failure("cannot write", path, errno);
  return {};
}

/// The old contents or the new, never a part; a link in its place is replaced, not followed.
Status replace_plain(int folder, const fs::path& path, const char* name, std::string_view contents,
                     mode_t mode = 0600) {
  const std::string fresh = fmt::format(".{}.new", name);
  if (::unlinkat(folder, fresh.c_str(), 0) != 0 && errno != ENOENT)
    return folder_failure("cannot write", path / fresh, errno);
  FileDescriptor file(
      ::openat(folder, fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return folder_failure("cannot write", path / fresh, errno);
  Status done = fill_and_flush(file.get(), contents, path / name);
  if (done && ::fchmod(file.get(), mode) != 0) done = folder_failure("cannot write", path / name, errno);
  if (done && ::renameat(folder, fresh.c_str(), folder, name) != 0)
    done = folder_failure("cannot replace", path / name, errno);
  if (!done) {
    ::unlinkat(folder, fresh.c_str(), 0);
    return done;
  }
  // Some file systems cannot flush a folder; nothing is lost then that they would have kept.
  if (::fsync(folder) != 0 && errno != EINVAL) return folder_failure("cannot write", path, errno);
  return {};
}

bool is_there(int folder, const char* name) {
  struct stat facts{};
  return ::fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/// What a file says, by `read`; nothing where there is none.
template <class Value>
Result<std::optional<Value>> read_document(int folder, const fs::path& path, const char* name,
                                           Result<Value> (*read)(const Json&)) {
  Result<std::optional<std::string>> text = read_plain(folder, path, name);
  if (!text) return std::unexpected(std::move(text).error());
  if (!*text) return std::nullopt;
  Result<Json> message = job::parse_within(**text, kLargestFile, kMostLevels);
  Result<Value> value = message ? read(*message) : Result<Value>(std::unexpected(std::move(message).error()));
  if (!value) return std::unexpected(std::move(value).error().within((path / name).string()));
  return std::optional<Value>(*std::move(value));
}

Result<Began> read_began(const Json& message) {
  std::optional<Error> error;
  const Fields fields(message, {}, error);
  static_cast<void>(fields.whole("version", kVersion, kVersion));
  Began began{fields.text("run"), fields.text("socket"), fields.text("supervisor")};
  if (error) return std::unexpected(*std::move(error));
  return began;
}

Result<Saved> read_saved(const Json& message) {
  std::optional<Error> error;
  const Fields fields(message, {}, error);
  static_cast<void>(fields.whole("version", kVersion, kVersion));
  Saved saved{fields.text("text"), Seconds(fields.not_negative("at")),
              Seconds(fields.not_negative("boottime"))};
  if (error) return std::unexpected(*std::move(error));
  return saved;
}

}  // namespace

Result<AttemptFolder> AttemptFolder::open(const fs::path& folder, uid_t owner) {
  Result<FileDescriptor> opened = open_folder(folder);
  if (!opened) return std::unexpected(std::move(opened).error());
  struct stat facts{};
  if (::fstat(opened->get(), &facts) != 0) return folder_failure("cannot open", folder, errno);
  if (facts.st_uid != owner || (facts.st_mode & 077U) != 0)
    return std::unexpected(
        Error{"is not a folder of the job's user alone", folder.string(), {}, Error::Kind::machine_lacks});
  return AttemptFolder(*std::move(opened), folder);
}

Status AttemptFolder::lock(std::chrono::milliseconds patience) {
  Result<FileDescriptor> file = open_plain(folder_.get(), path_, kLock, O_CREAT);
  if (!file) return std::unexpected(std::move(file).error());
  const auto refused = [&](std::string message) {
    return std::unexpected(Error{std::move(message), path_.string(), {}, Error::Kind::exists_already});
  };
  const auto until = std::chrono::steady_clock::now() + patience;
  while (::flock(file->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return folder_failure("cannot lock", path_ / kLock, errno);
    if (std::chrono::steady_clock::now() >= until) return refused("another supervisor has this attempt");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (is_there(folder_.get(), kUndone)) return refused("this attempt was given up before it began");
  if (is_there(folder_.get(), kBegan) || is_there(folder_.get(), kEnded))
    return refused("this attempt has begun once, and is not begun again");
  lock_ = *std::move(file);
  return {};
}

Status AttemptFolder::write(const Began& began) const {
  const Json out{{"version", kVersion},
                 {"run", began.run},
                 {"socket", job::text_json(began.socket.string())},
                 {"supervisor", job::text_json(began.supervisor)}};
  return replace_plain(folder_.get(), path_, kBegan, job::dump(out) + "\n");
}

Status AttemptFolder::write(const Saved& saved) const {
  const Json out{{"version", kVersion},
                 {"text", job::text_json(saved.text)},
                 {"at", saved.at.value()},
                 {"boottime", saved.boottime.value()}};
  return replace_plain(folder_.get(), path_, kSaved, job::dump(out) + "\n");
}

Status AttemptFolder::write(const Ended& ended) const {
  Json out = ended_json(ended);
  out["version"] = kVersion;
  return replace_plain(folder_.get(), path_, kEnded, job::dump(out) + "\n");
}

std::optional<Lease> AttemptFolder::lease() const {
  const auto text = read_plain(folder_.get(), path_, kLease);
  return text && *text ? Lease::parse(**text) : std::nullopt;
}

Result<AttemptFacts> look_at_attempt(const fs::path& path) {
  const Result<FileDescriptor> folder = open_folder(path);
  if (!folder) return std::unexpected(folder.error());
  AttemptFacts facts;
  // Held while the files are read: where no supervisor lives, none comes meanwhile.
  const Result<FileDescriptor> lock = open_plain(folder->get(), path, kLock);
  if (!lock) return std::unexpected(lock.error());
  facts.undone = is_there(folder->get(), kUndone);
  if (!*lock) return facts;  // no supervisor has come yet; what one does from now on is read the next time
  if (::flock(lock->get(), LOCK_SH | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return folder_failure("cannot lock", path / kLock, errno);
    facts.supervised = true;
  }
  auto began = read_document(folder->get(), path, kBegan, read_began);
  if (!began) return std::unexpected(std::move(began).error());
  auto saved = read_document(folder->get(), path, kSaved, read_saved);
  if (!saved) return std::unexpected(std::move(saved).error());
  auto ended = read_document(folder->get(), path, kEnded, read_ended);
  if (!ended) return std::unexpected(std::move(ended).error());
  facts.began = *std::move(began);
  facts.saved = *std::move(saved);
  facts.ended = *std::move(ended);
  return facts;
}

Result<bool> undo_attempt(const fs::path& path) {
  const Result<FileDescriptor> folder = open_folder(path);
  if (!folder) return std::unexpected(folder.error());
  const Result<FileDescriptor> lock = open_plain(folder->get(), path, kLock, O_CREAT);
  if (!lock) return std::unexpected(lock.error());
  if (::flock(lock->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    return folder_failure("cannot lock", path / kLock, errno);
  }
  if (is_there(folder->get(), kBegan)) return false;
  PLIMSOLL_TRY(replace_plain(folder->get(), path, kUndone, ""));
  return true;
}

Status write_lease(const fs::path& path, const Lease& lease) {
  const Result<FileDescriptor> folder = open_folder(path);
  if (!folder) return std::unexpected(folder.error());
  return replace_plain(folder->get(), path, kLease, lease.text(), 0644);
}

}  // namespace plimsoll::running
