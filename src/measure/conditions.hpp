#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measure/measurement.hpp"
#include "nvml/library.hpp"

namespace plimsoll::measure {

/// Watches the machine while one job runs: made before it starts, told when it greets, asked now and then.
/// Without a driver there is only the host.
class ConditionsWatch {
 public:
  struct Roots {
    std::filesystem::path proc = "/proc";
    std::filesystem::path sys = "/sys";
  };
  explicit ConditionsWatch(const nvml::Library* library) : ConditionsWatch(library, Roots{}) {}
  ConditionsWatch(const nvml::Library* library, Roots roots);

  /// Finds the GPU by the UUID that the engine tells (without one, the only GPU), and looks at it for the
  /// first time.
  void greeted(const job::Hello& hello);
  /// Reads what is due. `hot`: steady passes run now.
  void sample(double elapsed_seconds, bool hot);
  [[nodiscard]] Conditions finish();

  [[nodiscard]] std::optional<unsigned> gpu() const;
  [[nodiscard]] bool sliced() const { return gpu_ && gpu_->sliced; }
  /// What the engine takes on the GPU now, context included, as the driver tells it.
  [[nodiscard]] std::optional<std::int64_t> engine_bytes() const;

 private:
  struct Busy {
    double seconds = 0, all = 0, own = 0;  ///< on the clock, and of processors' time
  };
  void find_gpu(const job::Hello& hello);
  [[nodiscard]] GpuState state() const;
  void find_others();
  [[nodiscard]] std::optional<Busy> busy() const;
  [[nodiscard]] std::string process_name(std::uint32_t pid) const;

  const nvml::Library* library_;
  Roots roots_;
  std::map<unsigned, std::vector<nvml::Process>> before_;  // by GPU, before the engine was started
  std::map<unsigned, std::uint64_t> utilized_until_;       // the driver's time then
  HostConditions host_;
  std::optional<GpuConditions> gpu_;
  std::int64_t engine_ = 0;
  double next_ = 0, next_others_ = 0;
  bool was_hot_ = false;
  std::optional<Busy> busy_begin_, busy_end_;
};

/// Why conditions make a figure doubtful; empty where nothing speaks against it.
[[nodiscard]] std::vector<std::string> doubts(const Conditions& conditions, bool on_gpu);

}  // namespace plimsoll::measure
