#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/recording.hpp"

namespace plimsoll::diagnose {

/// Builds the recording of a made-up run: series as functions of the seconds since its start.
class TestRecording {
 public:
  explicit TestRecording(double seconds, std::string name = "made up") {
    recording_.run.id = "3f2a91c0000000000000000000000001";
    recording_.run.experiment = "tests";
    recording_.run.name = std::move(name);
    recording_.run.status = store::RunStatus::finished;
    recording_.run.start = kStart;
    recording_.run.end = kStart + static_cast<store::Time>(seconds * 1e6);
    recording_.run.tags["plimsoll.outcome"] = "finished";
    recording_.seconds = seconds;
  }
  TestRecording& id(std::string id) {
    recording_.run.id = std::move(id);
    return *this;
  }
  TestRecording& tag(const std::string& name, const std::string& value) {
    recording_.run.tags[name] = value;
    if (name == "plimsoll.gaps") recording_.gaps = parse_gaps(value, kStart);
    return *this;
  }
  /// Sampled `rate` times a second. Where the function gives no number, nothing was sampled.
  TestRecording& sampled(const std::string& metric, const std::function<double(double)>& value,
                         double rate = 10) {
    std::vector<store::Point> points;
    for (int i = 1; i <= static_cast<int>(recording_.seconds * rate); ++i) {
      const double now = i / rate, read = value(now);
      if (read == read) points.push_back({kStart + static_cast<store::Time>(now * 1e6), 0, read});
    }
    return add(metric, points);
  }
  TestRecording& sampled(const std::string& metric, double value, double rate = 10) {
    return sampled(metric, [value](double) { return value; }, rate);
  }
  /// One point of the command's own metric at each time, steps from 0.
  TestRecording& own(const std::string& metric, const std::vector<std::pair<double, double>>& values) {
    std::vector<store::Point> points;
    for (const auto& [seconds, value] : values)
      points.push_back({kStart + static_cast<store::Time>(seconds * 1e6),
                        static_cast<std::int64_t>(points.size()), value});
    return add(metric, points);
  }
  TestRecording& log(std::string tail) {
    recording_.log_tail = std::move(tail);
    return *this;
  }
  [[nodiscard]] Recording take() {
    set_extent(recording_);
    return std::move(recording_);
  }

  static constexpr store::Time kStart = 1'700'000'000'000'000;

 private:
  TestRecording& add(const std::string& metric, const std::vector<store::Point>& points) {
    store::Metric& known = recording_.run.metrics[metric];
    known.points = static_cast<std::int64_t>(points.size());
    if (!points.empty()) known.latest = points.back();
    add_history(recording_, metric, points, 50000);
    return *this;
  }
  Recording recording_;
};

}  // namespace plimsoll::diagnose
