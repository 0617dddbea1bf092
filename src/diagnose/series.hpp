#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/run.hpp"

namespace plimsoll::diagnose {

/// A stretch of time, in seconds since the run's start.
struct Span {
  double from = 0;
  double to = 0;
  [[nodiscard]] double seconds() const { return to > from ? to - from : 0; }
  friend bool operator==(const Span&, const Span&) = default;
};

/// One value and the time that it stands for: up to the moment at which it was read, from the sample before
/// it. After a gap, and at the start, only the usual period: what lies before is not known.
struct Sample {
  Span span;
  double value = 0;
  double low = 0;  ///< of the values that were joined to this one
  double high = 0;
  std::int64_t step = 0;     ///< the last of them
  std::int64_t points = 1;   ///< how many they are
  std::int64_t numbers = 1;  ///< how many of them are numbers: those that the value is made of
  friend bool operator==(const Sample&, const Sample&) = default;
};

/// What joining several values to one does.
enum class SeriesKind {
  gauge,    ///< the mean over time
  counter,  ///< the last: it only grows; where it went back it began anew
  flags,    ///< all bits that were set
  own,      ///< a metric of the command's own, which comes when it comes: the mean of its points
};

/// The history of one metric on the run's own clock.
struct Series {
  SeriesKind kind = SeriesKind::gauge;
  std::string unit = {};
  std::string source = {};
  std::vector<Sample> samples = {};  ///< in the order of time
  std::int64_t points = 0;           ///< of which they were made; more than samples where some were joined
  double period = 0;                 ///< usual seconds between two; 0 where there are fewer than two
  /// Of the command's own: whole numbers that never go back, such as epochs. Joined to the last of them.
  bool counts = false;
  /// Of what is sampled, once the run has ended: what was read later is of a machine without the run.
  std::optional<double> run_end = {};
  friend bool operator==(const Series&, const Series&) = default;
};

/// How a history becomes a series.
struct SeriesOptions {
  SeriesKind kind = SeriesKind::gauge;
  store::Time start = 0;             ///< of the run
  double scale = 1;                  ///< 0.01 where percents were stored
  std::vector<Span> gaps = {};       ///< in which nothing was sampled, as the sampling said; in order
  std::size_t most_samples = 50000;  ///< more points than this are joined
  /// Read when there is news rather than at a steady rate: only what the sampling calls a gap is one.
  bool irregular = false;
};

/// What lies before the start counts as at the start. Values that are no numbers stay, and are left out of
/// every mean.
[[nodiscard]] Series make_series(std::span<const store::Point> points, const SeriesOptions& options);

/// At most `most` samples: neighbours of equal stretches of time are joined, not over a gap, so that gaps
/// stay gaps, unless there are more of those than half of `most`.
[[nodiscard]] Series reduced(const Series& series, std::size_t most);

struct Average {
  double mean = 0;  ///< weighted by time; of the command's own metrics every point counts the same
  double low = 0;
  double high = 0;
  /// For which there are samples; the rest of the span is not known. Of the command's own metrics from the
  /// first point to the last.
  double seconds = 0;
  std::int64_t points = 0;  ///< of which it was made, those joined to one counted each
  friend bool operator==(const Average&, const Average&) = default;
};

/// The samples that say something about the run: without those that were read after its end, unless there are
/// no others.
[[nodiscard]] std::span<const Sample> samples_of_run(const Series& series);

/// Nothing where no sample stands for any time in it; of the command's own metrics, which stand for a moment,
/// where no point lies in it, its ends included.
[[nodiscard]] std::optional<Average> average(const Series& series, Span span);
/// Over several spans, in the order of time and not overlapping.
[[nodiscard]] std::optional<Average> average(const Series& series, std::span<const Span> spans);

/// How much a counter grew, by interpolation; nothing where an end of the span lies in a gap or outside.
[[nodiscard]] std::optional<double> increase(const Series& counter, Span span);

struct Growth {
  double amount = 0;
  Span span;  ///< the part of the span asked for that the counter knows
};
/// How much a counter grew in that part of the span which it knows.
[[nodiscard]] std::optional<Growth> growth(const Series& counter, Span span);

/// The time in which the series' value was below, or at or above, `limit`; neighbours joined.
[[nodiscard]] std::vector<Span> spans_below(const Series& series, double limit, Span within);
[[nodiscard]] std::vector<Span> spans_from(const Series& series, double limit, Span within);
[[nodiscard]] double seconds(std::span<const Span> spans);

}  // namespace plimsoll::diagnose
