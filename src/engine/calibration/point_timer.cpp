#include "engine/calibration/point_timer.hpp"

#include <algorithm>
#include <cmath>

#include "base/statistics.hpp"
#include "engine/timing.hpp"

namespace plimsoll::engine {
namespace {

constexpr double kConfidence = 0.95;
constexpr int kMostCalls = 64;

// On a device with a clock of its own: a replay is this long, so that the clock's half microsecond and the
// launch of the graph vanish in it.
constexpr double kReplay = 0.002;
constexpr int kReplays = 7;  // the fewest with an interval are 6

// On the host: short calls are timed together, and a slow one is not waited for more often than this.
constexpr double kHostSample = 0.0005, kHostSeconds = 0.06;
constexpr std::size_t kLeastHostSamples = 6, kMostHostSamples = 25;

int calls_in(double sample, double seconds) {
  if (seconds <= 0) return kMostCalls;
  return static_cast<int>(std::clamp(std::ceil(sample / seconds), 1.0, static_cast<double>(kMostCalls)));
}

PointTime point_of(const std::vector<double>& samples) {
  const Quantile middle = median_of(samples, kConfidence);
  const std::optional<double> width = relative_width(middle);
  return {.seconds = middle.value, .spread = width.value_or(0) / 2};
}

}  // namespace

PointTimer::PointTimer(Device& device) : device_(device) {
  for (int i = 0; i <= kReplays; ++i) markers_.push_back(device.marker());
}

PointTime PointTimer::time(const OperatorCall& call) {
  static_cast<void>(call());  // kernels are loaded, algorithms chosen
  device_.synchronize();
  if (device_.torch_device().is_cpu()) return time_on_host(call);
  const std::optional<std::int64_t> workspace = workspace_of(call);
  PointTime point = time_captured([&call] { static_cast<void>(call()); });
  point.workspace_bytes = workspace;
  return point;
}

std::optional<std::int64_t> PointTimer::workspace_of(const OperatorCall& call) {
  device_.reset_peaks();
  const std::vector<at::Tensor> results = call();
  const std::int64_t bytes = device_.memory().peak_allocated_bytes - device_.allocated_bytes();
  return std::max<std::int64_t>(bytes, 0);
}

double PointTimer::time_once(const std::function<void()>& pass) {
  device_.synchronize();
  markers_[0]->record();
  pass();
  markers_[1]->record();
  device_.synchronize();
  return markers_[1]->seconds_since(*markers_[0]);
}

double PointTimer::time_together(const std::vector<OperatorCall>& calls) {
  const auto once = [&calls] {
    for (const OperatorCall& call : calls) static_cast<void>(call());
  };
  once();
  device_.synchronize();
  return time_captured(once).seconds;
}

PointTime PointTimer::time_captured(const std::function<void()>& once) {
  const int calls = calls_in(kReplay, time_once(once));
  std::function<void()> pass = [&once, calls] {
    for (int i = 0; i < calls; ++i) once();
  };
  // What cannot be captured because it waits for the device is timed as it is.
  const Result<std::unique_ptr<Captured>> graph = device_.capture(pass);
  if (graph) pass = [&graph] { (*graph)->replay(); };
  pass();
  for (const auto& marker : markers_) {
    marker->record();
    if (&marker != &markers_.back()) pass();
  }
  device_.synchronize();
  std::vector<double> samples;
  for (std::size_t i = 0; i + 1 < markers_.size(); ++i)
    samples.push_back(markers_[i + 1]->seconds_since(*markers_[i]) / calls);
  return point_of(samples);
}

PointTime PointTimer::time_on_host(const OperatorCall& call) {
  const int calls = calls_in(kHostSample, time_once([&call] { static_cast<void>(call()); }));
  std::vector<double> samples;
  const auto begin = std::chrono::steady_clock::now();
  while (samples.size() < kLeastHostSamples ||
         (samples.size() < kMostHostSamples && seconds_since(begin) < kHostSeconds))
    samples.push_back(time_once([&call, calls] {
                        for (int i = 0; i < calls; ++i) static_cast<void>(call());
                      }) /
                      calls);
  return point_of(samples);
}

}  // namespace plimsoll::engine
