#pragma once
#include <optional>
#include <string>
#include <vector>

#include "diagnose/recording.hpp"
#include "diagnose/series_catalogue.hpp"

namespace plimsoll::diagnose {

/// One series over the span of a report.
struct AverageRow {
  std::string metric;
  std::string label;  ///< "SM activity", with the GPU's number where the run has several
  Shown shown = Shown::plain;
  std::string unit = {};
  std::string source = {};
  Average over;
  std::optional<double> total = {};  ///< of a counter: how much it grew
};

/// The command's own come first: they are what the run was for. `told`: over which those are taken;
/// `sampled`: the same for what was sampled.
[[nodiscard]] std::vector<AverageRow> averages_of(const Recording& recording, Span told, Span sampled);

/// When the command told the last of its own metrics; 0 where it told none.
[[nodiscard]] double last_told(const Recording& recording);

}  // namespace plimsoll::diagnose
