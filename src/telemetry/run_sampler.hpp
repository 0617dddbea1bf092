#pragma once
#include <filesystem>
#include <map>
#include <optional>

#include "telemetry/counter.hpp"
#include "telemetry/frame_collector.hpp"
#include "telemetry/kept_file.hpp"
#include "telemetry/process_forest.hpp"
#include "telemetry/sources.hpp"

namespace plimsoll::telemetry {

/// The processor time of a run, in ticks. A process's time moves to its parent's when the parent waits for
/// it, and is lost with it where nobody of the run does: both are put right here, so that the sum never
/// falls.
struct CpuAccount {
  std::uint64_t baseline = 0;  ///< used before the watching began
  std::uint64_t retired = 0;   ///< of processes whose time no other member carries on
  std::uint64_t total = 0;
  double late = 0;       ///< learned after the fact (a process found a second after its start), not yet told
  double late_rate = 0;  ///< ticks a second in which it is told, so that it makes no spike
};

/// What the processes of every watched run use of the machine.
class RunSampler {
 public:
  explicit RunSampler(const std::filesystem::path& proc);

  void watch(int run, pid_t root);
  void adopt(int run, pid_t orphan);
  void forget(int run);
  void sample(const Moment& moment, ReadBuffer& buffer, FrameCollector& collector);
  void all_due();

  [[nodiscard]] ProcessForest& forest() { return forest_; }

 private:
  struct Sums {
    std::uint64_t ticks = 0, direct = 0, resident = 0, processes = 0, threads = 0;
  };
  struct Account {
    explicit Account(int run);
    CpuAccount cpu = {};
    Sums now = {};
    std::optional<double> cpu_read = {};  ///< when
    ProcessIo io_retired = {};
    CounterRate read = {}, written = {};
    double next_memory = 0;
    Channel cpu_channel, cpu_time_channel, resident_channel, processes_channel, threads_channel, pss_channel,
        rss_channel, read_channel, written_channel;
  };

  /// Whether the processes were listed again.
  [[nodiscard]] bool look_for_processes(const Moment& moment, ReadBuffer& buffer);
  void sample_cpu(const Moment& moment, ReadBuffer& buffer, FrameCollector& collector);
  void sample_io(const Moment& moment, ReadBuffer& buffer, FrameCollector& collector);
  void sample_memory(const Moment& moment, ReadBuffer& buffer, FrameCollector& collector);

  ProcessForest forest_;
  double ticks_per_second_;
  double page_size_;
  KeptFile load_;  ///< /proc/loadavg, which ends in the number that was last given to a process
  std::optional<std::uint64_t> newest_;
  bool look_at_once_ = false;
  double looked_at_ = 0;    ///< when the processes were last listed
  double late_spread_ = 1;  ///< seconds over which what is learned late is told
  std::map<int, Account> accounts_;
  Due cpu_due_{Source::process_cpu}, tree_due_{Source::process_tree}, memory_due_{Source::process_memory},
      io_due_{Source::process_io};
};

}  // namespace plimsoll::telemetry
