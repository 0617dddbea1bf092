#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "diagnose/series.hpp"

namespace plimsoll::diagnose {

/// A metric's name where it is shown: as long as the store takes.
inline constexpr std::size_t kLongestLabel = 250;

/// How a value is written for people. The page's script knows them by name(Shown).
enum class Shown {
  share,  ///< a share of one, as percent
  bytes,
  bytes_per_second,
  watts,
  joules,
  hertz,
  celsius,
  cores,
  seconds,
  count,
  flags,
  plain,  ///< the command's own metrics: a number as it is
};
[[nodiscard]] std::string_view name(Shown shown);
/// "43.1 %", "12.0 GiB", "412 W"; `unit` only for plain values.
[[nodiscard]] std::string value_text(double value, Shown shown, std::string_view unit = {});
[[nodiscard]] std::string share_text(double share);  ///< as value_text shows a share

/// What people look at together, and switch on and off together; in the order in which it is shown.
enum class SeriesGroup { metric, activity, memory, power, processor, transfer };
[[nodiscard]] std::string_view name(SeriesGroup group);
[[nodiscard]] std::string_view title(SeriesGroup group);

/// What is known of a series by its name, in which "*" stands for a number. Those of another host than the
/// run's own (store/host_series.hpp) are known by the name that they have there.
struct KnownSeries {
  std::string_view pattern;
  std::string_view label;
  Shown shown;
  SeriesKind kind;
  SeriesGroup group;
  std::string_view chart;   ///< series of the same chart are drawn in one
  bool secondary = false;   ///< drawn fainter beside the chart's subject
  bool in_averages = true;  ///< its mean says something
};
[[nodiscard]] std::span<const KnownSeries> known_series();
/// Nothing: a metric of the command's own, or of a kind that is not shown.
[[nodiscard]] const KnownSeries* find_series(std::string_view metric);
/// Whether it is of the machine or of a GPU, so that runs that are there together have the same.
[[nodiscard]] bool is_of_machine(std::string_view metric);
/// The first number in the name: system/gpu/3/power is of GPU 3.
[[nodiscard]] std::optional<unsigned> series_number(std::string_view metric);
/// What a label says of where a series is from: ", GPU 3" where there are several, ", GPU 3 of node8" or
/// " of node8" of another host than the run's own; else nothing.
[[nodiscard]] std::string place_text(std::string_view metric, bool several_gpus);

}  // namespace plimsoll::diagnose
