#include "telemetry/host_sampler.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <unistd.h>

#include "base/files.hpp"
#include "telemetry/proc_text.hpp"

namespace plimsoll::telemetry {
namespace {

namespace fs = std::filesystem;

Channel host(std::string_view name, std::string unit, std::string source) {
  return {
      {.name = fmt::format("system/host/{}", name), .unit = std::move(unit), .source = std::move(source)}};
}

constexpr std::size_t kMostDevices = 4096;  // names remembered

}  // namespace

HostSampler::HostSampler(fs::path proc, fs::path sys)
    : proc_(std::move(proc)),
      sys_(std::move(sys)),
      ticks_per_second_(static_cast<double>(::sysconf(_SC_CLK_TCK))),
      stat_(proc_ / "stat"),
      memory_(proc_ / "meminfo"),
      disks_(proc_ / "diskstats"),
      network_(proc_ / "net/dev"),
      cgroup_(proc_, sys_),
      cpu_channel_(host("cpu", "cores", "/proc/stat")),
      memory_channel_(host("memory_used", "B", "/proc/meminfo MemTotal - MemAvailable")),
      swap_channel_(host("swap_used", "B", "/proc/meminfo")),
      disk_read_channel_(host("disk_read", "B/s", "/proc/diskstats")),
      disk_written_channel_(host("disk_written", "B/s", "/proc/diskstats")),
      received_channel_(host("network_received", "B/s", "/proc/net/dev")),
      sent_channel_(host("network_sent", "B/s", "/proc/net/dev")),
      cgroup_memory_channel_(host("cgroup_memory", "B", fmt::format("cgroup v{}", cgroup_.version()))),
      cgroup_limit_channel_(host("cgroup_memory_limit", "B", fmt::format("cgroup v{}", cgroup_.version()))),
      cgroup_cpu_channel_(host("cgroup_cpu", "cores", fmt::format("cgroup v{}", cgroup_.version()))),
      cgroup_throttled_channel_(
          host("cgroup_throttled", "cores", fmt::format("cgroup v{} cpu.stat", cgroup_.version()))) {
  for (const char* kind : {"cpu", "memory", "io"})
    pressures_.push_back({.file = KeptFile(proc_ / "pressure" / kind),
                          .channel = host(fmt::format("{}_pressure", kind), "1",
                                          fmt::format("/proc/pressure/{} some", kind))});
  for (PackageEnergy& energy : find_packages(sys_)) {
    Channel channel = host(fmt::format("package/{}/energy", energy.number()), "J", "RAPL");
    packages_.push_back({.energy = std::move(energy), .channel = std::move(channel)});
  }
}

bool HostSampler::is_hardware(const char* kind, std::string_view name) {
  const std::string key = fmt::format("{}/{}", kind, name);
  if (const auto known = hardware_.find(key); known != hardware_.end()) return known->second;
  if (hardware_.size() >= kMostDevices) hardware_.clear();
  std::error_code error;
  return hardware_[key] = fs::exists(sys_ / key / "device", error);
}

void HostSampler::sample(const Moment& moment, ReadBuffer& buffer, FrameCollector& collector) {
  if (moment.reads(cpu_due_)) sample_cpu(moment, buffer, collector);
  if (moment.reads(memory_due_)) sample_memory(buffer, collector);
  if (moment.reads(disk_due_)) sample_disks(moment, buffer, collector);
  if (moment.reads(network_due_)) sample_network(moment, buffer, collector);
  if (moment.reads(cgroup_due_)) sample_cgroup(moment, buffer, collector);
  if (moment.reads(pressure_due_))
    for (Pressure& pressure : pressures_)
      if (const auto waited = parse_pressure(pressure.file.read(buffer)))
        if (const auto rate = pressure.rate.per_second(static_cast<double>(*waited) * 1e-6, moment.elapsed))
          collector.put(pressure.channel, std::min(*rate, 1.0));
  if (moment.reads(package_due_))
    for (Package& package : packages_) collector.put(package.channel, package.energy.joules(buffer));
}

void HostSampler::sample_cpu(const Moment& moment, ReadBuffer& buffer, FrameCollector& collector) {
  if (const auto busy = parse_busy_ticks(stat_.read(buffer)))
    collector.put(cpu_channel_,
                  busy_.per_second(static_cast<double>(*busy) / ticks_per_second_, moment.elapsed));
}

void HostSampler::sample_memory(ReadBuffer& buffer, FrameCollector& collector) {
  const std::string_view text = memory_.read(buffer);
  const auto used = [&](std::string_view all, std::string_view left, Channel& channel) {
    const auto total = number_after(text, all);
    const auto free = number_after(text, left);
    if (total && free && *free <= *total) collector.put(channel, static_cast<double>(*total - *free) * 1024);
  };
  used("MemTotal:", "MemAvailable:", memory_channel_);
  used("SwapTotal:", "SwapFree:", swap_channel_);
}

void HostSampler::sample_disks(const Moment& moment, ReadBuffer& buffer, FrameCollector& collector) {
  // Partitions are parts of their disk, and md, dm and loop devices stand on others.
  const auto moved =
      parse_disks(disks_.read(buffer), [this](std::string_view name) { return is_hardware("block", name); });
  if (!moved) return;
  collector.put(disk_read_channel_, disk_read_.per_second(static_cast<double>(moved->in), moment.elapsed));
  collector.put(disk_written_channel_,
                disk_written_.per_second(static_cast<double>(moved->out), moment.elapsed));
}

void HostSampler::sample_network(const Moment& moment, ReadBuffer& buffer, FrameCollector& collector) {
  const std::string_view text = network_.read(buffer);
  auto moved = parse_network(text, [this](std::string_view name) { return is_hardware("class/net", name); });
  // In a container every interface is virtual; then each is counted that leads out.
  if (!moved) moved = parse_network(text, [](std::string_view name) { return name != "lo"; });
  if (!moved) return;
  collector.put(received_channel_, received_.per_second(static_cast<double>(moved->in), moment.elapsed));
  collector.put(sent_channel_, sent_.per_second(static_cast<double>(moved->out), moment.elapsed));
}

void HostSampler::sample_cgroup(const Moment& moment, ReadBuffer& buffer, FrameCollector& collector) {
  collector.put(cgroup_memory_channel_, cgroup_.memory(buffer));
  collector.put(cgroup_limit_channel_, cgroup_.memory_limit());
  if (const auto used = cgroup_.cpu_seconds(buffer))
    collector.put(cgroup_cpu_channel_, cgroup_cpu_rate_.per_second(*used, moment.elapsed));
  if (const auto held = cgroup_.throttled_seconds(buffer))
    collector.put(cgroup_throttled_channel_, cgroup_throttled_rate_.per_second(*held, moment.elapsed));
}

}  // namespace plimsoll::telemetry
