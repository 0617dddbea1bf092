#include "diagnose/averages.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "store/host_series.hpp"

namespace plimsoll::diagnose {
namespace {

AverageRow row_of(const std::string& metric, const Series& series, const Average& over) {
  AverageRow row{metric, printable(metric, kLongestLabel), Shown::plain, series.unit, series.source, over};
  const KnownSeries* known = find_series(metric);
  if (!known) return row;
  row.label = known->label;
  row.shown = known->shown;
  return row;
}

}  // namespace

std::vector<AverageRow> averages_of(const Recording& recording, Span told, Span sampled) {
  const bool several = gpus_of(recording).size() > 1;
  std::vector<AverageRow> out;
  const auto add = [&](const std::string& metric, const Series& series, Span span) {
    const std::optional<Average> over = average(series, span);
    if (!over) return;
    AverageRow row = row_of(metric, series, *over);
    row.label += place_text(metric, several);
    if (series.kind == SeriesKind::counter)
      if (const std::optional<Growth> grown = growth(series, span)) row.total = grown->amount;
    out.push_back(std::move(row));
  };
  for (const auto& [metric, series] : recording.series)
    if (store::is_own_metric(metric) && metric != "epoch") add(metric, series, told);
  // A pattern's series stand together: their names differ only in host and number.
  const auto hardware = own_host_first(recording);
  for (const KnownSeries& known : known_series()) {
    if (!known.in_averages) continue;
    for (const auto& [metric, series] : hardware)
      if (find_series(*metric) == &known) add(*metric, *series, sampled);
  }
  return out;
}

double last_told(const Recording& recording) {
  double last = 0;
  for (const auto& [metric, series] : recording.series)
    if (series.kind == SeriesKind::own && !series.samples.empty())
      last = std::max(last, series.samples.back().span.to);
  return last;
}

}  // namespace plimsoll::diagnose
