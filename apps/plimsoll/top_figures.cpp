#include "top_figures.hpp"

#include <algorithm>
#include <array>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "base/files.hpp"
#include "telemetry/kept_file.hpp"
#include "telemetry/proc_text.hpp"

namespace plimsoll {
namespace {

constexpr std::size_t kLongestHistory = 120;
constexpr std::int64_t kTimeSharesHold = 3'000'000;  // microseconds

std::optional<Bytes> bytes_of(const std::optional<double>& value) {
  return value ? std::optional(Bytes::rounded(*value)) : std::nullopt;
}

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

/// "python3 train.py": the program and its first argument that is no option. The rest may hold secrets.
std::string command_of(std::uint32_t pid) {
  telemetry::ReadBuffer buffer;
  const telemetry::KeptFile file(fmt::format("/proc/{}/cmdline", pid));
  std::string_view rest = file.read(buffer);
  std::string out;
  for (int words = 0; words < 2 && !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (words > 0 && (word.starts_with('-') || word.empty())) continue;
    out += fmt::format("{}{}", words > 0 ? " " : "", base_name(word));
    ++words;
  }
  return out;
}

}  // namespace

TopFigures::TopFigures(const nvml::Library* library, std::string no_gpu)
    : library_(library), no_gpu_(std::move(no_gpu)) {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) fixed_host_.name = name.data();
  fixed_host_.cores = std::max(1U, std::thread::hardware_concurrency());
  if (const auto memory = read_file("/proc/meminfo", 64 << 10))
    if (const auto total = telemetry::number_after(*memory, "MemTotal:"))
      fixed_host_.memory_total =
          Bytes(static_cast<std::int64_t>(std::min(*total, std::uint64_t{1} << 50U))) * 1024;
  if (library_ == nullptr) return;
  driver_ = library_->driver_version().value_or(std::string());
  const unsigned count = library_->device_count().value_or(0);
  if (count == 0) no_gpu_ = "the driver knows of none";
  for (unsigned i = 0; i < count; ++i) {
    Gpu gpu;
    gpu.fixed.number = i;
    gpu.fixed.name = library_->name(i).value_or("GPU without a name");
    if (const auto memory = library_->memory(i)) gpu.fixed.memory_total = memory->total;
    if (const auto limit = library_->enforced_power_limit(i)) gpu.fixed.power_limit = *limit;
    devices_.push_back(i);
    gpus_.push_back(std::move(gpu));
  }
}

void TopFigures::add(const telemetry::SamplingThread::Taken& taken) {
  series_.insert(series_.end(), taken.new_series.begin(), taken.new_series.end());
  std::map<unsigned, std::pair<double, int>> activity;  // of the frames taken, by GPU
  for (const telemetry::Frame& frame : taken.frames) {
    if (first_time_ == 0) first_time_ = frame.time;
    last_time_ = frame.time;
    for (const telemetry::Reading& value : frame.values) {
      const telemetry::Series& series = series_.at(value.series);
      if (series.run) continue;
      latest_[series.name] = value.value;
      if (!series.gpu || series.name != fmt::format("system/gpu/{}/sm_activity", *series.gpu)) continue;
      activity[*series.gpu].first += value.value;
      ++activity[*series.gpu].second;
    }
  }
  for (Gpu& gpu : gpus_) {
    const auto found = activity.find(gpu.fixed.number);
    if (found == activity.end()) continue;
    gpu.history.push_back(found->second.first / found->second.second);
    if (gpu.history.size() > kLongestHistory) gpu.history.erase(gpu.history.begin());
  }
}

std::optional<double> TopFigures::latest(const std::string& name) const {
  const auto found = latest_.find(name);
  return found == latest_.end() ? std::nullopt : std::optional(found->second);
}

report::TopHost TopFigures::host() const {
  report::TopHost out = fixed_host_;
  out.cpu = latest("system/host/cpu");
  out.memory_used = bytes_of(latest("system/host/memory_used"));
  out.swap_used = bytes_of(latest("system/host/swap_used"));
  out.cpu_pressure = latest("system/host/cpu_pressure");
  out.memory_pressure = latest("system/host/memory_pressure");
  out.io_pressure = latest("system/host/io_pressure");
  out.cgroup_memory = bytes_of(latest("system/host/cgroup_memory"));
  out.cgroup_memory_limit = bytes_of(latest("system/host/cgroup_memory_limit"));
  for (const auto& [name, value] : latest_)
    if (name.starts_with("system/host/package/"))
      out.package_energy = out.package_energy.value_or(Joules()) + Joules(value);
  return out;
}

void TopFigures::fill(report::TopGpu& gpu) const {
  const std::string prefix = fmt::format("system/gpu/{}/", gpu.number);
  const auto figure = [&](const char* name) { return latest(prefix + name); };
  gpu.memory_used = bytes_of(figure("memory_used"));
  gpu.sm_activity = figure("sm_activity");
  gpu.utilization = figure("utilization");
  gpu.tensor_activity = figure("tensor_activity");
  gpu.dram_activity = figure("dram_activity");
  if (const auto power = figure("power")) gpu.power = Watts(*power);
  if (const auto energy = figure("energy")) gpu.energy = Joules(*energy);
  gpu.temperature = figure("temperature");
  gpu.sm_clock = figure("sm_clock");
  if (const auto bits = figure("throttle")) gpu.throttle = static_cast<std::uint64_t>(*bits);
  const std::string slices = prefix + "mig/";
  for (auto it = latest_.lower_bound(slices); it != latest_.end() && it->first.starts_with(slices); ++it) {
    const std::string_view rest = std::string_view(it->first).substr(slices.size());
    const auto instance = telemetry::whole_number(rest.substr(0, rest.find('/')));
    if (!instance) continue;
    if (gpu.slices.empty() || gpu.slices.back().gpu_instance != *instance)
      gpu.slices.push_back({.gpu_instance = static_cast<unsigned>(*instance)});
    if (rest.ends_with("/sm_activity")) gpu.slices.back().sm_activity = it->second;
    if (rest.ends_with("/memory_used")) gpu.slices.back().memory_used = Bytes::rounded(it->second);
  }
}

void TopFigures::add_processes(Gpu& gpu, report::TopGpu& shown) const {
  const auto processes = library_->processes(shown.number);
  if (!processes) return;
  if (const auto told = library_->process_utilization(shown.number, gpu.told_until); told && !told->empty()) {
    gpu.time_shares.clear();
    for (const nvml::ProcessUtilization& sample : *told) {
      gpu.told_until = std::max(gpu.told_until, sample.time);
      gpu.time_shares[sample.pid] = sample.sm;
    }
    gpu.told_at = last_time_;
  }
  const bool holds = gpu.told_at > 0 && last_time_ - gpu.told_at < kTimeSharesHold;
  for (const nvml::Process& process : *processes) {
    const auto share = gpu.time_shares.find(process.pid);
    shown.processes.push_back({.pid = process.pid,
                               .command = command_of(process.pid),
                               .memory = process.used,
                               .time_share = holds && share != gpu.time_shares.end()
                                                 ? std::optional(share->second)
                                                 : std::nullopt});
  }
  std::ranges::stable_sort(shown.processes, std::ranges::greater{}, [](const report::TopProcess& process) {
    return process.memory.value_or(Bytes());
  });
}

report::TopView TopFigures::view() {
  report::TopView out;
  out.time = last_time_;
  out.watched = Seconds(static_cast<double>(last_time_ - first_time_) * 1e-6);
  out.host = host();
  out.driver = driver_;
  out.no_gpu = no_gpu_;
  for (Gpu& gpu : gpus_) {
    report::TopGpu shown = gpu.fixed;
    shown.history = gpu.history;
    fill(shown);
    add_processes(gpu, shown);
    out.gpus.push_back(std::move(shown));
  }
  return out;
}

}  // namespace plimsoll
