#pragma once
#include <cstdint>
#include <limits>
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

/// A span of steps, both ends included.
struct Steps {
  std::int64_t first = std::numeric_limits<std::int64_t>::min(),
               last = std::numeric_limits<std::int64_t>::max();
  [[nodiscard]] bool holds(std::int64_t step) const { return step >= first && step <= last; }
};

/// What describes a metric beside its name; empty where nobody said.
struct Description {
  std::string unit = {};    ///< "W", "B", "1"
  std::string source = {};  ///< "NVML GPM", "the command's output"
  /// Of hardware: the machine that it was read on. A metric has one for ever: another's points are another
  /// metric (store/host_series.hpp). Empty in stores of older versions: the run's own, its tag plimsoll.host.
  std::string host = {};
  friend bool operator==(const Description&, const Description&) = default;
};

struct Metric {
  Description description = {};
  Point latest = {};  ///< of the largest step; among equals the latest time, then the largest value
  std::int64_t points = 0;
};

/// Data that a run has read, as MLflow describes it: `source` and the rest are whatever the client says.
struct Dataset {
  std::string name;
  std::string digest;
  std::string source_type = {};
  std::string source = {};
  std::string schema = {};
  std::string profile = {};
  friend bool operator==(const Dataset&, const Dataset&) = default;
};

struct Input {
  Dataset dataset;
  std::map<std::string, std::string> tags = {};
  friend bool operator==(const Input&, const Input&) = default;
};

/// A logged model that a run has used or made.
struct ModelLink {
  std::string model;
  std::int64_t step = 0;  ///< of an output
  friend bool operator==(const ModelLink&, const ModelLink&) = default;
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
  std::int64_t experiment_id = 0;
  std::string user = {};
  std::optional<Time> deleted_at = {};
  std::vector<Input> inputs = {};
  std::vector<ModelLink> model_inputs = {};
  std::vector<ModelLink> model_outputs = {};
};

/// Points of one metric of one run, to be appended.
struct Batch {
  std::string run;
  std::string metric;
  Description description = {};
  std::vector<Point> points = {};
  /// The logged model that the points are about, and the data that they were got with; often nothing.
  std::string model = {};
  std::string dataset_name = {};
  std::string dataset_digest = {};
};

/// Some of a metric's points, and where the next ones begin.
struct Page {
  std::vector<Point> points;
  std::optional<std::string> next = {};  ///< nothing: these were the last
};

/// Points that follow each other, in a few figures.
struct Span {
  Time first = 0, last = 0;
  std::int64_t first_step = 0, last_step = 0;  ///< the smallest and the largest
  double minimum = 0, maximum = 0, mean = 0;   ///< of those that are numbers; NaN where none is
  std::int64_t points = 0;
};

}  // namespace plimsoll::store
