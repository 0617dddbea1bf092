#include <array>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "queue/daemon.hpp"
#include "run/runtime_directory.hpp"

namespace plimsoll::queue {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "PLIMSOLL_QUEUE";
constexpr const char* kEverybodysHome = "/var/lib/plimsoll/queue";
constexpr const char* kEverybodysRuntime = "/run/plimsoll";

std::optional<fs::path> given_place() {
  const char* const given = std::getenv(kVariable);
  if (given == nullptr || *given == '\0') return std::nullopt;
  return fs::absolute(given);
}

/// A home directory may be several machines' at once; what is in this one's queue is its own.
std::string machine_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "this";
  return name.data();
}

Result<fs::path> own_runtime() {
  auto base = running::RuntimeDirectory::base();
  PLIMSOLL_TRY(base);
  return fs::path(base->string() + "-queue");
}

Result<fs::path> own_home() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/')
    return fs::path(state) / "plimsoll" / "queue" / machine_name();
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return fs::path(home) / ".local" / "state" / "plimsoll" / "queue" / machine_name();
  return std::unexpected(Error{"there is no place for the queue: neither XDG_STATE_HOME nor HOME is set",
                               {},
                               fmt::format("Set {} to a folder of yours.", kVariable),
                               Error::Kind::machine_lacks});
}

}  // namespace

Result<QueuePlace> queue_place(bool everybody) {
  QueuePlace out;
  if (const auto given = given_place()) {
    out = {*given, *given};
  } else if (everybody) {
    out = {kEverybodysHome, kEverybodysRuntime};
  } else {
    auto home = own_home();
    PLIMSOLL_TRY(home);
    auto runtime = own_runtime();
    PLIMSOLL_TRY(runtime);
    out = {*std::move(home), *std::move(runtime)};
  }
  for (const fs::path& path : {out.home, out.runtime}) {
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    if (!everybody) {
      PLIMSOLL_TRY(running::make_private(path));
      continue;
    }
    // Users come in to knock, and their jobs to their own folders; nobody but root writes here.
    fs::create_directories(path, failed);
    if (failed || ::chmod(path.c_str(), 0755) != 0)
      return std::unexpected(Error{"cannot make it", path.string(), {}, Error::Kind::machine_lacks});
  }
  return out;
}

std::vector<fs::path> queue_sockets() {
  std::vector<fs::path> out;
  if (const auto given = given_place()) return {*given / "queue.sock"};
  if (const auto runtime = own_runtime()) out.push_back(*runtime / "queue.sock");
  out.emplace_back(fs::path(kEverybodysRuntime) / "queue.sock");
  return out;
}

}  // namespace plimsoll::queue
