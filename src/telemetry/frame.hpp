#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::telemetry {

/// What is sampled, by the name under which it is stored. All begin with "system/", as MLflow's do.
/// Of a GPU, by its number:   system/gpu/0/sm_activity
/// Of the run on a GPU:       system/run/gpu/0/sm_share
/// Of the run's processes:    system/run/cpu
/// Of the machine:            system/host/memory_used
struct Series {
  std::string name;
  std::string unit;                  ///< "1" (a share of one), "W", "J", "B", "B/s", "Hz", "°C", "cores"
  std::string source;                ///< "NVML GPM", "/proc/PID/stat"
  std::optional<int> run = {};       ///< the watched run it belongs to; nothing: the machine's
  std::optional<unsigned> gpu = {};  ///< the GPU it belongs to
  std::string host = {};             ///< the machine that it is read on; empty where that has no name
};

struct Reading {
  std::uint32_t series = 0;  ///< its place among all series so far
  double value = 0;
};

/// What was read at one moment. A source that was not due, or did not answer, is absent.
struct Frame {
  std::int64_t time = 0;  ///< microseconds since 1970
  std::vector<Reading> values = {};
};

}  // namespace plimsoll::telemetry
