#include "store/location.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file_descriptor.hpp"
#include "base/user_directories.hpp"

namespace plimsoll::store {
namespace {

/// f_type of statfs(2): NFS, SMB, CIFS, SMB2, AFS, Ceph, Lustre, GPFS, BeeGFS, OrangeFS, 9P, FUSE (sshfs and
/// the like).
constexpr std::uint32_t kNetworkFileSystems[] = {0x6969,     0x517B,     0xFF534D42, 0xFE534D42,
                                                 0x5346414F, 0x00C36400, 0x0BD00BD0, 0x47504653,
                                                 0x19830326, 0x20030528, 0x01021997, 0x65735546};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Error cannot_make(std::string_view what, const std::filesystem::path& path, int code) {
  return Error{fmt::format("cannot make {}: {}", what, std::generic_category().message(code)), path.string(),
               "Name a place that can be written to with --store PATH or PLIMSOLL_STORE.",
               Error::Kind::machine_lacks};
}

}  // namespace

bool is_postgres(std::string_view location) {
  return location.starts_with("postgresql://") || location.starts_with("postgres://");
}

std::string masked(std::string_view address) {
  constexpr std::string_view kHidden = "***";
  std::string out(address);
  const std::size_t begin = out.find("://");
  if (begin == std::string::npos) return out;
  // From the first colon of user:password@host to the last @ before the parameters: rather too much than too
  // little.
  const std::size_t user = begin + 3, end = std::min(out.find('?', user), out.size());
  const std::size_t colon = out.find(':', user), at = out.rfind('@', end);
  if (colon != std::string::npos && at != std::string::npos && colon < at)
    out.replace(colon + 1, at - colon - 1, kHidden);
  for (std::size_t parameter = out.find('?', user); parameter != std::string::npos;
       parameter = out.find('&', parameter + 1)) {
    const std::size_t sign = out.find('=', parameter),
                      stop = std::min(out.find('&', parameter + 1), out.size());
    if (sign >= stop) continue;
    // "password" and "sslpassword", however their letters are written.
    const std::string_view name = std::string_view(out).substr(parameter + 1, sign - parameter - 1);
    if (name.find('%') != std::string_view::npos || name.ends_with("password"))
      out.replace(sign + 1, stop - sign - 1, kHidden);
  }
  return out;
}

std::string named_location(const std::string& location) {
  return location.empty() ? variable("PLIMSOLL_STORE") : location;
}

Result<std::filesystem::path> artifact_directory(const std::filesystem::path& given) {
  std::error_code ignored;
  if (!given.empty()) return std::filesystem::absolute(given, ignored);
  if (const std::string named = variable("PLIMSOLL_ARTIFACTS"); !named.empty())
    return std::filesystem::absolute(named, ignored);
  if (const auto directory = user_data_directory()) return *directory / "artifacts";
  return std::unexpected(
      Error{"it is not known where artifacts are kept", {}, "Set PLIMSOLL_ARTIFACTS or HOME."});
}

Result<std::filesystem::path> store_path(const std::string& location) {
  const std::string named = named_location(location);
  if (named.find("://") != std::string::npos)
    return std::unexpected(Error{"a store is a file of SQLite or a database of PostgreSQL", masked(named),
                                 "Give a path, or postgresql://USER@HOST/DATABASE."});
  if (named.find('\0') != std::string::npos) return fail("the path of the store holds a NUL");
  if (!named.empty()) return std::filesystem::path(named);
  if (const auto directory = user_data_directory()) return *directory / "plimsoll.db";
  return std::unexpected(
      Error{"it is not known where the store is", {}, "Give --store PATH, or set PLIMSOLL_STORE or HOME."});
}

Status refuse_trap(const std::filesystem::path& path) {
  struct stat it{}, above{};
  const std::filesystem::path parent = path.has_parent_path() ? path.parent_path() : ".";
  if (::lstat(path.c_str(), &it) != 0 || ::stat(parent.c_str(), &above) != 0) return {};
  const bool is_theirs = it.st_uid != ::geteuid() && it.st_uid != 0;
  if (!is_theirs || (above.st_mode & S_IWOTH) == 0) return {};
  return std::unexpected(Error{"another user made this, in a directory where everybody may", path.string(),
                               "Keep the store in a directory of yours: --store PATH."});
}

Status make_private_directory(const std::filesystem::path& directory) {
  std::error_code ignored;
  if (directory.empty() || std::filesystem::is_directory(directory, ignored)) return {};
  if (directory.has_parent_path() && directory.parent_path() != directory)
    PLIMSOLL_TRY(make_private_directory(directory.parent_path()));
  // Another process may be making it too.
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return std::unexpected(cannot_make("the directory", directory, errno));
  // SQLite sees to the directory of its file; those above it would be missing after a power cut.
  const std::filesystem::path parent = directory.has_parent_path() ? directory.parent_path() : ".";
  const FileDescriptor opened(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened) ::fsync(opened.get());
  return {};
}

Status make_private_file(const std::filesystem::path& path, bool create) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) == 0) {
    if (S_ISREG(facts.st_mode)) return {};
    return std::unexpected(
        Error{"this is not a file", path.string(), "Name another store with --store PATH."});
  }
  if (!create)
    return std::unexpected(
        Error{"there is no store yet", path.string(),
              "`plimsoll run COMMAND` makes it with its first run; --store PATH names another."});
  PLIMSOLL_TRY(make_private_directory(path.parent_path()));
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file && errno != EEXIST) return std::unexpected(cannot_make("the store", path, errno));
  return {};
}

bool is_on_network(const std::filesystem::path& path) {
  struct statfs facts{};
  if (::statfs(path.c_str(), &facts) != 0) return false;
  return std::ranges::find(kNetworkFileSystems, static_cast<std::uint32_t>(facts.f_type)) !=
         std::end(kNetworkFileSystems);
}

Result<std::vector<File>> list_files(const std::filesystem::path& directory, std::size_t most) {
  namespace fs = std::filesystem;
  constexpr int kDeepest = 32;
  std::vector<File> out;
  std::error_code problem;
  fs::recursive_directory_iterator at(directory, fs::directory_options::skip_permission_denied, problem);
  if (problem == std::errc::no_such_file_or_directory) return out;
  for (; !problem && at != fs::recursive_directory_iterator() && out.size() < most; at.increment(problem)) {
    if (at.depth() >= kDeepest) at.disable_recursion_pending();
    std::error_code gone;  // a file may vanish while it is looked at
    if (at->is_symlink(gone) || !at->is_regular_file(gone)) continue;
    const auto size = at->file_size(gone);
    if (!gone)
      out.push_back({at->path().lexically_relative(directory).string(), static_cast<std::int64_t>(size)});
  }
  if (problem)
    return std::unexpected(Error{fmt::format("cannot list the run's files: {}", problem.message()),
                                 directory.string(),
                                 {},
                                 Error::Kind::machine_lacks});
  std::ranges::sort(out, {}, &File::path);
  return out;
}

}  // namespace plimsoll::store
