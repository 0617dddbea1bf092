#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "telemetry/cgroup.hpp"
#include "telemetry/counter.hpp"
#include "telemetry/frame_collector.hpp"
#include "telemetry/kept_file.hpp"
#include "telemetry/package_energy.hpp"
#include "telemetry/sources.hpp"

namespace plimsoll::telemetry {

/// The machine as a whole: processors, memory, disks, network, pressure, the group of this process, and the
/// energy of its processor packages. Each file that is not there is left out.
class HostSampler {
 public:
  HostSampler(std::filesystem::path proc, std::filesystem::path sys);
  void sample(const Moment& moment, ReadBuffer& buffer, FrameCollector& collector);

 private:
  struct Pressure {
    KeptFile file;
    Channel channel;
    CounterRate rate = {};
  };
  struct Package {
    PackageEnergy energy;
    Channel channel;
  };

  void sample_cpu(const Moment& moment, ReadBuffer& buffer, FrameCollector& collector);
  void sample_memory(ReadBuffer& buffer, FrameCollector& collector);
  void sample_disks(const Moment& moment, ReadBuffer& buffer, FrameCollector& collector);
  void sample_network(const Moment& moment, ReadBuffer& buffer, FrameCollector& collector);
  void sample_cgroup(const Moment& moment, ReadBuffer& buffer, FrameCollector& collector);
  /// Whether a device stands on hardware of its own, rather than on others that are counted already.
  [[nodiscard]] bool is_hardware(const char* kind, std::string_view name);

  std::filesystem::path proc_, sys_;
  double ticks_per_second_;
  KeptFile stat_, memory_, disks_, network_;
  Cgroup cgroup_;
  std::vector<Pressure> pressures_;
  std::vector<Package> packages_;
  std::map<std::string, bool, std::less<>> hardware_;
  CounterRate busy_, disk_read_, disk_written_, received_, sent_, cgroup_cpu_rate_, cgroup_throttled_rate_;
  Due cpu_due_{Source::host_cpu}, memory_due_{Source::host_memory}, disk_due_{Source::host_disk},
      network_due_{Source::host_network}, pressure_due_{Source::host_pressure}, cgroup_due_{Source::cgroup},
      package_due_{Source::package_energy};
  Channel cpu_channel_, memory_channel_, swap_channel_, disk_read_channel_, disk_written_channel_,
      received_channel_, sent_channel_, cgroup_memory_channel_, cgroup_limit_channel_, cgroup_cpu_channel_,
      cgroup_throttled_channel_;
};

}  // namespace plimsoll::telemetry
