#include "telemetry/cgroup.hpp"

#include <algorithm>

#include "base/files.hpp"
#include "telemetry/proc_text.hpp"

namespace plimsoll::telemetry {
namespace {

namespace fs = std::filesystem;

// Version 1 writes "no limit" as the largest multiple of a page; nothing real comes near.
constexpr double kNoLimit = 0x1p60;

/// The group's directory under its mount; the mount itself where the path belongs to another namespace.
fs::path directory_of(const fs::path& mount, std::string_view path) {
  // A path that climbs ("/../..") is another namespace's as well.
  if (path.find("..") == std::string_view::npos) {
    const fs::path inside = mount / fs::path(path).relative_path();
    std::error_code error;
    if (fs::is_directory(inside, error)) return inside;
  }
  return mount;
}

std::optional<double> limit_in(const fs::path& file) {
  const auto text = read_file(file, 4096);
  if (!text) return std::nullopt;
  const auto number = Words(*text).number();  // "max": none
  if (!number || static_cast<double>(*number) >= kNoLimit) return std::nullopt;
  return static_cast<double>(*number);
}

/// A group is bounded by those around it, too.
std::optional<double> least_limit(fs::path directory, const fs::path& mount, const char* name) {
  std::optional<double> least;
  for (int depth = 0; depth < 64; ++depth) {
    if (const auto limit = limit_in(directory / name)) least = std::min(least.value_or(*limit), *limit);
    if (directory == mount || !directory.has_relative_path()) break;
    directory = directory.parent_path();
  }
  return least;
}

/// "4:memory:/path": the path of a controller of version 1, or of version 2 where `controller` is empty.
std::optional<std::string_view> path_of(std::string_view membership, std::string_view controller) {
  std::optional<std::string_view> out;
  for_each_line(membership, [&](std::string_view line) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos || out) return;
    std::string_view names = line.substr(first + 1, second - first - 1);
    if (controller.empty()) {
      if (names.empty()) out = line.substr(second + 1);
      return;
    }
    while (!names.empty()) {
      const std::size_t comma = std::min(names.find(','), names.size());
      if (names.substr(0, comma) == controller) out = line.substr(second + 1);
      names.remove_prefix(std::min(comma + 1, names.size()));
    }
  });
  return out;
}

bool there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::optional<double> scaled(std::optional<std::uint64_t> number, double scale) {
  return number ? std::optional(static_cast<double>(*number) * scale) : std::nullopt;
}

}  // namespace

CgroupFiles find_cgroup(std::string_view membership, const fs::path& root) {
  CgroupFiles out;
  const auto unified = path_of(membership, {});
  if (unified && there(root / "cgroup.controllers")) {
    const fs::path directory = directory_of(root, *unified);
    out.version = 2;
    out.memory = directory / "memory.current";  // the machine's own root group has none
    out.memory_limit = least_limit(directory, root, "memory.max");
    out.cpu_usage = out.cpu_throttled = directory / "cpu.stat";
    return out;
  }
  if (const auto path = path_of(membership, "memory"); path && there(root / "memory")) {
    const fs::path directory = directory_of(root / "memory", *path);
    out.version = 1;
    out.memory = directory / "memory.usage_in_bytes";
    out.memory_limit = least_limit(directory, root / "memory", "memory.limit_in_bytes");
  }
  if (const auto path = path_of(membership, "cpuacct"); path && there(root / "cpuacct")) {
    out.version = 1;
    out.cpu_usage = directory_of(root / "cpuacct", *path) / "cpuacct.usage";
  }
  if (const auto path = path_of(membership, "cpu"); path && there(root / "cpu")) {
    out.version = 1;
    out.cpu_throttled = directory_of(root / "cpu", *path) / "cpu.stat";
  }
  return out;
}

Cgroup::Cgroup(const fs::path& proc, const fs::path& sys)
    : files_(
          find_cgroup(read_file(proc / "self/cgroup", 64 << 10).value_or(std::string()), sys / "fs/cgroup")),
      memory_(files_.memory),
      cpu_usage_(files_.cpu_usage),
      cpu_throttled_(files_.cpu_throttled) {}

std::optional<double> Cgroup::memory(ReadBuffer& buffer) const {
  return scaled(Words(memory_.read(buffer)).number(), 1);
}

std::optional<double> Cgroup::cpu_seconds(ReadBuffer& buffer) const {
  const std::string_view text = cpu_usage_.read(buffer);
  return files_.version == 2 ? scaled(number_after(text, "usage_usec"), 1e-6)
                             : scaled(Words(text).number(), 1e-9);
}

std::optional<double> Cgroup::throttled_seconds(ReadBuffer& buffer) const {
  const std::string_view text = cpu_throttled_.read(buffer);
  return files_.version == 2 ? scaled(number_after(text, "throttled_usec"), 1e-6)
                             : scaled(number_after(text, "throttled_time"), 1e-9);
}

}  // namespace plimsoll::telemetry
