#include "store/points.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "base/printable.hpp"
#include "store/chunk.hpp"
#include "store/point_order.hpp"
#include "store/summary.hpp"

namespace plimsoll::store {
namespace {

/// Where at least kManyTiny of the last ones have fewer than kTiny points, only those are joined: else every
/// few points would have thousands of others written again. So a point is written three or four times in all.
constexpr std::int64_t kManyTiny = 32, kTiny = 32;

/// Of one history, 1.6 GB in memory. Damage could claim more than any machine has.
constexpr std::size_t kMostRead = std::size_t{1} << 26;

constexpr Literal kInsertChunk =
    "INSERT INTO chunk(metric, sequence, points, first, last, bytes) VALUES (?, ?, ?, ?, ?, ?)";

/// A chunk as it is written.
struct Piece {
  std::int64_t points = 0;
  Time first = 0, last = 0;
  std::string bytes = {};
  std::string summary = {};  ///< nothing where reading the points is as quick
};

Piece make_piece(std::span<const Point> points) {
  const auto [first, last] = std::ranges::minmax(points, {}, &Point::time);
  return {static_cast<std::int64_t>(points.size()), first.time, last.time, encode_chunk(points),
          points.size() < kBlockPoints ? std::string() : encode_blocks(blocks_of(points))};
}

/// A chunk that is one of many to be written.
struct Waiting {
  std::int64_t metric = 0, sequence = 0;
  Piece piece;
};

void bind_chunk(Query& query, std::int64_t metric, std::int64_t sequence, const Piece& piece) {
  query.bind(metric)
      .bind(sequence)
      .bind(piece.points)
      .bind(piece.first)
      .bind(piece.last)
      .bind_blob(piece.bytes);
}

/// Full chunks stand before all others; one that comes after small ones waits until they are joined.
void count_chunk(MetricRow& metric, const Piece& piece) {
  if (piece.points == kChunkPoints && metric.chunks == metric.full_chunks) ++metric.full_chunks;
  ++metric.chunks;
}

Status insert_chunk(Database& database, MetricRow& metric, const Piece& piece) {
  Query query = database.query(kInsertChunk);
  bind_chunk(query, metric.id, metric.chunks, piece);
  PLIMSOLL_TRY(query.run());
  if (!piece.summary.empty())
    PLIMSOLL_TRY(database.query("INSERT INTO summary(metric, sequence, bytes) VALUES (?, ?, ?)")
                     .bind(metric.id)
                     .bind(metric.chunks)
                     .bind_blob(piece.summary)
                     .run());
  count_chunk(metric, piece);
  return {};
}

/// Small chunks of many metrics: kRowsAtOnce to a statement, as far as they go.
Status insert_small(Database& database, std::span<const Waiting> chunks) {
  static const std::string kMany = rows_at_once(kInsertChunk.text, 6);
  while (!chunks.empty()) {
    const std::size_t count = chunks.size() >= kRowsAtOnce ? kRowsAtOnce : 1;
    Query query = count == 1 ? database.query(kInsertChunk) : database.query_again(kMany);
    for (const Waiting& chunk : chunks.first(count))
      bind_chunk(query, chunk.metric, chunk.sequence, chunk.piece);
    PLIMSOLL_TRY(query.run());
    chunks = chunks.subspan(count);
  }
  return {};
}

/// The new points of every metric, as new chunks.
Status insert_growths(Database& database, std::span<Growth> growths) {
  std::vector<Waiting> small;
  for (Growth& growth : growths) {
    std::span<const Point> rest = growth.points;
    while (!rest.empty()) {
      const std::size_t taken = std::min(rest.size(), kChunkPoints);
      Piece piece = make_piece(rest.first(taken));
      rest = rest.subspan(taken);
      if (!piece.summary.empty()) {
        PLIMSOLL_TRY(insert_chunk(database, growth.row, piece));
        continue;
      }
      const std::int64_t sequence = growth.row.chunks;
      count_chunk(growth.row, piece);
      small.push_back({growth.row.id, sequence, std::move(piece)});
    }
  }
  return insert_small(database, small);
}

/// The first of the chunks to be joined.
Result<std::int64_t> first_to_join(Database& database, const MetricRow& metric) {
  Query query =
      database.query("SELECT points FROM chunk WHERE metric = ? AND sequence >= ? ORDER BY sequence DESC");
  query.bind(metric.id).bind(metric.full_chunks);
  std::int64_t tiny = 0;
  for (;; ++tiny) {
    const Result<bool> row = query.next();
    if (!row) return std::unexpected(row.error());
    if (!*row || query.integer(0) >= kTiny) break;
  }
  return tiny >= kManyTiny ? metric.chunks - tiny : metric.full_chunks;
}

/// Points in the order of their time, without those that are there twice, cut into chunks.
struct Cut {
  std::vector<Piece> pieces = {};
  std::int64_t dropped = 0;
};

/// The points of all chunks from `first` on, newly cut. Some chunks' points are in memory at a time: those
/// that come late by more stay where they are.
Result<Cut> cut_anew(Database& database, const MetricRow& metric, std::int64_t first) {
  constexpr std::size_t kWindow = 32 * kChunkPoints;
  Query query =
      database.query("SELECT bytes FROM chunk WHERE metric = ? AND sequence >= ? ORDER BY sequence");
  query.bind(metric.id).bind(first);
  Cut out;
  std::vector<Point> waiting;
  const auto cut = [&](std::size_t keep) {
    out.dropped += static_cast<std::int64_t>(put_in_order(waiting));
    std::size_t at = 0;
    for (; waiting.size() - at >= kChunkPoints + keep; at += kChunkPoints)
      out.pieces.push_back(make_piece(std::span(waiting).subspan(at, kChunkPoints)));
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(at));
  };
  PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) -> Status {
    const Result<std::vector<Point>> points = decode_chunk(row.blob(0));
    if (!points) return std::unexpected(points.error());
    waiting.insert(waiting.end(), points->begin(), points->end());
    if (waiting.size() >= 2 * kWindow) cut(kWindow);
    return {};
  }));
  cut(0);
  if (!waiting.empty()) out.pieces.push_back(make_piece(waiting));
  return out;
}

/// Puts `pieces` in the place of the chunks from `first` on, which stand after the full ones.
Status replace_chunks(Database& database, MetricRow& metric, std::int64_t first, const Cut& cut) {
  PLIMSOLL_TRY(database.query("DELETE FROM summary WHERE metric = ? AND sequence >= ?")
                   .bind(metric.id)
                   .bind(first)
                   .run());
  PLIMSOLL_TRY(database.query("DELETE FROM chunk WHERE metric = ? AND sequence >= ?")
                   .bind(metric.id)
                   .bind(first)
                   .run());
  metric.chunks = first;
  metric.dropped += cut.dropped;
  for (const Piece& piece : cut.pieces) PLIMSOLL_TRY(insert_chunk(database, metric, piece));
  return {};
}

/// Returns whether it could be done: a chunk that cannot be read stays where it is, for reading to complain
/// of.
Result<bool> join_some(Database& database, MetricRow& metric) {
  const Result<std::int64_t> first = first_to_join(database, metric);
  if (!first) return std::unexpected(first.error());
  const Result<Cut> cut = cut_anew(database, metric, *first);
  if (!cut) return false;
  PLIMSOLL_TRY(replace_chunks(database, metric, *first, *cut));
  return true;
}

}  // namespace

Status append_points(Database& database, std::span<Growth> growths) {
  constexpr int kMostJoined = 8;  // metrics that are added to together have many chunks at the same time
  PLIMSOLL_TRY(insert_growths(database, growths));
  int joined = 0;
  for (Growth& growth : growths)
    if (growth.row.chunks - growth.row.full_chunks >= kManyChunks && joined++ < kMostJoined)
      PLIMSOLL_TRY(join_some(database, growth.row));
  return save_metrics(database, growths);
}

Status compact_points(Database& database, std::int64_t run) {
  std::vector<MetricRow> metrics;
  {
    Query query = database.query(
        "SELECT id, full_chunks, chunks FROM metric WHERE run = ? AND chunks > full_chunks + 1 AND "
        "full_chunks >= 0 "
        "ORDER BY id");
    query.bind(run);
    PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) {
      metrics.push_back({row.integer(0), row.integer(1), row.integer(2)});
    }));
  }
  for (MetricRow& metric : metrics) {
    const Result<Cut> cut = cut_anew(database, metric, metric.full_chunks);
    if (!cut && cut.error().may_pass()) return std::unexpected(cut.error());
    if (!cut) continue;  // a chunk that cannot be read stays where it is, and costs the others nothing
    PLIMSOLL_TRY(replace_chunks(database, metric, metric.full_chunks, *cut));
    PLIMSOLL_TRY(save_chunks(database, metric));
  }
  return {};
}

Result<bool> join_somewhere(Database& database, Time settled) {
  std::vector<std::pair<std::int64_t, std::int64_t>> candidates;  // a run and its metric
  {
    // A run's version is the time of its last change, or a little later.
    Query query = database.query(
        "SELECT m.run, m.id FROM metric m JOIN run r ON r.number = m.run "
        "WHERE m.chunks >= m.full_chunks + 32 AND r.version <= ? ORDER BY m.id LIMIT 16");
    query.bind(settled);
    PLIMSOLL_TRY(for_each_row(
        query, [&](const Query& row) { candidates.emplace_back(row.integer(0), row.integer(1)); }));
  }
  for (const auto& [run, id] : candidates) {
    // Who appends to the run holds it: what is read of the metric before may have changed since.
    PLIMSOLL_TRY(database.query("SELECT number FROM run WHERE number = ? FOR UPDATE").bind(run).run());
    MetricRow metric{id};
    {
      Query query = database.query(
          "SELECT full_chunks, chunks FROM metric WHERE id = ? AND chunks >= full_chunks + 32 AND "
          "full_chunks >= 0");
      const Result<bool> row = query.bind(id).next();
      if (!row) return std::unexpected(row.error());
      if (!*row) continue;
      metric.full_chunks = query.integer(0);
      metric.chunks = query.integer(1);
    }
    const Result<bool> joined = join_some(database, metric);
    if (!joined) return joined;
    if (!*joined) continue;
    PLIMSOLL_TRY(save_chunks(database, metric));
    return true;
  }
  return false;
}

Result<std::vector<Point>> read_points(Database& database, std::int64_t run, std::string_view metric,
                                       std::optional<Time> from, std::optional<Time> to) {
  const Time begin = from.value_or(std::numeric_limits<Time>::min()),
             end = to.value_or(std::numeric_limits<Time>::max());
  Query query = database.query(
      "SELECT c.bytes FROM metric m JOIN chunk c ON c.metric = m.id "
      "WHERE m.run = ? AND m.name = ? AND c.last >= ? AND c.first <= ? ORDER BY c.sequence");
  query.bind(run).bind(metric).bind(begin).bind(end);
  std::vector<Point> out;
  PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) -> Status {
    const Result<std::vector<Point>> points = decode_chunk(row.blob(0));
    if (!points)
      return std::unexpected(Error(points.error()).within(fmt::format("metric {}", quote(metric))));
    for (const Point& p : *points)
      if (p.time >= begin && p.time <= end) out.push_back(p);
    if (out.size() > kMostRead)
      return std::unexpected(Error{fmt::format("more than {} points at once", kMostRead),
                                   fmt::format("metric {}", quote(metric)),
                                   "Ask for a shorter span of time."});
    return {};
  }));
  put_in_order(out);
  return out;
}

}  // namespace plimsoll::store
