#include "base/own_children.hpp"

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include <sys/wait.h>

#include "base/files.hpp"

namespace plimsoll {
namespace {

struct OwnChildren {
  std::mutex mutex;
  std::set<pid_t> numbers;
};
OwnChildren& own_children() {
  static OwnChildren children;
  return children;
}

/// All children of this process, whichever of its threads the kernel counts them to.
std::set<pid_t> all_children() {
  constexpr std::size_t kLargest = std::size_t{16} << 20;
  std::set<pid_t> out;
  std::error_code ignored;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    const std::string text = read_file(thread.path() / "children", kLargest).value_or("");
    std::string_view rest = text;
    while (!rest.empty()) {
      pid_t pid = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), pid);
      if (error == std::errc() && pid > 0) out.insert(pid);
      const auto space = rest.find(' ');
      rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
    }
  }
  return out;
}

}  // namespace

pid_t start_own_child(const std::function<pid_t()>& start) {
  OwnChildren& own = own_children();
  // Held while it is started, so that nobody takes it for a stranger's before it is noted.
  const std::scoped_lock lock(own.mutex);
  const pid_t pid = start();
  if (pid > 0) own.numbers.insert(pid);
  return pid;
}

bool own_child_has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == pid;
}

int wait_for_own_child(pid_t pid) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  OwnChildren& own = own_children();
  // Both at once: the number may be another child's the moment after.
  const std::scoped_lock lock(own.mutex);
  int status = 0;
  ::waitpid(pid, &status, 0);
  own.numbers.erase(pid);
  return status;
}

std::size_t reap_strangers() {
  OwnChildren& own = own_children();
  // Somebody is just starting one, from a disk that may not answer: the next call finds the same strangers.
  const std::unique_lock lock(own.mutex, std::try_to_lock);
  if (!lock) return 0;
  std::size_t reaped = 0;
  for (const pid_t pid : all_children())
    if (!own.numbers.contains(pid) && ::waitpid(pid, nullptr, WNOHANG) == pid) ++reaped;
  return reaped;
}

}  // namespace plimsoll
