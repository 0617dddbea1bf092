#include "store/points.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>

#include "base/printable.hpp"
#include "store/chunk.hpp"
#include "store/run_rows.hpp"

namespace plimsoll::store {
namespace {

/// Small chunks of a metric that may come together before they are joined: reading them all stays quick, and
/// each point is written twice, or a few times where batches are tiny.
constexpr std::int64_t kManyChunks = 64;

/// A metric's row, as far as appending changes it.
struct MetricRow {
  std::int64_t id = 0;
  std::int64_t full_chunks = 0;
  std::int64_t chunks = 0;
  std::optional<Point> latest = {};
};

/// A chunk as it is written.
struct Piece {
  std::int64_t points = 0;
  Time first = 0, last = 0;
  std::string bytes = {};
};

Piece make_piece(std::span<const Point> points) {
  const auto [first, last] = std::ranges::minmax(points, {}, &Point::time);
  return {static_cast<std::int64_t>(points.size()), first.time, last.time, encode_chunk(points)};
}

Status insert_chunk(sqlite::Database& database, MetricRow& metric, const Piece& piece) {
  PLIMSOLL_TRY(
      database
          .query("INSERT INTO chunk(metric, sequence, points, first, last, bytes) VALUES (?, ?, ?, ?, ?, ?)")
          .bind(metric.id)
          .bind(metric.chunks)
          .bind(piece.points)
          .bind(piece.first)
          .bind(piece.last)
          .bind_blob(piece.bytes)
          .run());
  // Full chunks stand before all others; one that comes after small ones waits until they are joined.
  if (piece.points == kChunkPoints && metric.chunks == metric.full_chunks) ++metric.full_chunks;
  ++metric.chunks;
  return {};
}

/// The points of all chunks that are not full, newly cut. One chunk's points are in memory at a time.
Result<std::vector<Piece>> cut_anew(sqlite::Database& database, const MetricRow& metric) {
  sqlite::Query query =
      database.query("SELECT bytes FROM chunk WHERE metric = ? AND sequence >= ? ORDER BY sequence");
  query.bind(metric.id).bind(metric.full_chunks);
  std::vector<Piece> out;
  std::vector<Point> waiting;
  for (;;) {
    const Result<bool> row = query.next();
    if (!row) return std::unexpected(row.error());
    if (!*row) break;
    const Result<std::vector<Point>> points = decode_chunk(query.blob(0));
    if (!points) return std::unexpected(points.error());
    waiting.insert(waiting.end(), points->begin(), points->end());
    std::size_t cut = 0;
    for (; waiting.size() - cut >= kChunkPoints; cut += kChunkPoints)
      out.push_back(make_piece(std::span(waiting).subspan(cut, kChunkPoints)));
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(cut));
  }
  if (!waiting.empty()) out.push_back(make_piece(waiting));
  return out;
}

Status replace_chunks(sqlite::Database& database, MetricRow& metric, const std::vector<Piece>& pieces) {
  PLIMSOLL_TRY(database.query("DELETE FROM chunk WHERE metric = ? AND sequence >= ?")
                   .bind(metric.id)
                   .bind(metric.full_chunks)
                   .run());
  metric.chunks = metric.full_chunks;
  for (const Piece& piece : pieces) PLIMSOLL_TRY(insert_chunk(database, metric, piece));
  return {};
}

/// Made where there is none, still without points.
Result<MetricRow> enter_metric(sqlite::Database& database, std::int64_t run, const Batch& batch) {
  sqlite::Query query = database.query(
      "SELECT id, full_chunks, chunks, latest_time, latest_step, latest_value FROM metric WHERE run = ? AND "
      "name = ?");
  const Result<bool> row = query.bind(run).bind(batch.metric).next();
  if (!row) return std::unexpected(row.error());
  if (*row)
    return MetricRow{query.integer(0), query.integer(1), query.integer(2),
                     Point{query.integer(3), query.integer(4), query.real(5)}};
  PLIMSOLL_TRY(
      database
          .query("INSERT INTO metric(run, name, unit, source, latest_time, latest_step, latest_value, "
                 "points, full_chunks, chunks) VALUES (?, ?, '', '', 0, 0, NULL, 0, 0, 0)")
          .bind(run)
          .bind(batch.metric)
          .run());
  return MetricRow{database.last_inserted()};
}

/// Who says nothing of unit and source leaves them as they are.
Status save_metric(sqlite::Database& database, const MetricRow& metric, const Batch& batch) {
  Point latest = metric.latest.value_or(batch.points.front());
  for (const Point& p : batch.points) latest = later(latest, p);
  return database
      .query(
          "UPDATE metric SET latest_time = ?, latest_step = ?, latest_value = ?, points = points + ?, "
          "full_chunks = ?, chunks = ?, unit = coalesce(nullif(?, ''), unit), "
          "source = coalesce(nullif(?, ''), source) WHERE id = ?")
      .bind(latest.time)
      .bind(latest.step)
      .bind(latest.value)
      .bind(static_cast<std::int64_t>(batch.points.size()))
      .bind(metric.full_chunks)
      .bind(metric.chunks)
      .bind(batch.description.unit)
      .bind(batch.description.source)
      .bind(metric.id)
      .run();
}

Status check(const Batch& batch) {
  PLIMSOLL_TRY(check_name("metric", batch.metric));
  if (!batch.description.unit.empty()) PLIMSOLL_TRY(check_name("unit", batch.description.unit));
  if (!batch.description.source.empty()) PLIMSOLL_TRY(check_name("source", batch.description.source));
  return {};
}

}  // namespace

const Point& later(const Point& a, const Point& b) {
  const auto rank = [](const Point& p) {
    // A NaN compares with nothing; here it ranks below every number.
    const bool number = !std::isnan(p.value);
    return std::tuple(p.step, p.time, number, number ? p.value : 0.0);
  };
  return rank(a) < rank(b) ? b : a;
}

Status append_points(sqlite::Database& database, std::int64_t run, const Batch& batch) {
  PLIMSOLL_TRY(check(batch));
  if (batch.points.empty()) return {};
  Result<MetricRow> metric = enter_metric(database, run, batch);
  if (!metric) return std::unexpected(metric.error());
  std::span<const Point> rest = batch.points;
  while (!rest.empty()) {
    const std::size_t taken = std::min(rest.size(), kChunkPoints);
    PLIMSOLL_TRY(insert_chunk(database, *metric, make_piece(rest.first(taken))));
    rest = rest.subspan(taken);
  }
  if (metric->chunks - metric->full_chunks >= kManyChunks) {
    // A damaged chunk stays where it is, for reading to complain of; new points are kept all the same.
    if (const Result<std::vector<Piece>> pieces = cut_anew(database, *metric))
      PLIMSOLL_TRY(replace_chunks(database, *metric, *pieces));
  }
  return save_metric(database, *metric, batch);
}

Status compact_points(sqlite::Database& database, std::int64_t run) {
  std::vector<MetricRow> metrics;
  {
    sqlite::Query query = database.query(
        "SELECT id, full_chunks, chunks FROM metric WHERE run = ? AND chunks > full_chunks + 1 ORDER BY id");
    query.bind(run);
    for (;;) {
      const Result<bool> row = query.next();
      if (!row) return std::unexpected(row.error());
      if (!*row) break;
      metrics.push_back({query.integer(0), query.integer(1), query.integer(2)});
    }
  }
  for (MetricRow& metric : metrics) {
    const Result<std::vector<Piece>> pieces = cut_anew(database, metric);
    if (!pieces) return std::unexpected(pieces.error());
    PLIMSOLL_TRY(replace_chunks(database, metric, *pieces));
    PLIMSOLL_TRY(database.query("UPDATE metric SET full_chunks = ?, chunks = ? WHERE id = ?")
                     .bind(metric.full_chunks)
                     .bind(metric.chunks)
                     .bind(metric.id)
                     .run());
  }
  return {};
}

Result<std::vector<Point>> read_points(sqlite::Database& database, std::int64_t run, std::string_view metric,
                                       std::optional<Time> from, std::optional<Time> to) {
  const Time begin = from.value_or(std::numeric_limits<Time>::min()),
             end = to.value_or(std::numeric_limits<Time>::max());
  sqlite::Query query = database.query(
      "SELECT c.bytes FROM metric m JOIN chunk c ON c.metric = m.id "
      "WHERE m.run = ? AND m.name = ? AND c.last >= ? AND c.first <= ? ORDER BY c.sequence");
  query.bind(run).bind(metric).bind(begin).bind(end);
  std::vector<Point> out;
  for (;;) {
    const Result<bool> row = query.next();
    if (!row) return std::unexpected(row.error());
    if (!*row) break;
    const Result<std::vector<Point>> points = decode_chunk(query.blob(0));
    if (!points)
      return std::unexpected(Error(points.error()).within(fmt::format("metric {}", quote(metric))));
    for (const Point& p : *points)
      if (p.time >= begin && p.time <= end) out.push_back(p);
  }
  // Points come late where several threads report; those of one time stay in the order of their coming.
  if (!std::ranges::is_sorted(out, {}, &Point::time)) std::ranges::stable_sort(out, {}, &Point::time);
  return out;
}

}  // namespace plimsoll::store
