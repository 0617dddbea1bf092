#include "run/process_identity.hpp"

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

std::string boot_id(const std::filesystem::path& proc) {
  std::string text = read_file(proc / "sys/kernel/random/boot_id", 4096).value_or("");
  while (text.ends_with('\n')) text.pop_back();
  std::error_code ignored;
  const auto space = std::filesystem::read_symlink(proc / "self/ns/pid", ignored);
  return space.empty() ? text : text + "/" + space.string();
}

std::optional<telemetry::ProcessStat> stat_of(pid_t pid, const std::filesystem::path& proc) {
  const auto text = read_file(proc / fmt::format("{}/stat", pid), 4096);
  return text ? telemetry::parse_process_stat(*text) : std::nullopt;
}

}  // namespace

std::string ProcessIdentity::text() const {
  return fmt::format("{} {} {}", pid, start, boot);
}

std::optional<ProcessIdentity> ProcessIdentity::parse(std::string_view text) {
  ProcessIdentity out;
  const auto pid = take_number<pid_t>(text);
  const auto start = take_number<std::uint64_t>(text);
  if (!pid || !start || *pid <= 0) return {};
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return ProcessIdentity{*pid, *start, std::string(text)};
}

std::optional<ProcessIdentity> ProcessIdentity::of(pid_t pid, const std::filesystem::path& proc) {
  const auto stat = stat_of(pid, proc);
  if (!stat || !stat->alive()) return {};
  return ProcessIdentity{pid, stat->start, boot_id(proc)};
}

bool ProcessIdentity::lives(const std::filesystem::path& proc) const {
  return of(pid, proc) == *this;
}

bool ProcessIdentity::is_elsewhere(const std::filesystem::path& proc) const {
  const std::string here = boot_id(proc);
  return boot != here && boot.substr(0, boot.find('/')) == here.substr(0, here.find('/'));
}

std::vector<ProcessIdentity> processes_with(std::string_view variable, pid_t group,
                                            const std::filesystem::path& proc) {
  constexpr std::size_t kLargestEnvironment = std::size_t{8} << 20;
  std::vector<ProcessIdentity> out;
  const pid_t self = ::getpid();
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(proc, ignored)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size() || pid == self) continue;
    const auto stat = group > 0 ? stat_of(pid, proc) : std::nullopt;
    bool found = stat && stat->group == group;
    const auto environment = read_file(entry.path() / "environ", kLargestEnvironment);
    std::string_view rest = environment ? std::string_view(*environment) : std::string_view();
    while (!rest.empty() && !found) {
      const auto stop = std::min(rest.find('\0'), rest.size());
      found = rest.substr(0, stop) == variable;
      rest.remove_prefix(std::min(stop + 1, rest.size()));
    }
    if (!found) continue;
    if (auto identity = ProcessIdentity::of(pid, proc)) out.push_back(*std::move(identity));
  }
  return out;
}

}  // namespace plimsoll::running
