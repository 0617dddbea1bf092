#include <algorithm>

#include "store/queue_rows.hpp"
#include "store/texts.hpp"

namespace plimsoll::store {
namespace {

/// Of requests in one answer, but for the first.
constexpr std::int64_t kMostRequestBytes = std::int64_t{64} << 20;

Query query_for(Database& database, const QueueSearch& search) {
  std::string sql =
      "SELECT number, user_name, name, pool, priority, submitted, after_jobs, request_bytes, state, attempt, "
      "host, place, run, outcome, reason, notes, started, ended, version FROM queue_job WHERE number > ?";
  if (search.newer_than > 0) sql += " AND version > ?";
  if (!search.numbers.empty()) sql += fmt::format(" AND number {}", database.one_of());
  if (search.user) sql += " AND user_name = ?";
  if (search.pool) sql += " AND pool = ?";
  if (search.host) sql += " AND host = ?";
  if (!search.states.empty()) {
    sql += " AND state IN (";
    for (std::size_t i = 0; i < search.states.size(); ++i) sql += i == 0 ? "?" : ", ?";
    sql += ")";
  }
  sql += search.newer_than > 0 ? " ORDER BY version LIMIT ?"
         : search.last         ? " ORDER BY number DESC LIMIT ?"
                               : " ORDER BY number LIMIT ?";
  Query query = database.query_again(sql);
  query.bind(search.above);
  if (search.newer_than > 0) query.bind(search.newer_than);
  if (!search.numbers.empty()) query.bind_integers(search.numbers);
  for (const std::optional<std::string>& text : {search.user, search.pool, search.host})
    if (text) query.bind(*text);
  for (const QueueState state : search.states) query.bind(queue_state_name(state));
  query.bind(static_cast<std::int64_t>(search.limit));
  return query;
}

Result<QueueJob> job_of(const Query& row) {
  const std::optional<QueueState> state = parse_queue_state(row.text(8));
  if (!state) return fail("the store is damaged: job {} has no state", row.integer(0));
  return QueueJob{.number = row.integer(0),
                  .user = row.text(1),
                  .name = row.text(2),
                  .pool = row.text(3),
                  .priority = row.real(4),
                  .submitted = row.integer(5),
                  .after = numbers_from(row.text(6)),
                  .request = {},
                  .state = *state,
                  .attempt = row.integer(9),
                  .host = row.text(10),
                  .place = row.text(11),
                  .run = row.text(12),
                  .outcome = row.text(13),
                  .reason = row.text(14),
                  .notes = row.text(15),
                  .started = row.integer(16),
                  .ended = row.integer(17),
                  .version = row.integer(18)};
}

Status load_requests(Database& database, std::vector<QueueJob>& jobs) {
  std::map<std::int64_t, QueueJob*> by_number;
  std::vector<std::int64_t> numbers;
  for (QueueJob& job : jobs) {
    by_number.emplace(job.number, &job);
    numbers.push_back(job.number);
  }
  Query query = query_of(database, "SELECT job, request FROM queue_text WHERE job = ?", numbers);
  return for_each_row(query, [&](const Query& row) {
    if (const auto found = by_number.find(row.integer(0)); found != by_number.end())
      found->second->request = row.text(1);
  });
}

}  // namespace

Result<std::vector<QueueJob>> find_jobs(Database& database, const QueueSearch& search) {
  std::vector<QueueJob> out;
  std::int64_t bytes = 0;
  {
    Query query = query_for(database, search);
    for (;;) {
      const Result<bool> row = query.next();
      if (!row) return std::unexpected(row.error());
      if (!*row) break;
      bytes += query.integer(7);
      if (search.with_request && !out.empty() && bytes > kMostRequestBytes) break;
      Result<QueueJob> job = job_of(query);
      if (!job) return std::unexpected(std::move(job).error());
      out.push_back(std::move(*job));
    }
  }
  if (search.with_request && !out.empty()) PLIMSOLL_TRY(load_requests(database, out));
  return out;
}

}  // namespace plimsoll::store
