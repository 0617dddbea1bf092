#include "run/runtime_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <thread>

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/file_descriptor.hpp"
#include "base/files.hpp"

namespace plimsoll::running {
namespace {

namespace fs = std::filesystem;
constexpr const char* kSurvival = "survival";
constexpr std::size_t kLargestNote = std::size_t{4} << 20;

/// Whether nobody else can put another directory in the place of one that is made in it. `sudo` may leave
/// XDG_RUNTIME_DIR as it was: another user's.
bool is_safe_above(const char* path) {
  struct stat facts{};
  if (::stat(path, &facts) != 0 || !S_ISDIR(facts.st_mode)) return false;
  const bool is_ours = facts.st_uid == ::geteuid() || facts.st_uid == 0;
  return is_ours && ((facts.st_mode & 022U) == 0 || (facts.st_mode & S_ISVTX) != 0);
}

Status append_line(const fs::path& path, std::string_view line) {
  const FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  const std::string text = std::string(line) + "\n";
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return std::unexpected(Error{fmt::format("cannot write: {}", std::generic_category().message(errno)),
                                 path.string(),
                                 {},
                                 Error::Kind::machine_lacks});
  return {};
}

std::vector<std::string> lines_of(const fs::path& path) {
  const std::string text = read_file(path, kLargestNote).value_or("");
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// SIGTERM, a moment, SIGKILL for those that still live.
std::size_t end_processes(const std::vector<ProcessIdentity>& processes) {
  using namespace std::chrono_literals;
  for (const ProcessIdentity& process : processes)
    if (process.lives()) ::kill(process.pid, SIGTERM);
  for (int i = 0; i < 50; ++i) {
    if (std::ranges::none_of(processes, [](const ProcessIdentity& process) { return process.lives(); }))
      break;
    std::this_thread::sleep_for(20ms);
  }
  for (const ProcessIdentity& process : processes)
    if (process.lives()) ::kill(process.pid, SIGKILL);
  return processes.size();
}

/// Those of its runs that were to go on without the one who watched them, and do.
std::vector<std::string> survivors_in(const fs::path& directory) {
  std::error_code ignored;
  if (!fs::exists(directory / kSurvival, ignored)) return {};
  std::vector<std::string> runs = lines_of(directory / "runs");
  std::erase_if(runs, [](const std::string& run) {
    return processes_with(fmt::format("{}={}", kRunVariable, run)).empty();
  });
  return runs;
}

void clean_directory(const fs::path& directory, Cleaned& cleaned) {
  std::vector<ProcessIdentity> left;
  for (const std::string& run : lines_of(directory / "runs")) {
    cleaned.runs.push_back(run);
    const auto found = processes_with(fmt::format("{}={}", kRunVariable, run));
    left.insert(left.end(), found.begin(), found.end());
  }
  for (const std::string& line : lines_of(directory / "daemons")) {
    const auto daemon = ProcessIdentity::parse(line);
    if (!daemon) continue;
    if (daemon->lives()) left.push_back(*daemon);
  }
  // A daemon's server, which outlives it, is known by the daemon's directory in its environment.
  std::error_code ignored;
  for (const auto& home : fs::directory_iterator(directory / "mps", ignored)) {
    const auto servers =
        processes_with(fmt::format("CUDA_MPS_PIPE_DIRECTORY={}", (home.path() / "pipe").string()));
    left.insert(left.end(), servers.begin(), servers.end());
  }
  cleaned.processes += end_processes(left);
  fs::remove_all(directory, ignored);
  ++cleaned.directories;
}

}  // namespace

Status make_private(const fs::path& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return std::unexpected(Error{fmt::format("cannot make it: {}", std::generic_category().message(errno)),
                                 path.string(), "Set XDG_RUNTIME_DIR to a directory of yours.",
                                 Error::Kind::machine_lacks});
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != ::geteuid() ||
      (facts.st_mode & 077U) != 0)
    return std::unexpected(Error{"is not a directory of yours alone", path.string(),
                                 "Remove it, or set XDG_RUNTIME_DIR to another place.",
                                 Error::Kind::machine_lacks});
  return {};
}

Result<fs::path> RuntimeDirectory::base() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  // One that is gone, another's, or too long for a socket's path, is no place to be.
  const bool given =
      runtime != nullptr && *runtime == '/' && std::strlen(runtime) < 70 && is_safe_above(runtime);
  fs::path path =
      given ? fs::path(runtime) / "plimsoll" : fs::path(fmt::format("/tmp/plimsoll-{}", ::geteuid()));
  PLIMSOLL_TRY(make_private(path));
  return path;
}

Result<RuntimeDirectory> RuntimeDirectory::make(const fs::path& base) {
  const auto self = ProcessIdentity::of(::getpid());
  if (!self) return fail("this process does not find itself in /proc");
  for (int attempt = 0; attempt < 100; ++attempt) {
    const fs::path path = base / fmt::format("{}-{}", ::getpid(), attempt);
    const fs::path fresh = base / fmt::format(".new-{}-{}", ::getpid(), attempt);
    if (fs::exists(path)) continue;
    PLIMSOLL_TRY(make_private(fresh));
    PLIMSOLL_TRY(write_file(fresh / "owner", self->text() + "\n"));
    // Named only once its owner stands in it: a cleaner never sees it without.
    if (::rename(fresh.c_str(), path.c_str()) == 0) return RuntimeDirectory(path);
  }
  return std::unexpected(
      Error{"cannot make a directory for this run", base.string(), {}, Error::Kind::machine_lacks});
}

RuntimeDirectory::~RuntimeDirectory() {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Status RuntimeDirectory::note_run(std::string_view id) const {
  return append_line(path_ / "runs", id);
}

Status RuntimeDirectory::note_waiting(const std::vector<std::string>& marks) const {
  return write_file(path_ / "waiting", fmt::format("{}\n", fmt::join(marks, "\n")));
}

Status RuntimeDirectory::note_daemon(const ProcessIdentity& daemon) const {
  return append_line(path_ / "daemons", daemon.text());
}

Status RuntimeDirectory::note_survival() const {
  return write_file(path_ / kSurvival, "");
}

std::vector<std::string> noted_runs(const fs::path& directory) {
  return lines_of(directory / "runs");
}

std::vector<std::string> noted_waiting(const fs::path& directory) {
  return lines_of(directory / "waiting");
}

std::vector<std::string> surviving_runs(const fs::path& base) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(base, ignored)) {
    if (!entry.is_directory(ignored) || entry.is_symlink(ignored)) continue;
    const auto owner = ProcessIdentity::parse(read_file(entry.path() / "owner", 4096).value_or(""));
    if (!owner || owner->whereabouts() != Whereabouts::gone) continue;
    std::ranges::copy(survivors_in(entry.path()), std::back_inserter(out));
  }
  return out;
}

std::size_t end_processes_of(std::string_view run) {
  return end_processes(processes_with(fmt::format("{}={}", kRunVariable, run)));
}

Cleaned clean_up(const fs::path& base) {
  Cleaned cleaned;
  const FileDescriptor lock(::open((base / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return cleaned;  // another start is at it
  std::error_code ignored;
  std::vector<fs::path> abandoned;
  for (const auto& entry : fs::directory_iterator(base, ignored)) {
    if (!entry.is_directory(ignored) || entry.is_symlink(ignored)) continue;
    const auto owner = ProcessIdentity::parse(read_file(entry.path() / "owner", 4096).value_or(""));
    // Of another machine or container, which shares this directory: nothing can be told of it.
    const Whereabouts found = owner ? owner->whereabouts() : Whereabouts::gone;
    if (found == Whereabouts::lives || found == Whereabouts::unknown) continue;
    // One that is just being made has no owner yet; it is left for the next start.
    if (!owner && entry.path().filename().string().starts_with(".new-") &&
        fs::file_time_type::clock::now() - fs::last_write_time(entry.path(), ignored) <
            std::chrono::minutes(5))
      continue;
    abandoned.push_back(entry.path());
  }
  for (const fs::path& directory : abandoned)
    if (survivors_in(directory).empty()) clean_directory(directory, cleaned);
  return cleaned;
}

}  // namespace plimsoll::running
