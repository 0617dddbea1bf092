#include "run/process_identity.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <unistd.h>

#include "base/files.hpp"
#include "telemetry/proc_text.hpp"

namespace plimsoll::running {
namespace {

template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::string first_line(const std::filesystem::path& path) {
  const std::string text = read_file(path, 4096).value_or("");
  return text.substr(0, text.find('\n'));
}

/// machine-id(5): 32 hexadecimal digits, which name the machine to everybody who learns them, so that they
/// are not to be told. Half as many bits say which machine it is, and nobody gets the whole back from them.
std::string machine_digest(const std::filesystem::path& root) {
  for (const char* place : {"etc/machine-id", "var/lib/dbus/machine-id"}) {
    const std::string id = first_line(root / place);
    // Empty, or "uninitialized", in images: many machines are started from one.
    if (id.size() != 32 || id.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) continue;
    std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
    for (const char c : "plimsoll" + id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return fmt::format("{:016x}", hash);
  }
  return {};
}

std::optional<telemetry::ProcessStat> stat_of(pid_t pid, const std::filesystem::path& root) {
  const auto text = read_file(root / fmt::format("proc/{}/stat", pid), 4096);
  return text ? telemetry::parse_process_stat(*text) : std::nullopt;
}

std::string_view take_word(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  const auto end = std::min(text.find_first_of(" \n"), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

}  // namespace

ProcessSpace ProcessSpace::here(const std::filesystem::path& root) {
  std::error_code ignored;
  return {first_line(root / "proc/sys/kernel/random/boot_id"),
          std::filesystem::read_symlink(root / "proc/self/ns/pid", ignored).string(), machine_digest(root)};
}

bool ProcessSpace::is_outside_containers() const {
  return pid_space == "pid:[4026531836]";  // PROC_PID_INIT_INO, 0xEFFFFFFC
}

std::string ProcessIdentity::text() const {
  std::string out = fmt::format("{} {} {}", pid, start, space.boot);
  if (!space.pid_space.empty()) out += "/" + space.pid_space;
  if (!space.machine_id.empty()) out += " " + space.machine_id;
  return out;
}

std::optional<ProcessIdentity> ProcessIdentity::parse(std::string_view text) {
  ProcessIdentity out;
  const auto pid = take_number<pid_t>(text);
  const auto start = take_number<std::uint64_t>(text);
  if (!pid || !start || *pid <= 0) return {};
  const std::string_view numbered = take_word(text);
  const auto slash = std::min(numbered.find('/'), numbered.size());
  return ProcessIdentity{*pid,
                         *start,
                         {.boot = std::string(numbered.substr(0, slash)),
                          .pid_space = std::string(numbered.substr(std::min(slash + 1, numbered.size()))),
                          .machine_id = std::string(take_word(text))}};
}

std::optional<ProcessIdentity> ProcessIdentity::of(pid_t pid, const std::filesystem::path& root) {
  const auto stat = stat_of(pid, root);
  if (!stat || !stat->alive()) return {};
  return ProcessIdentity{pid, stat->start, ProcessSpace::here(root)};
}

Whereabouts ProcessIdentity::whereabouts(const std::filesystem::path& root) const {
  const ProcessSpace here = ProcessSpace::here(root);
  const bool machine_known = !space.machine_id.empty() && !here.machine_id.empty();
  if (space.boot.empty() || here.boot.empty() || (machine_known && space.machine_id != here.machine_id))
    return Whereabouts::unknown;
  if (space.boot == here.boot) {
    if (space.pid_space != here.pid_space) return Whereabouts::unknown;
    const auto stat = stat_of(pid, root);
    return stat && stat->alive() && stat->start == start ? Whereabouts::lives : Whereabouts::gone;
  }
  // A container's boot is its host's, of which there may be many with the same image, and so the same id.
  const bool restarted = machine_known && space.is_outside_containers() && here.is_outside_containers();
  return restarted ? Whereabouts::restarted : Whereabouts::unknown;
}

bool ProcessIdentity::lives(const std::filesystem::path& root) const {
  return whereabouts(root) == Whereabouts::lives;
}

std::vector<ProcessIdentity> processes_with(std::string_view variable, pid_t group,
                                            const std::filesystem::path& root) {
  constexpr std::size_t kLargestEnvironment = std::size_t{8} << 20;
  std::vector<ProcessIdentity> out;
  const pid_t self = ::getpid();
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(root / "proc", ignored)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size() || pid == self) continue;
    const auto stat = group > 0 ? stat_of(pid, root) : std::nullopt;
    bool found = stat && stat->group == group;
    const auto environment = read_file(entry.path() / "environ", kLargestEnvironment);
    std::string_view rest = environment ? std::string_view(*environment) : std::string_view();
    while (!rest.empty() && !found) {
      const auto stop = std::min(rest.find('\0'), rest.size());
      found = rest.substr(0, stop) == variable;
      rest.remove_prefix(std::min(stop + 1, rest.size()));
    }
    if (!found) continue;
    if (auto identity = ProcessIdentity::of(pid, root)) out.push_back(*std::move(identity));
  }
  return out;
}

}  // namespace plimsoll::running
