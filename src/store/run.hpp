#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::store {

/// Microseconds since 1970, UTC.
using Time = std::int64_t;

/// As MLflow names them; what is known beyond it (out of memory, lost…) is the run's Outcome, kept as tags.
enum class RunStatus { scheduled, running, finished, failed, killed };
[[nodiscard]] std::string_view name(RunStatus status);  ///< "RUNNING"
[[nodiscard]] std::optional<RunStatus> status_named(std::string_view name);

/// One value of a metric. A metric without steps has step 0 throughout.
struct Point {
  Time time = 0;
  std::int64_t step = 0;
  double value = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

/// What describes a metric beside its name; empty where nobody said.
struct Description {
  std::string unit = {};    ///< "W", "B", "1"
  std::string source = {};  ///< "NVML GPM", "the command's output"
  friend bool operator==(const Description&, const Description&) = default;
};

struct Metric {
  Description description = {};
  Point latest = {};  ///< of the largest step; among equals the latest time, then the largest value
  std::int64_t points = 0;
};

struct Run {
  std::string id;  ///< 32 hexadecimal digits
  std::string experiment;
  std::string name = {};
  RunStatus status = RunStatus::scheduled;
  Time start = 0;
  std::optional<Time> end = {};
  bool deleted = false;
  std::map<std::string, std::string> params = {};
  std::map<std::string, std::string> tags = {};
  std::map<std::string, Metric> metrics = {};
};

/// Points of one metric of one run, to be appended.
struct Batch {
  std::string run;
  std::string metric;
  Description description = {};
  std::vector<Point> points = {};
};

}  // namespace plimsoll::store
