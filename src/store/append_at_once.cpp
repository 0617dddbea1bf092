#include "store/append_at_once.hpp"

#include <algorithm>

#include "store/chunk.hpp"
#include "store/point_order.hpp"
#include "store/points.hpp"
#include "store/run_rows.hpp"
#include "store/summary.hpp"
#include "store/texts.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::store {
namespace {

// The run's row is locked before the metric's, as by all others, and what a writer before has changed
// meanwhile counts: the server looks at both rows again when it has waited for them. The order is that of
// later().
constexpr Literal kAppend =
    "WITH r AS (UPDATE run SET version = greatest(version + 1, $11) WHERE id = $1 RETURNING number), "
    "m AS (UPDATE metric SET (latest_time, latest_step, latest_value) = "
    "(SELECT time, step, value FROM (VALUES (latest_time, latest_step, latest_value), ($3, $4, $5)) "
    "AS p(time, step, value) ORDER BY step DESC, time DESC, value DESC NULLS LAST LIMIT 1), "
    "points = points + $6, chunks = chunks + 1 "
    "FROM r WHERE metric.run = r.number AND metric.name = $2 AND chunks - full_chunks < $7 "
    "RETURNING metric.id, chunks - 1 AS sequence) "
    "INSERT INTO chunk(metric, sequence, points, first, last, bytes) "
    "SELECT id, sequence, $6, $8, $9, $10 FROM m RETURNING sequence";

}  // namespace

bool fits_at_once(const Batch& batch) {
  return !batch.points.empty() && batch.points.size() < kBlockPoints && batch.model.empty() &&
         batch.description == Description();
}

Result<bool> append_at_once(Database& database, const Batch& batch) {
  PLIMSOLL_TRY(check_name("metric", batch.metric));
  const Result<std::string> id = whole_id(batch.run);
  if (!id) return false;
  Result<Transaction> transaction = Transaction::write(database);
  if (!transaction) return std::unexpected(transaction.error());
  const auto [first, last] = std::ranges::minmax(batch.points, {}, &Point::time);
  const Point latest = latest_of(batch.points.front(), batch.points);
  Query query = database.query(kAppend);
  PLIMSOLL_TRY(query.bind(*id)
                   .bind(batch.metric)
                   .bind(latest.time)
                   .bind(latest.step)
                   .bind(latest.value)
                   .bind(static_cast<std::int64_t>(batch.points.size()))
                   .bind(kManyChunks)
                   .bind(first.time)
                   .bind(last.time)
                   .bind_blob(encode_chunk(batch.points))
                   .bind(now())
                   .start());
  PLIMSOLL_TRY(transaction->commit());
  return query.next();
}

}  // namespace plimsoll::store
