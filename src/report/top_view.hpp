#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "learn/run_target.hpp"
#include "store/run.hpp"

namespace plimsoll::report {

/// A process with a context on a GPU.
struct TopProcess {
  std::uint32_t pid = 0;
  std::string command = {};  ///< empty where it is another container's
  std::optional<Bytes> memory = {};
  std::optional<double> time_share = {};  ///< of the time in which its kernels ran
};

struct TopSlice {
  unsigned gpu_instance = 0;
  std::optional<double> sm_activity = {};
  std::optional<Bytes> memory_used = {};
};

struct TopGpu {
  unsigned number = 0;
  std::string name = {};
  std::optional<Bytes> memory_used = {}, memory_total = {};
  std::optional<double> sm_activity = {}, utilization = {}, tensor_activity = {}, dram_activity = {};
  std::vector<double> history = {};  ///< of SM activity, the latest last
  std::optional<Watts> power = {}, power_limit = {};
  std::optional<Joules> energy = {};  ///< since watching began
  std::optional<double> temperature = {}, sm_clock = {};
  std::optional<std::uint64_t> throttle = {};
  std::vector<TopSlice> slices = {};
  std::vector<TopProcess> processes = {};
};

/// What a run has told last of itself.
struct TopMetric {
  std::string name = {};
  double value = 0;
  std::int64_t step = 0;
  std::int64_t time = 0;  ///< microseconds since 1970
};

/// How far a run is, by what its params and limits say of its whole.
struct TopProgress {
  double share = 0;         ///< of 1
  std::string source = {};  ///< "params.epochs"
};

/// A run that is under way, with the latest that its watcher kept.
struct TopRun {
  std::string id = {};
  std::string name = {};
  std::string experiment = {};
  std::optional<Seconds> elapsed = {};
  std::optional<double> cpu = {};  ///< cores
  std::optional<Bytes> memory = {}, gpu_memory = {};
  std::optional<double> sm_activity = {};  ///< its part, over all its GPUs
  std::optional<Joules> energy = {};
  std::optional<learn::RunTarget> target = {};  ///< where its tag says what it is for
  std::optional<TopMetric> metric = {};         ///< the newest of its own
  std::vector<double> history = {};             ///< of that metric, thinned out
  std::optional<double> epoch = {};
  std::optional<std::int64_t> step = {};
  std::optional<TopProgress> progress = {};
  std::optional<std::int64_t> expected_end = {};  ///< microseconds since 1970, at the pace so far
  std::string host = {};                          ///< that it runs on
  std::vector<unsigned> gpus = {};                ///< of that host
};

/// Something that somebody should look at.
struct TopAlarm {
  std::string kind = {};  ///< "memory", "throttled", "idle", "slow"
  bool is_critical = false;
  std::optional<unsigned> gpu = {};
  std::string run = {};  ///< its id; empty: it is of none
  std::string text = {};
};

/// A job of the queue that has not started.
struct TopJob {
  std::int64_t number = 0;
  std::string name = {};
  std::string why = {};  ///< it waits
};
/// A job of the queue that does less than was promised; speeds are against alone.
struct TopSlowJob {
  std::int64_t number = 0;
  std::string name = {};
  std::string run = {};
  double speed = 0, promised = 0;
};
/// The machine's queue, where one answers.
struct TopQueue {
  std::size_t running = 0, waiting = 0, held = 0;
  std::vector<TopJob> next = {};  ///< some of those that wait
  std::vector<TopSlowJob> slow = {};
};

struct TopHost {
  std::string name = {};
  unsigned cores = 0;
  std::optional<double> cpu = {};  ///< cores
  std::optional<Bytes> memory_used = {}, memory_total = {}, swap_used = {};
  std::optional<double> cpu_pressure = {}, memory_pressure = {}, io_pressure = {};
  std::optional<Bytes> cgroup_memory = {}, cgroup_memory_limit = {};
  std::optional<Joules> package_energy = {};
};

/// What `plimsoll top` shows, at one moment.
struct TopView {
  std::int64_t time = 0;  ///< microseconds since 1970
  Seconds watched = {};
  TopHost host = {};
  std::string driver = {};
  std::string no_gpu = {};  ///< why there is none; empty where there are some
  std::vector<TopGpu> gpus = {};
  std::vector<TopRun> runs = {};
  std::string no_runs = {};  ///< why the runs are not known; empty where they are
  std::optional<TopQueue> queue = {};
  bool paused = false;
};

struct TopScreen {
  int width = 80;
  std::optional<int> height = {};  ///< nothing: as many lines as there are
  bool color = false;
  bool keys = false;          ///< says which keys there are
  std::string selected = {};  ///< the id of the run that is marked
  std::string note = {};      ///< a question or an answer, in place of the last line
};

/// The lines of the screen, none wider than it, and no more than fit.
[[nodiscard]] std::vector<std::string> top_lines(const TopView& view, const TopScreen& screen);
[[nodiscard]] nlohmann::ordered_json top_json(const TopView& view);

/// Memory that is nearly full, clocks held down, GPUs that are held and do nothing, jobs slower than
/// promised.
[[nodiscard]] std::vector<TopAlarm> top_alarms(const TopView& view);

/// What a stored run shows: the latest of its metrics, summed over its GPUs.
[[nodiscard]] TopRun top_run(const store::Run& run, std::int64_t now);

}  // namespace plimsoll::report
