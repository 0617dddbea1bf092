#include "serve/metric_writer.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace plimsoll::serve {
namespace {

using store::Batch;

/// Points of one metric that came with several requests go in as one piece.
std::vector<Batch> joined(const std::vector<const std::vector<Batch>*>& lists) {
  std::vector<Batch> out;
  std::map<
      std::tuple<std::string_view, std::string_view, std::string_view, std::string_view, std::string_view>,
      std::size_t>
      places;
  for (const std::vector<Batch>* list : lists)
    for (const Batch& batch : *list) {
      const auto [place, fresh] = places.try_emplace(
          {batch.run, batch.metric, batch.model, batch.dataset_name, batch.dataset_digest}, out.size());
      if (fresh)
        out.push_back(batch);
      else
        std::ranges::copy(batch.points, std::back_inserter(out[place->second].points));
    }
  return out;
}

}  // namespace

MetricWriter::MetricWriter(store::Store& store, Options options)
    : store_(store), options_(options), thread_([this] { work(); }) {}

MetricWriter::~MetricWriter() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  news_.notify_one();
  thread_.join();
}

void MetricWriter::submit(std::vector<Batch> batches, Done done) {
  Entry entry{std::move(batches), 0, std::move(done)};
  for (const Batch& batch : entry.batches) entry.points += batch.points.size();
  {
    const std::scoped_lock lock(mutex_);
    if (statistics_.waiting + entry.points <= options_.most_waiting) {
      statistics_.waiting += entry.points;
      waiting_.push_back(std::move(entry));
      news_.notify_one();
      return;
    }
    ++statistics_.refused;
  }
  entry.done(std::unexpected(Error{"more metrics are waiting for the disk than there is room for",
                                   {},
                                   "Try again later.",
                                   Error::Kind::unavailable}));
}

MetricWriter::Statistics MetricWriter::statistics() const {
  const std::scoped_lock lock(mutex_);
  return statistics_;
}

std::vector<MetricWriter::Entry> MetricWriter::gather() {
  std::unique_lock lock(mutex_);
  news_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
  std::vector<Entry> out;
  std::size_t points = 0;
  while (!waiting_.empty() && (out.empty() || points + waiting_.front().points <= options_.most_at_once)) {
    points += waiting_.front().points;
    out.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return out;
}

void MetricWriter::work() {
  for (;;) {
    std::vector<Entry> entries = gather();
    if (entries.empty()) return;
    commit(std::move(entries));
  }
}

void MetricWriter::commit(std::vector<Entry> entries) {
  std::vector<Status> outcomes(entries.size());
  Status all;
  if (entries.size() == 1) {
    all = store_.append(entries.front().batches);
  } else {
    std::vector<const std::vector<Batch>*> lists;
    for (const Entry& entry : entries) lists.push_back(&entry.batches);
    all = store_.append(joined(lists));
  }
  // A store that is full or locked would refuse each of them as well; only after a long wait each.
  const bool each_alone = !all && entries.size() > 1 && !all.error().may_pass();
  for (std::size_t i = 0; i < entries.size(); ++i)
    outcomes[i] = each_alone ? store_.append(entries[i].batches) : all;
  {
    const std::scoped_lock lock(mutex_);
    ++statistics_.commits;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      statistics_.waiting -= entries[i].points;
      if (outcomes[i])
        statistics_.points += entries[i].points;
      else
        ++statistics_.refused;
    }
  }
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i].done(std::move(outcomes[i]));
}

}  // namespace plimsoll::serve
