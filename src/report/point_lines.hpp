#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "store/run.hpp"

namespace plimsoll::report {

enum class PointFormat { csv, json };

/// Points of any runs and metrics in long form, one line each: run, metric, unit, time (UTC), seconds since
/// the run's start, step, value. Text is handed out piece by piece, so that a long history is never in memory
/// as a whole.
class PointLines {
 public:
  using Sink = std::function<Status(std::string_view)>;
  PointLines(PointFormat format, Sink sink) : format_(format), sink_(std::move(sink)) {}

  [[nodiscard]] Status begin();
  [[nodiscard]] Status add(const store::Run& run, const std::string& metric,
                           std::span<const store::Point> points);
  [[nodiscard]] Status end();
  [[nodiscard]] std::size_t written() const { return written_; }

 private:
  PointFormat format_;
  Sink sink_;
  std::size_t written_ = 0;
};

}  // namespace plimsoll::report
