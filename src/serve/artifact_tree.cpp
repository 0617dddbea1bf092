#include "serve/artifact_tree.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "base/utf8.hpp"

namespace plimsoll::serve {
namespace {

constexpr std::size_t kLongestPath = 4096, kLongestName = 255, kDeepest = 64, kMostEntries = 100'000;
constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::unexpected<Error> failure(int code, const ArtifactPath& path) {
  const bool absent = code == ENOENT || code == ENOTDIR || code == ELOOP;
  return std::unexpected(Error{
      absent ? fmt::format("there is no artifact {}", quote(path.text()))
             : fmt::format("artifact {}: {}", quote(path.text()), std::generic_category().message(code)),
      {},
      {},
      absent ? Error::Kind::not_found : Error::Kind::unavailable});
}

/// The folder that the first `depth` parts lead to.
Result<FileDescriptor> open_folder(const std::filesystem::path& root, const ArtifactPath& path,
                                   std::size_t depth, bool make) {
  // The root itself is ours; where it lies is the user's choice and may lead over links.
  FileDescriptor folder(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return failure(errno, path);
  for (std::size_t i = 0; i < depth; ++i) {
    const char* name = path.parts()[i].c_str();
    if (make && ::mkdirat(folder.get(), name, 0700) != 0 && errno != EEXIST) return failure(errno, path);
    FileDescriptor next(::openat(folder.get(), name, kFolder));
    if (!next) return failure(errno, path);
    folder = std::move(next);
  }
  return folder;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using OpenFolder = std::unique_ptr<DIR, CloseFolder>;

Result<std::vector<std::string>> names_in(int descriptor, const ArtifactPath& path) {
  const int duplicate = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);  // closed with the DIR
  const OpenFolder folder(duplicate < 0 ? nullptr : ::fdopendir(duplicate));
  if (!folder) return failure(errno, path);
  std::vector<std::string> names;
  while (const dirent* entry =
             ::readdir(folder.get())) {  // NOLINT(concurrency-mt-unsafe): a folder of our own
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == kMostEntries) break;
    names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

Status remove_below(int folder, const std::string& name, const ArtifactPath& path, std::size_t depth) {
  if (::unlinkat(folder, name.c_str(), 0) == 0) return {};
  if (errno != EISDIR && errno != EPERM) return failure(errno, path);
  if (depth == 2 * kDeepest) return failure(ELOOP, path);
  const FileDescriptor inner(::openat(folder, name.c_str(), kFolder));
  if (!inner) return failure(errno, path);
  const Result<std::vector<std::string>> names = names_in(inner.get(), path);
  if (!names) return std::unexpected(names.error());
  for (const std::string& each : *names) PLIMSOLL_TRY(remove_below(inner.get(), each, path, depth + 1));
  if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) != 0) return failure(errno, path);
  return {};
}

/// A backslash is a letter of a name here, and a separator where a client of Windows saves the file: there,
/// too, it must stay in its folder.
bool leaves_on_windows(std::string_view path) {
  const auto separates = [](char c) { return c == '/' || c == '\\'; };
  if (path.starts_with('\\')) return true;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (path.size() > 2 && is_letter(path[0]) && path[1] == ':' && separates(path[2])) return true;
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::find_if(path.begin() + static_cast<std::ptrdiff_t>(begin), path.end(), separates);
    const auto size = static_cast<std::size_t>(end - path.begin()) - begin;
    if (path.substr(begin, size) == "..") return true;
    begin += size + 1;
  }
  return false;
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

}  // namespace

Result<ArtifactPath> ArtifactPath::parse(std::string_view path) {
  const auto bad = [] { return std::unexpected(Error{"Invalid path"}); };
  if (path.size() > kLongestPath || path.starts_with('/') || !is_utf8(path)) return bad();
  if (path.find('#') != std::string_view::npos || std::ranges::any_of(path, is_control)) return bad();
  if (leaves_on_windows(path)) return bad();
  ArtifactPath out;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part == ".." || part.size() > kLongestName || out.parts_.size() == kDeepest) return bad();
    out.parts_.emplace_back(part);
  }
  return out;
}

std::string ArtifactPath::text() const {
  return fmt::format("{}", fmt::join(parts_, "/"));
}

Result<FileBody> open_artifact(const std::filesystem::path& root, const ArtifactPath& path) {
  if (path.empty()) return std::unexpected(Error{"Artifact path refers to a directory, not a file: ''"});
  const Result<FileDescriptor> folder = open_folder(root, path, path.parts().size() - 1, false);
  if (!folder) return std::unexpected(folder.error());
  // Without O_NONBLOCK a pipe that somebody put there would wait for its other end.
  FileDescriptor file(
      ::openat(folder->get(), path.parts().back().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return failure(errno, path);
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return failure(errno, path);
  if (S_ISDIR(facts.st_mode))
    return fail("Artifact path refers to a directory, not a file: '{}'", printable(path.text()));
  if (!S_ISREG(facts.st_mode)) return failure(ENOENT, path);
  return FileBody{std::move(file), static_cast<std::uint64_t>(facts.st_size)};
}

Result<std::vector<ArtifactEntry>> list_artifacts(const std::filesystem::path& root,
                                                  const ArtifactPath& path) {
  std::vector<ArtifactEntry> out;
  const Result<FileDescriptor> folder = open_folder(root, path, path.parts().size(), false);
  if (!folder) {
    if (folder.error().kind == Error::Kind::not_found) return out;
    return std::unexpected(folder.error());
  }
  const Result<std::vector<std::string>> names = names_in(folder->get(), path);
  if (!names) return std::unexpected(names.error());
  for (const std::string& name : *names) {
    struct stat facts{};
    if (::fstatat(folder->get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISDIR(facts.st_mode) && !S_ISREG(facts.st_mode)) continue;
    const bool is_folder = S_ISDIR(facts.st_mode);
    out.push_back({name, is_folder, is_folder ? 0 : facts.st_size});
  }
  return out;
}

Status put_artifact(const std::filesystem::path& root, const ArtifactPath& path, ReceivedFile& file) {
  if (path.empty()) return std::unexpected(Error{"Invalid path"});
  const Result<FileDescriptor> folder = open_folder(root, path, path.parts().size() - 1, true);
  if (!folder) return std::unexpected(folder.error());
  if (::renameat(AT_FDCWD, file.path().c_str(), folder->get(), path.parts().back().c_str()) != 0) {
    if (errno == EISDIR) return fail("{} is a folder of artifacts", quote(path.text()));
    return failure(errno, path);
  }
  file.release();
  if (::fsync(folder->get()) != 0) return failure(errno, path);
  return {};
}

Status remove_artifact(const std::filesystem::path& root, const ArtifactPath& path) {
  if (path.empty()) {
    const Result<FileDescriptor> folder = open_folder(root, path, 0, false);
    if (!folder) return std::unexpected(folder.error());
    const Result<std::vector<std::string>> names = names_in(folder->get(), path);
    if (!names) return std::unexpected(names.error());
    for (const std::string& name : *names) PLIMSOLL_TRY(remove_below(folder->get(), name, path, 0));
    return {};
  }
  const Result<FileDescriptor> folder = open_folder(root, path, path.parts().size() - 1, false);
  if (!folder) return std::unexpected(folder.error());
  return remove_below(folder->get(), path.parts().back(), path, 0);
}

}  // namespace plimsoll::serve
