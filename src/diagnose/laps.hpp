#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/recording.hpp"

namespace plimsoll::diagnose {

/// What the hardware did during one step or epoch, or during several that were joined to one row. Absent is
/// not known: nothing was sampled then.
struct Lap {
  std::int64_t first = 1;  ///< counted from 1
  std::int64_t last = 1;
  std::optional<std::int64_t> recorded = {};  ///< the number that the command itself gave to the last
  Span span;
  std::optional<double> value = {};        ///< of the metric, at the end
  std::optional<double> sm_activity = {};  ///< mean over the run's GPUs, a share of one
  std::optional<double> joules = {};       ///< of all the run's GPUs
  std::optional<double> gpu_memory = {};   ///< bytes, the highest on one GPU
  std::optional<double> cpu = {};          ///< cores
  /// Shorter than the time between two samples: then the figures are averages over the samples around it.
  bool coarse = false;
  double covered = 0;  ///< the share of it for which there are samples
};

struct Laps {
  std::string metric;  ///< whose points end the steps
  std::int64_t count = 0;
  std::vector<Lap> rows = {};
  bool of_run = false;  ///< activity, energy and memory are the run's own part, not all of its GPUs'
};

/// The metric whose points are taken as the ends of steps: a loss before others, then the one with most
/// points. Nothing where the command gave none with two points.
[[nodiscard]] std::optional<std::string> step_metric(const Recording& recording);

/// One row for each point of the metric, from the point before it; the first from the run's start, so that
/// it holds the time to load. More than `most_rows` are joined, equally many to each row.
[[nodiscard]] Laps step_laps(const Recording& recording, const std::string& metric, std::size_t most_rows);

/// The same for the `epoch` metric: an epoch is the time in which it has one value, or, where it counts in
/// fractions, grows by one. Empty where there is none. Where every epoch has one point, that is taken as its
/// end if the last point is near the run's end, and as its beginning otherwise.
[[nodiscard]] Laps epoch_laps(const Recording& recording, std::size_t most_rows);

}  // namespace plimsoll::diagnose
