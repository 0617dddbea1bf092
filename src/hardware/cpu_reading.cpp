#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "hardware/cpu.hpp"

namespace plimsoll::hardware {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostProcBytes = 64 << 20;  // /proc/cpuinfo of the largest machines is a few MiB

std::optional<std::string> read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text;
  char chunk[4096];
  while (text.size() < kMostProcBytes && (in.read(chunk, sizeof chunk) || in.gcount() > 0))
    text.append(chunk, static_cast<std::size_t>(in.gcount()));
  return text;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first == text.npos ? std::string_view()
                            : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// The number that the text begins with.
template <class Number>
std::optional<Number> leading_number(std::string_view text) {
  text = trimmed(text);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

template <class Number>
std::optional<Number> read_number(const fs::path& path) {
  const auto text = read_text(path);
  return text ? leading_number<Number>(*text) : std::nullopt;
}

/// "0-3,8,10-11", as the kernel writes sets of CPUs.
std::set<int> cpu_list(std::string_view text) {
  constexpr int most = 1 << 16;
  std::set<int> cpus;
  text = trimmed(text);
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const std::string_view range = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const auto first = leading_number<int>(range);
    const auto dash = range.find('-');
    const auto last = dash == range.npos ? first : leading_number<int>(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last > most) continue;
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.insert(cpu);
  }
  return cpus;
}

using Fields = std::map<std::string, std::string, std::less<>>;

/// One map of fields per logical processor; what stands before the first goes to all, what ARM writes after
/// the last goes to the last.
std::vector<Fields> processors(std::string_view cpuinfo) {
  std::vector<Fields> all;
  std::istringstream lines{std::string(cpuinfo)};
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':');
    if (colon == line.npos) continue;
    const std::string key(trimmed(std::string_view(line).substr(0, colon)));
    const std::string value(trimmed(std::string_view(line).substr(colon + 1)));
    // Old ARM kernels have a capitalised "Processor" that is the model, not a number.
    if (key == "processor" && leading_number<int>(value)) all.emplace_back();
    if (!all.empty()) all.back().emplace(key, value);
  }
  return all;
}

std::string field(const Fields& fields, std::string_view key) {
  const auto found = fields.find(key);
  return found == fields.end() ? std::string() : found->second;
}

Simd simd_of(const std::string& flags) {
  const std::string padded = fmt::format(" {} ", flags);
  const auto has = [&](std::string_view flag) {
    return padded.find(fmt::format(" {} ", flag)) != padded.npos;
  };
  if (has("avx512f")) return Simd::avx512;
  if (has("avx2") && has("fma")) return Simd::avx2_fma;
  if (has("avx")) return Simd::avx;
  if (has("sse2")) return Simd::sse2;
  return Simd::unknown;
}

/// "Intel(R) Xeon(R) CPU @ 2.20GHz": the base frequency, in the name.
std::optional<double> hertz_in_name(std::string_view model) {
  const auto at = model.rfind("@ ");
  if (at == model.npos || model.find("GHz", at) == model.npos) return std::nullopt;
  const auto gigahertz = leading_number<double>(model.substr(at + 2));
  return gigahertz ? std::optional(*gigahertz * 1e9) : std::nullopt;
}

/// Each physical core once, with the frequency of its first thread.
void read_cores(const fs::path& root, const std::vector<Fields>& processors, Cpu& cpu) {
  const fs::path system = root / "sys/devices/system/cpu";
  const auto small = cpu_list(read_text(root / "sys/devices/cpu_atom/cpus").value_or(""));
  std::set<std::string> seen;
  for (const Fields& fields : processors) {
    const int number_of = leading_number<int>(field(fields, "processor")).value_or(0);
    const fs::path folder = system / fmt::format("cpu{}", number_of);
    std::string identity = read_text(folder / "topology/thread_siblings_list").value_or("");
    if (identity.empty() && fields.contains("core id"))
      identity = fmt::format("{}/{}", field(fields, "physical id"), field(fields, "core id"));
    if (identity.empty()) identity = fmt::format("cpu{}", number_of);
    if (!seen.insert(identity).second) continue;

    CpuCore core{.efficiency = small.contains(number_of)};
    if (const auto kilohertz = read_number<double>(folder / "cpufreq/cpuinfo_max_freq");
        kilohertz && *kilohertz > 0) {
      core.hertz = *kilohertz * 1e3;
      cpu.frequency_source = "largest the kernel allows";
    } else if (const auto megahertz = leading_number<double>(field(fields, "cpu MHz"));
               megahertz && *megahertz > 0) {
      core.hertz = *megahertz * 1e6;
      cpu.frequency_source = "that of the moment, the largest being unknown";
    } else if (const auto named = hertz_in_name(cpu.model); named && *named > 0) {
      core.hertz = named;
      cpu.frequency_source = "out of the model's name";
    }
    cpu.cores.push_back(core);
  }
}

/// The folders of this process's cgroup from its own up to the mount's root, for one controller's hierarchy.
std::vector<fs::path> cgroup_folders(const fs::path& mount, std::string_view own) {
  std::vector<fs::path> folders = {mount};
  // Seen from inside a cgroup namespace, the path may lead above the root: then only the root is there.
  if (own.find("..") != own.npos) return folders;
  fs::path folder = mount;
  for (const fs::path& part : fs::path(own).relative_path()) folders.push_back(folder /= part);
  return folders;
}

template <class T>
void lower(std::optional<T>& limit, std::optional<T> found) {
  if (found && (!limit || *found < *limit)) limit = found;
}

void read_limits(const fs::path& folder, Cpu& cpu) {
  constexpr std::int64_t unlimited = std::int64_t{1} << 60;  // version 1 writes a huge number for "max"
  for (const char* file : {"memory.max", "memory.limit_in_bytes"})
    if (const auto limit = read_number<std::int64_t>(folder / file);
        limit && *limit > 0 && *limit < unlimited)
      lower(cpu.memory_limit, std::optional(Bytes(*limit)));
  if (const auto text = read_text(folder / "cpu.max")) {
    std::istringstream in(*text);  // "200000 100000" or "max 100000"
    double quota = 0, period = 0;
    if (in >> quota >> period && quota > 0 && period > 0) lower(cpu.cpu_quota, std::optional(quota / period));
  }
  const auto quota = read_number<double>(folder / "cpu.cfs_quota_us");
  const auto period = read_number<double>(folder / "cpu.cfs_period_us");
  if (quota && period && *quota > 0 && *period > 0) lower(cpu.cpu_quota, std::optional(*quota / *period));
}

void read_cgroup(const fs::path& root, Cpu& cpu) {
  const fs::path mount = root / "sys/fs/cgroup";
  std::istringstream lines(read_text(root / "proc/self/cgroup").value_or("0::/"));
  for (std::string line;
       std::getline(lines, line);) {  // "0::/path" (version 2), "4:memory:/path" (version 1)
    const auto first = line.find(':');
    const auto second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string own = line.substr(second + 1);
    const std::string list = fmt::format(",{},", controllers);
    std::vector<fs::path> mounts;
    if (controllers.empty()) mounts = {mount, mount / "unified"};
    if (list.find(",memory,") != list.npos) mounts = {mount / "memory"};
    if (list.find(",cpu,") != list.npos) mounts = {mount / "cpu", mount / controllers};
    for (const fs::path& hierarchy : mounts)
      for (const fs::path& folder : cgroup_folders(hierarchy, own)) read_limits(folder, cpu);
  }
}

std::optional<Bytes> total_memory(const fs::path& root) {
  std::istringstream lines(read_text(root / "proc/meminfo").value_or(""));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("MemTotal:"))
      if (const auto kibibytes = leading_number<std::int64_t>(line.substr(9)); kibibytes && *kibibytes > 0)
        return Bytes(*kibibytes) * 1024;
  return std::nullopt;
}

}  // namespace

Cpu read_cpu(const fs::path& root) {
  Cpu cpu;
  const auto all = processors(read_text(root / "proc/cpuinfo").value_or(""));
  cpu.threads = static_cast<int>(all.size());
  if (!all.empty()) {
    const Fields& first = all.front();
    cpu.model = field(first, "model name");
    if (cpu.model.empty()) cpu.model = field(all.back(), "Model");
    if (cpu.model.empty()) cpu.model = field(all.back(), "Hardware");
    cpu.vendor = field(first, "vendor_id");
    cpu.family = leading_number<int>(field(first, "cpu family")).value_or(0);
    cpu.model_number = leading_number<int>(field(first, "model")).value_or(0);
    cpu.simd = simd_of(field(first, "flags"));
  }
  read_cores(root, all, cpu);
  cpu.memory = total_memory(root);
  read_cgroup(root, cpu);
  return cpu;
}

}  // namespace plimsoll::hardware
