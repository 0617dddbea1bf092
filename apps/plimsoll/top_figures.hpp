#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "nvml/library.hpp"
#include "report/top_view.hpp"
#include "telemetry/sampling_thread.hpp"

namespace plimsoll {

/// Keeps the latest of what a SamplingThread gives, and asks what it does not: names, limits, processes.
class TopFigures {
 public:
  /// `library`: nothing where there is no GPU, for the reason in `no_gpu`; outlives this.
  TopFigures(const nvml::Library* library, std::string no_gpu);

  [[nodiscard]] const std::vector<unsigned>& devices() const { return devices_; }
  void add(const telemetry::SamplingThread::Taken& taken);
  /// All but the runs.
  [[nodiscard]] report::TopView view();

 private:
  struct Gpu {
    report::TopGpu fixed;  ///< what does not change
    std::vector<double> history;
    std::uint64_t told_until = 0;  ///< of its processes, by the driver's clock
    std::map<std::uint32_t, double> time_shares;
    std::int64_t told_at = 0;
  };

  [[nodiscard]] std::optional<double> latest(const std::string& name) const;
  [[nodiscard]] report::TopHost host() const;
  void fill(report::TopGpu& gpu) const;
  void add_processes(Gpu& gpu, report::TopGpu& shown) const;

  const nvml::Library* library_;
  std::string no_gpu_;
  std::string driver_;
  report::TopHost fixed_host_;
  std::vector<unsigned> devices_;
  std::vector<Gpu> gpus_;
  std::vector<telemetry::Series> series_;
  std::map<std::string, double> latest_;
  std::int64_t first_time_ = 0, last_time_ = 0;
};

}  // namespace plimsoll
