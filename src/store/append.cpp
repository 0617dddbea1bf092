#include "store/append.hpp"

#include <list>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/printable.hpp"
#include "store/host_series.hpp"
#include "store/metric_rows.hpp"
#include "store/model_rows.hpp"
#include "store/points.hpp"
#include "store/run_rows.hpp"
#include "store/texts.hpp"

namespace plimsoll::store {
namespace {

Status check(const Batch& batch) {
  PLIMSOLL_TRY(check_name("metric", batch.metric));
  if (!batch.description.unit.empty()) PLIMSOLL_TRY(check_name("unit", batch.description.unit));
  if (!batch.description.source.empty()) PLIMSOLL_TRY(check_name("source", batch.description.source));
  const std::string& host = batch.description.host;
  if (host.empty()) return {};
  PLIMSOLL_TRY(check_name("host", host));
  if (const HostSeries series = read_host_series(batch.metric); !series.host.empty() && series.host != host)
    return fail("metric {} is of the machine {}, not of {}", quote(batch.metric), quote(series.host),
                quote(host));
  return {};
}

/// What one run gets: a growth for every metric, whichever batches its points came in.
Result<std::vector<Growth>> growths_of(std::span<const Batch* const> batches) {
  std::vector<Growth> out;
  std::unordered_map<std::string_view, std::size_t> places;
  for (const Batch* batch : batches) {
    PLIMSOLL_TRY(check(*batch));
    if (batch->points.empty()) continue;
    const auto [place, fresh] = places.emplace(batch->metric, out.size());
    if (fresh) out.push_back({.metric = batch->metric});
    Growth& growth = out[place->second];
    growth.points.insert(growth.points.end(), batch->points.begin(), batch->points.end());
    if (!batch->description.unit.empty()) growth.unit = batch->description.unit;
    if (!batch->description.source.empty()) growth.source = batch->description.source;
    const std::string_view host = batch->description.host;
    if (!host.empty() && !growth.host.empty() && growth.host != host)
      return fail("metric {} cannot be both of the machine {} and of {}", quote(batch->metric),
                  quote(growth.host), quote(host));
    if (!host.empty()) growth.host = host;
  }
  return out;
}

/// One run's part of an appending.
class RunGrowth {
 public:
  RunGrowth(Database& database, std::string_view run, std::vector<const Batch*> batches,
            std::vector<Growth> growths)
      : run_(run),
        batches_(std::move(batches)),
        growths_(std::move(growths)),
        lock_(database, run),
        entry_(growths_) {}

  /// The run is locked first: what is read of its metrics thereafter stays so.
  Status start(Database& database) {
    PLIMSOLL_TRY(lock_.start());
    return entry_.find(database, run_);
  }

  Status make_metrics(Database& database) {
    const Result<std::int64_t> number = lock_.number();
    if (!number) return std::unexpected(number.error());
    number_ = *number;
    return entry_.make(database, number_);
  }

  Status write(Database& database) {
    PLIMSOLL_TRY(entry_.finish());
    PLIMSOLL_TRY(append_points(database, growths_));
    for (const Batch* batch : batches_)
      if (!batch->model.empty() && !batch->points.empty())
        PLIMSOLL_TRY(link_metric(database, number_, *batch));
    return {};
  }

 private:
  std::string_view run_;
  std::vector<const Batch*> batches_;
  std::vector<Growth> growths_;
  LockedRun lock_;
  MetricEntry entry_;
  std::int64_t number_ = 0;
};

}  // namespace

Status append_batches(Database& database, std::span<const Batch> batches) {
  // Runs are locked in the order of their ids: two who append to the same ones do not wait for each other.
  std::map<std::string, std::vector<const Batch*>> by_run;
  for (const Batch& batch : batches) {
    Result<std::string> id = full_id(database, batch.run);
    if (!id) return std::unexpected(std::move(id).error());
    by_run[std::move(*id)].push_back(&batch);
  }
  std::list<RunGrowth> runs;
  for (auto& [run, of_run] : by_run) {
    Result<std::vector<Growth>> growths = growths_of(of_run);
    if (!growths) return std::unexpected(std::move(growths).error());
    runs.emplace_back(database, run, std::move(of_run), std::move(*growths));
    PLIMSOLL_TRY(runs.back().start(database));
  }
  for (RunGrowth& run : runs) PLIMSOLL_TRY(run.make_metrics(database));
  for (RunGrowth& run : runs) PLIMSOLL_TRY(run.write(database));
  return {};
}

}  // namespace plimsoll::store
