#include "store/metric_rows.hpp"

#include <algorithm>

#include "base/printable.hpp"
#include "store/point_order.hpp"

namespace plimsoll::store {
namespace {

/// More is not what was written but damage.
constexpr std::int64_t kMostChunks = std::int64_t{1} << 40;

/// "?, ?, ?"
std::string marks(std::size_t count) {
  std::string out = "?";
  for (std::size_t i = 1; i < count; ++i) out += ", ?";
  return out;
}

Status take_row(const Query& row, const GrowthsByName& growths) {
  const std::string name = row.text(0);
  const auto growth = growths.find(name);
  if (growth == growths.end()) return {};
  const MetricRow metric{row.integer(1), row.integer(2), row.integer(3),
                         Point{row.integer(4), row.integer(5), row.real(6)}};
  if (metric.full_chunks < 0 || metric.chunks < metric.full_chunks || metric.chunks > kMostChunks)
    return fail("the store is damaged: metric {} counts {} chunks, {} of them full", quote(name),
                metric.chunks, metric.full_chunks);
  const std::string host = row.text(7);
  const std::string_view said = growth->second->host;
  if (!said.empty() && !host.empty() && said != host)
    return fail("metric {} is of the machine {}: points of {} have another name", quote(name), quote(host),
                quote(said));
  growth->second->row = metric;
  return {};
}

constexpr std::string_view kFind =
    "SELECT name, id, full_chunks, chunks, latest_time, latest_step, latest_value, host FROM metric "
    "WHERE run = (SELECT number FROM run WHERE id = ?) AND name ";

/// Asks for those of some growths that are there already.
Query find_query(Database& database, std::string_view run, std::span<const Growth> some) {
  static const std::string kOne = fmt::format("{}= ?", kFind),
                           kMany = fmt::format("{}IN ({})", kFind, marks(kRowsAtOnce));
  Query query = database.query_again(some.size() == 1 ? kOne : kMany);
  query.bind(run);
  const std::size_t wanted = some.size() == 1 ? 1 : kRowsAtOnce;
  // The statement has room for more names: the last is asked for again.
  for (std::size_t i = 0; i < wanted; ++i) query.bind(some[std::min(i, some.size() - 1)].metric);
  return query;
}

std::string insert_of(std::size_t rows) {
  constexpr std::string_view kRow = "(?, ?, '', '', 0, 0, NULL, 0, 0, 0)";
  std::string sql =
      "INSERT INTO metric(run, name, unit, source, latest_time, latest_step, latest_value, points, "
      "full_chunks, chunks) VALUES ";
  for (std::size_t i = 0; i < rows; ++i) sql.append(i == 0 ? "" : ", ").append(kRow);
  return sql + " RETURNING name, id";
}

void bind_metric(Query& query, const Growth& growth) {
  const Point latest = latest_of(growth.row.latest.value_or(growth.points.front()), growth.points);
  query.bind(growth.row.id)
      .bind(latest.time)
      .bind(latest.step)
      .bind(latest.value)
      .bind(static_cast<std::int64_t>(growth.points.size()) - growth.row.dropped)
      .bind(growth.row.full_chunks)
      .bind(growth.row.chunks)
      .bind(growth.unit)
      .bind(growth.source)
      .bind(growth.host);
}

/// Rows of new figures; both databases name their columns column1, column2…
std::string update_of(std::size_t rows) {
  std::string values;
  for (std::size_t i = 0; i < rows; ++i) values += (i == 0 ? "(" : ", (") + marks(10) + ")";
  return "UPDATE metric SET latest_time = v.column2, latest_step = v.column3, latest_value = v.column4, "
         "points = metric.points + v.column5, full_chunks = v.column6, chunks = v.column7, "
         "unit = coalesce(nullif(v.column8, ''), metric.unit), "
         "source = coalesce(nullif(v.column9, ''), metric.source), "
         "host = coalesce(nullif(v.column10, ''), metric.host) FROM (VALUES " +
         values + ") AS v WHERE metric.id = v.column1";
}

}  // namespace

std::string rows_at_once(std::string_view insert, int columns) {
  std::string out(insert);
  for (std::size_t i = 1; i < kRowsAtOnce; ++i) out += ", (" + marks(static_cast<std::size_t>(columns)) + ")";
  return out;
}

MetricEntry::MetricEntry(std::span<Growth> growths) : growths_(growths) {
  for (Growth& growth : growths) by_name_.emplace(growth.metric, &growth);
}

Status MetricEntry::find(Database& database, std::string_view run) {
  for (std::span<const Growth> rest = growths_; !rest.empty();) {
    const std::size_t count = std::min(rest.size(), kRowsAtOnce);
    queries_.push_back(find_query(database, run, rest.first(count)));
    PLIMSOLL_TRY(queries_.back().start());
    rest = rest.subspan(count);
  }
  return {};
}

Status MetricEntry::make(Database& database, std::int64_t run) {
  static const std::string kOne = insert_of(1), kMany = insert_of(kRowsAtOnce);
  for (Query& query : queries_)
    PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) { return take_row(row, by_name_); }));
  queries_.clear();
  std::vector<const Growth*> fresh;
  for (const Growth& growth : growths_)
    if (!growth.row.latest) fresh.push_back(&growth);
  for (std::span<const Growth* const> rest = fresh; !rest.empty();) {
    const std::size_t count = rest.size() >= kRowsAtOnce ? kRowsAtOnce : 1;
    queries_.push_back(database.query_again(count == 1 ? kOne : kMany));
    for (const Growth* growth : rest.first(count)) queries_.back().bind(run).bind(growth->metric);
    PLIMSOLL_TRY(queries_.back().start());
    rest = rest.subspan(count);
  }
  return {};
}

Status MetricEntry::finish() {
  for (Query& query : queries_)
    PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) {
      if (const auto growth = by_name_.find(row.text(0)); growth != by_name_.end())
        growth->second->row.id = row.integer(1);
    }));
  queries_.clear();
  return {};
}

Status save_metrics(Database& database, std::span<const Growth> growths) {
  static const std::string kOne = update_of(1), kMany = update_of(kRowsAtOnce);
  while (!growths.empty()) {
    const std::size_t count = growths.size() >= kRowsAtOnce ? kRowsAtOnce : 1;
    Query query = database.query_again(count == 1 ? kOne : kMany);
    for (const Growth& growth : growths.first(count)) bind_metric(query, growth);
    PLIMSOLL_TRY(query.run());
    growths = growths.subspan(count);
  }
  return {};
}

Status save_chunks(Database& database, const MetricRow& metric) {
  return database.query("UPDATE metric SET full_chunks = ?, chunks = ?, points = points - ? WHERE id = ?")
      .bind(metric.full_chunks)
      .bind(metric.chunks)
      .bind(metric.dropped)
      .bind(metric.id)
      .run();
}

}  // namespace plimsoll::store
