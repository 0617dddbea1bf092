#pragma once
#include <cstdint>
#include <optional>

namespace plimsoll::telemetry {

/// The rate of a counter that only grows. One that goes back was reset: that interval is unknown.
class CounterRate {
 public:
  /// Units per second since the last call; nothing the first time.
  std::optional<double> per_second(double value, double elapsed) {
    std::optional<double> out;
    if (last_ && value >= last_->value && elapsed > last_->elapsed)
      out = (value - last_->value) / (elapsed - last_->elapsed);
    last_ = Reading{value, elapsed};
    return out;
  }
  void forget() { last_.reset(); }

 private:
  struct Reading {
    double value, elapsed;
  };
  std::optional<Reading> last_;
};

/// What a counter counted since the first reading, over wrap-arounds.
class Total {
 public:
  /// `range`: the counter's largest value, after which it begins at 0 again; 0: it does not wrap, so that one
  /// that goes back was reset, and what it counted in that interval is lost.
  std::uint64_t advance(std::uint64_t value, std::uint64_t range = 0) {
    if (last_) {
      if (value >= *last_) {
        total_ += value - *last_;
      } else if (range >= *last_) {
        total_ += range - *last_ + value;
      }
    }
    last_ = value;
    return total_;
  }

 private:
  std::optional<std::uint64_t> last_;
  std::uint64_t total_ = 0;
};

}  // namespace plimsoll::telemetry
