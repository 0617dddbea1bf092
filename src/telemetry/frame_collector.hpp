#pragma once
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "telemetry/frame.hpp"

namespace plimsoll::telemetry {

/// A series that is told only once it has a value: what a machine cannot say is not listed.
struct Channel {
  Series series;
  std::optional<std::uint32_t> place = {};
};

/// Collects the values of one frame and, over all frames, the series.
class FrameCollector {
 public:
  /// `host`: the machine that all series are of.
  explicit FrameCollector(std::string host = {}) : host_(std::move(host)) {}
  void begin(std::int64_t time) { frame_.time = time; }
  void put(Channel& channel, double value) {
    if (!std::isfinite(value)) return;
    if (!channel.place) {
      channel.place = static_cast<std::uint32_t>(series_.size());
      series_.push_back(channel.series);
      series_.back().host = host_;
    }
    frame_.values.push_back({*channel.place, value});
  }
  template <class T>
  void put(Channel& channel, const std::optional<T>& value) {
    if (value) put(channel, static_cast<double>(*value));
  }
  [[nodiscard]] Frame end() {
    Frame out = std::exchange(frame_, {});
    frame_.values.reserve(out.values.size() + 8);
    return out;
  }
  [[nodiscard]] const std::vector<Series>& series() const { return series_; }

 private:
  Frame frame_;
  std::vector<Series> series_;
  std::string host_;
};

}  // namespace plimsoll::telemetry
