#include "run/run_processes.hpp"

#include <algorithm>
#include <charconv>

#include <unistd.h>

#include "base/files.hpp"
#include "run/runtime_directory.hpp"
#include "telemetry/proc_text.hpp"

namespace plimsoll::running {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kLargestEnvironment = std::size_t{8} << 20;
constexpr std::size_t kLargestText = std::size_t{64} << 10;

std::string run_marked_in(std::string_view environment) {
  while (!environment.empty()) {
    const auto end = std::min(environment.find('\0'), environment.size());
    const std::string_view variable = environment.substr(0, end);
    if (variable.starts_with(kRunVariable) && variable.substr(kRunVariable.size()).starts_with('='))
      return std::string(variable.substr(kRunVariable.size() + 1));
    environment.remove_prefix(std::min(end + 1, environment.size()));
  }
  return {};
}

/// Of version 2 ("0::/path"), else of the hierarchy in which version 1 keeps services apart.
std::string cgroup_in(std::string_view text) {
  std::string second, systemd, memory;
  telemetry::for_each_line(text, [&](std::string_view line) {
    const auto first_colon = line.find(':');
    const auto colon = first_colon == line.npos ? line.npos : line.find(':', first_colon + 1);
    if (colon == line.npos) return;
    const std::string_view kind = line.substr(first_colon + 1, colon - first_colon - 1);
    const std::string path(line.substr(colon + 1));
    if (kind.empty()) second = path;
    if (kind == "name=systemd") systemd = path;
    if (kind == "memory") memory = path;
  });
  for (const std::string* path : {&second, &memory, &systemd})
    if (!path->empty() && *path != "/") return *path;
  return "/";
}

/// Whether `outer` is the group `inner`, or one around it.
bool holds(std::string_view outer, std::string_view inner) {
  if (outer == "/" || outer.empty()) return true;
  return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '/');
}

void add_descendants(const ProcessTable& table, std::set<pid_t>& found) {
  // Each round finds one generation more; a table in which parents form a circle ends it as well.
  for (bool grown = true; grown;) {
    grown = false;
    for (const auto& [pid, entry] : table)
      if (found.contains(entry.parent)) grown = found.insert(pid).second || grown;
  }
}

}  // namespace

ProcessTable read_process_table(const fs::path& root) {
  ProcessTable table;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root / "proc", ignored)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size()) continue;
    const auto text = read_file(entry.path() / "stat", kLargestText);
    const auto stat = text ? telemetry::parse_process_stat(*text) : std::nullopt;
    if (!stat || !stat->alive()) continue;
    table[pid] = {stat->parent, cgroup_in(read_file(entry.path() / "cgroup", kLargestText).value_or("")),
                  run_marked_in(read_file(entry.path() / "environ", kLargestEnvironment).value_or(""))};
  }
  return table;
}

std::set<pid_t> processes_of(const ProcessTable& table, std::string_view run, pid_t first, pid_t watcher) {
  std::set<pid_t> found;
  if (first > 0 && table.contains(first)) found.insert(first);
  for (const auto& [pid, entry] : table)
    if (!run.empty() && entry.run == run) found.insert(pid);
  add_descendants(table, found);
  const auto watching = table.find(watcher);
  // Where nobody knows in which group the watcher is, any group may hold the whole machine.
  if (watching != table.end()) {
    std::set<std::string_view> groups;
    for (const pid_t pid : found) groups.insert(table.at(pid).cgroup);
    std::erase_if(groups, [&](std::string_view group) { return holds(group, watching->second.cgroup); });
    for (const auto& [pid, entry] : table)
      if (groups.contains(entry.cgroup)) found.insert(pid);
  }
  found.erase(watcher);  // that it carries a mark says only that it was started within another run
  return found;
}

std::set<pid_t> processes_of(std::string_view run, pid_t first, const fs::path& root) {
  return processes_of(read_process_table(root), run, first, ::getpid());
}

std::map<pid_t, std::string> runs_by_process(const ProcessTable& table, std::span<const KnownRun> known,
                                             pid_t watcher) {
  std::map<std::string, pid_t> runs;
  for (const auto& [pid, entry] : table)
    if (!entry.run.empty()) runs.try_emplace(entry.run, 0);
  for (const KnownRun& run : known) runs[run.id] = run.first;
  std::map<pid_t, std::string> out;
  for (const auto& [pid, entry] : table)
    if (!entry.run.empty()) out[pid] = entry.run;
  for (const auto& [run, first] : runs)
    for (const pid_t pid : processes_of(table, run, first, watcher)) out.try_emplace(pid, run);
  return out;
}

}  // namespace plimsoll::running
