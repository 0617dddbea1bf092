#include "store/history.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <utility>

#include "base/printable.hpp"
#include "store/chunk.hpp"
#include "store/point_order.hpp"
#include "store/points.hpp"
#include "store/sampling.hpp"
#include "store/summary.hpp"

namespace plimsoll::store {
namespace {

/// A chunk without its points.
struct HistoryPiece {
  std::int64_t metric = 0, sequence = 0, points = 0;
  Time first = 0, last = 0;
  std::string summary = {};  ///< nothing where none was kept
};

/// Those of a span of time, by the time of their earliest points.
Result<std::vector<HistoryPiece>> pieces_of(Database& database, std::int64_t run, std::string_view metric,
                                            Time from, Time to) {
  Query query = database.query(
      "SELECT c.metric, c.sequence, c.points, c.first, c.last FROM metric m JOIN chunk c ON c.metric = m.id "
      "WHERE m.run = ? AND m.name = ? AND c.last >= ? AND c.first <= ? ORDER BY c.first, c.sequence");
  query.bind(run).bind(metric).bind(from).bind(to);
  std::vector<HistoryPiece> out;
  PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) {
    out.push_back({row.integer(0), row.integer(1), row.integer(2), row.integer(3), row.integer(4)});
  }));
  return out;
}

Result<std::vector<Point>> points_of(Database& database, const HistoryPiece& piece) {
  Query query = database.query("SELECT bytes FROM chunk WHERE metric = ? AND sequence = ?");
  PLIMSOLL_TRY(query.bind(piece.metric).bind(piece.sequence).row());
  return decode_chunk(query.blob(0));
}

/// A page's place: the last point of the page before, as "TIME:STEP:BITS".
std::string token_of(const Point& p) {
  return fmt::format("{}:{}:{}", p.time, p.step, std::bit_cast<std::uint64_t>(p.value));
}

template <class Integer>
bool take_number(std::string_view& text, Integer& out) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (problem != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with(':')) text.remove_prefix(1);
  return true;
}

Result<std::optional<Point>> parse_token(std::string_view token) {
  if (token.empty()) return std::optional<Point>();
  Point p;
  std::uint64_t bits = 0;
  std::string_view rest = token;
  if (!take_number(rest, p.time) || !take_number(rest, p.step) || !take_number(rest, bits) || !rest.empty())
    return fail("{} is not a place in a history", quote(token));
  p.value = std::bit_cast<double>(bits);
  return p;
}

/// All pieces of a metric, whatever their time.
Result<std::vector<HistoryPiece>> pieces_of(Database& database, std::int64_t run, std::string_view metric) {
  return pieces_of(database, run, metric, std::numeric_limits<Time>::min(), std::numeric_limits<Time>::max());
}

/// Summaries of pieces that have one, in the order of their sequence.
Status load_summaries(Database& database, std::vector<HistoryPiece>& pieces) {
  if (pieces.empty()) return {};
  std::ranges::sort(pieces, {}, &HistoryPiece::sequence);
  Query query = database.query(
      "SELECT sequence, bytes FROM summary WHERE metric = ? AND sequence >= ? AND sequence <= ? "
      "ORDER BY sequence");
  query.bind(pieces.front().metric).bind(pieces.front().sequence).bind(pieces.back().sequence);
  auto at = pieces.begin();
  return for_each_row(query, [&](const Query& row) {
    while (at != pieces.end() && at->sequence < row.integer(0)) ++at;
    if (at != pieces.end() && at->sequence == row.integer(0)) at->summary = row.blob(1);
  });
}

/// A piece's blocks within a span of time. Only one that lies across its ends, or has no summary, is read.
Status add_blocks(Database& database, const HistoryPiece& piece, Time from, Time to,
                  std::vector<Block>& out) {
  if (!piece.summary.empty() && piece.first >= from && piece.last <= to) {
    const Result<std::vector<Block>> blocks = decode_blocks(piece.summary);
    if (!blocks) return std::unexpected(blocks.error());
    out.insert(out.end(), blocks->begin(), blocks->end());
    return {};
  }
  Result<std::vector<Point>> points = points_of(database, piece);
  if (!points) return std::unexpected(points.error());
  std::erase_if(*points, [&](const Point& p) { return p.time < from || p.time > to; });
  put_in_order(*points);
  const std::vector<Block> blocks = blocks_of(*points);
  out.insert(out.end(), blocks.begin(), blocks.end());
  return {};
}

std::vector<Span> merged(std::span<const Block> blocks, std::size_t most) {
  const std::size_t group = std::max<std::size_t>(1, (blocks.size() + most - 1) / most);
  std::vector<Span> out;
  for (std::size_t i = 0; i < blocks.size(); i += group) {
    Block together;
    for (const Block& block : blocks.subspan(i, std::min(group, blocks.size() - i))) add(together, block);
    out.push_back(span_of(together));
  }
  return out;
}

/// A piece's blocks that have points within a span of steps, as far as a summary can tell.
struct Stretch {
  const HistoryPiece* piece = nullptr;
  std::vector<Block> blocks = {};
};

Result<std::vector<Stretch>> stretches_of(Database& database, std::span<const HistoryPiece> pieces,
                                          const Steps& steps) {
  std::vector<Stretch> out;
  for (const HistoryPiece& piece : pieces) {
    Stretch stretch{&piece};
    PLIMSOLL_TRY(add_blocks(database, piece, std::numeric_limits<Time>::min(),
                            std::numeric_limits<Time>::max(), stretch.blocks));
    std::erase_if(stretch.blocks,
                  [&](const Block& b) { return b.last_step < steps.first || b.first_step > steps.last; });
    if (!stretch.blocks.empty()) out.push_back(std::move(stretch));
  }
  return out;
}

/// A piece's points within a span of steps.
Result<std::vector<Point>> points_within(Database& database, const HistoryPiece& piece, const Steps& steps) {
  Result<std::vector<Point>> points = points_of(database, piece);
  if (points) std::erase_if(*points, [&](const Point& p) { return !steps.holds(p.step); });
  return points;
}

/// The piece with the smallest step within the span, or, by `mirrored`, with the largest; among equal steps,
/// as where a metric has none, with the earliest or the latest time.
const HistoryPiece& piece_at_end(std::span<const Stretch> stretches, const Steps& steps, bool mirrored) {
  using End = std::pair<std::int64_t, Time>;
  const auto end = [&](const Stretch& stretch) {
    constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
    End most{kLeast, kLeast};
    for (const Block& b : stretch.blocks)
      // ~ mirrors the order and cannot overflow.
      most = std::max(most, mirrored ? End(std::min(b.last_step, steps.last), b.last)
                                     : End(~std::max(b.first_step, steps.first), ~b.first));
    return most;
  };
  return *std::ranges::max_element(stretches, {}, end)->piece;
}

/// The points that open the blocks, and the first and the last of all.
Result<std::vector<Point>> openings(Database& database, std::span<const Stretch> stretches,
                                    const Steps& steps) {
  std::vector<Point> out;
  for (const Stretch& stretch : stretches)
    for (const Block& block : stretch.blocks)
      if (steps.holds(block.opening.step)) out.push_back(block.opening);
  for (const bool mirrored : {false, true}) {
    const Result<std::vector<Point>> points =
        points_within(database, piece_at_end(stretches, steps, mirrored), steps);
    if (!points) return points;
    if (points->empty()) continue;
    const auto [first, last] = std::ranges::minmax_element(*points, steps_before);
    out.push_back(mirrored ? *last : *first);
  }
  return out;
}

}  // namespace

Result<Page> read_page(Database& database, std::int64_t run, std::string_view metric, std::string_view token,
                       std::size_t limit) {
  const Result<std::optional<Point>> after = parse_token(token);
  if (!after) return std::unexpected(after.error());
  if (limit == 0) return fail("a page has at least one point");
  const Time from = *after ? (*after)->time : std::numeric_limits<Time>::min();
  const Result<std::vector<HistoryPiece>> pieces =
      pieces_of(database, run, metric, from, std::numeric_limits<Time>::max());
  if (!pieces) return std::unexpected(pieces.error());
  Page page;
  std::vector<Point>& points = page.points;
  for (std::size_t i = 0; i < pieces->size(); ++i) {
    const Result<std::vector<Point>> more = points_of(database, (*pieces)[i]);
    if (!more) return std::unexpected(Error(more.error()).within(fmt::format("metric {}", quote(metric))));
    for (const Point& p : *more)
      if (!*after || comes_before(**after, p)) points.push_back(p);
    const bool last = i + 1 == pieces->size();
    if (points.size() <= limit && !last) continue;
    std::ranges::sort(points, comes_before);
    points.erase(std::ranges::unique(points, same).begin(), points.end());
    // What the following pieces hold comes after these.
    const auto settled =
        last ? points.end() : std::ranges::lower_bound(points, (*pieces)[i + 1].first, {}, &Point::time);
    if (static_cast<std::size_t>(settled - points.begin()) <= limit && !last) continue;
    if (points.size() <= limit) break;
    points.resize(limit);
    page.next = token_of(points.back());
    break;
  }
  return page;
}

Result<std::vector<Span>> read_outline(Database& database, std::int64_t run, std::string_view metric,
                                       std::size_t most, std::optional<Time> from, std::optional<Time> to) {
  if (most == 0) return fail("an outline has at least one span");
  const Time begin = from.value_or(std::numeric_limits<Time>::min()),
             end = to.value_or(std::numeric_limits<Time>::max());
  Result<std::vector<HistoryPiece>> pieces = pieces_of(database, run, metric, begin, end);
  if (!pieces) return std::unexpected(std::move(pieces).error());
  std::size_t block_count = 0;
  for (const HistoryPiece& piece : *pieces)
    block_count += static_cast<std::size_t>(piece.points) / kBlockPoints;
  std::vector<Block> blocks;
  if (block_count < most / 2) {
    // Too few blocks for a good picture, so few points that they are read.
    const Result<std::vector<Point>> points = read_points(database, run, metric, from, to);
    if (!points) return std::unexpected(points.error());
    for (const Point& p : *points) add(blocks.emplace_back(), p);
  } else {
    PLIMSOLL_TRY(load_summaries(database, *pieces));
    for (const HistoryPiece& piece : *pieces) PLIMSOLL_TRY(add_blocks(database, piece, begin, end, blocks));
    std::ranges::stable_sort(blocks, {}, &Block::first);
  }
  return merged(blocks, most);
}

Result<std::vector<Point>> read_sample(Database& database, std::int64_t run, std::string_view metric,
                                       std::size_t most, const Steps& steps) {
  if (most == 0) return fail("a sample has at least one point");
  Result<std::vector<HistoryPiece>> pieces = pieces_of(database, run, metric);
  if (!pieces) return std::unexpected(std::move(pieces).error());
  PLIMSOLL_TRY(load_summaries(database, *pieces));
  const Result<std::vector<Stretch>> stretches = stretches_of(database, *pieces, steps);
  if (!stretches) return std::unexpected(stretches.error());
  std::size_t blocks = 0;
  for (const Stretch& stretch : *stretches) blocks += stretch.blocks.size();
  std::vector<Point> points;
  if (blocks > most) {
    Result<std::vector<Point>> found = openings(database, *stretches, steps);
    if (!found) return found;
    points = std::move(*found);
  } else {
    for (const Stretch& stretch : *stretches) {
      const Result<std::vector<Point>> more = points_within(database, *stretch.piece, steps);
      if (!more) return more;
      points.insert(points.end(), more->begin(), more->end());
    }
  }
  put_in_order(points);
  return sampled(std::move(points), most);
}

}  // namespace plimsoll::store
