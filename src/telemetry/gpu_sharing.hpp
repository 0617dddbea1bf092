#pragma once
#include <array>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "nvml/library.hpp"
#include "telemetry/frame_collector.hpp"
#include "telemetry/gpu_sampler.hpp"
#include "telemetry/process_forest.hpp"
#include "telemetry/share.hpp"

namespace plimsoll::telemetry {

/// Splits what one GPU did among the watched runs whose processes are on it.
class GpuSharing {
 public:
  GpuSharing(nvml::Library& library, unsigned device) : library_(&library), device_(device) {}

  /// Ends an interval: who was there, what each used, and its part of `interval`.
  void sample(const Moment& moment, ProcessForest& forest, const GpuInterval& interval, ReadBuffer& buffer,
              FrameCollector& collector);
  void forget(int run);
  /// The part of a run by its caller's reckoning, in proportion to the other runs'; nothing takes it back.
  void weigh(int run, std::optional<double> weight);
  void ignore(pid_t pid) { servers_.insert(static_cast<std::uint32_t>(pid)); }

 private:
  static constexpr int kNobody = -1;
  static constexpr std::size_t kMethods = kShareMethods.size();
  struct Account {
    Account(int run, unsigned device);
    double energy = 0;        ///< J, given to the run
    double unattributed = 0;  ///< J of the GPU while the run was there and its part could not be told
    Channel memory_channel, unattributed_channel, slice_activity_channel;
    std::array<Channel, kMethods> share_channels, activity_channels, energy_channels;
  };
  /// Who was on the GPU at one moment.
  struct Present {
    std::map<int, std::optional<double>> memory;  ///< by run, bytes; nothing: the driver does not tell
    std::set<std::uint32_t> others;
    std::map<unsigned, std::set<int>> slices;  ///< the runs on each GPU instance; kNobody: others, too
  };
  /// Of the time in which kernels ran.
  struct TimeShares {
    std::map<int, double> runs;
    double others = 0;
    bool complete = true;  ///< else an MPS server's stands for its clients'
  };

  [[nodiscard]] std::optional<Present> who_is_there(const Moment& moment, ProcessForest& forest,
                                                    ReadBuffer& buffer);
  /// Nothing where the driver does not tell, or told nothing new of a GPU at work.
  [[nodiscard]] std::optional<TimeShares> who_ran(const Moment& moment, const ProcessForest& forest,
                                                  std::set<std::uint32_t>& others);
  /// An MPS server holds a context, and the driver counts its clients' kernels as its own.
  [[nodiscard]] bool is_server(std::uint32_t pid, const ProcessForest& forest, ReadBuffer& buffer);
  /// In MIG mode what each tenant's slices did.
  void add_slices(const std::map<unsigned, std::set<int>>& occupied, const GpuInterval& interval,
                  Tenancy& tenancy);
  void give_out(const Tenancy& tenancy, const GpuInterval& interval, FrameCollector& collector);
  [[nodiscard]] Account& account_of(int run);

  nvml::Library* library_;
  unsigned device_;
  std::map<int, Account> accounts_;
  Present before_;
  std::uint64_t seen_until_ = 0;  ///< by the driver's clock
  bool primed_ = false;           ///< what it kept from before the watching has been passed over
  std::optional<std::pair<double, TimeShares>> last_told_;  ///< and when
  std::map<int, double> slice_activity_;                    ///< by run, of the last interval
  std::map<int, double> given_;                             ///< weights, by run
  std::set<std::uint32_t> servers_, plain_;                 ///< processes looked at: MPS servers, and others
  double ask_processes_after_ = 0, ask_utilization_after_ = 0;
};

}  // namespace plimsoll::telemetry
