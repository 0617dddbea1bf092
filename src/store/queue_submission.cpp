#include <numeric>

#include "store/queue_rows.hpp"

namespace plimsoll::store {
namespace {

std::vector<std::int64_t> numbers_since(std::int64_t first, std::size_t count) {
  std::vector<std::int64_t> out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

/// With the numbers that jobs of the same submission get.
Result<std::vector<std::int64_t>> resolved(const std::vector<std::int64_t>& after, std::int64_t last) {
  std::vector<std::int64_t> out;
  out.reserve(after.size());
  for (const std::int64_t before : after) {
    if (before > last) return std::unexpected(no_such_job(before));
    out.push_back(before < 0 ? last - before : before);
  }
  return out;
}

Status insert_job(Database& database, const NewQueueJob& job, std::int64_t number, std::int64_t version,
                  std::span<const std::int64_t> after, Time now) {
  PLIMSOLL_TRY(database
                   .query("INSERT INTO queue_job(number, user_name, name, pool, priority, submitted, "
                          "after_jobs, request_bytes, state, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
                   .bind(number)
                   .bind(job.user)
                   .bind(job.name)
                   .bind(job.pool)
                   .bind(job.priority)
                   .bind(now)
                   .bind(numbers_text(after))
                   .bind(static_cast<std::int64_t>(job.request.size()))
                   .bind(queue_state_name(job.state))
                   .bind(version)
                   .run());
  return database.query("INSERT INTO queue_text(job, request, environment) VALUES (?, ?, ?)")
      .bind(number)
      .bind(job.request)
      .bind(job.environment)
      .run();
}

}  // namespace

Result<std::vector<std::int64_t>> insert_jobs(Database& database, std::span<const NewQueueJob> jobs,
                                              std::string_view token) {
  const auto count = static_cast<std::int64_t>(jobs.size());
  Query counter_row = start_counter(database);
  // Looked for with the counter in hand: another with the same token may just have been at it.
  Query known = database.query("SELECT first, jobs FROM queue_submission WHERE token = ?");
  PLIMSOLL_TRY(known.bind(token).start());
  const Result<QueueCounter> before = read_counter(counter_row);
  if (!before) return std::unexpected(before.error());
  const Result<bool> done = known.next();
  if (!done) return std::unexpected(done.error());
  if (*done) {
    if (known.integer(1) != count)
      return fail("the submission with this token had {} jobs, and now it has {}", known.integer(1), count);
    return numbers_since(known.integer(0), jobs.size());
  }
  const Result<Time> now = database.clock();
  if (!now) return std::unexpected(now.error());
  QueueCounter after = *before;
  for (const NewQueueJob& job : jobs) {
    const Result<std::vector<std::int64_t>> earlier = resolved(job.after, before->number);
    if (!earlier) return std::unexpected(earlier.error());
    PLIMSOLL_TRY(insert_job(database, job, ++after.number, ++after.version, *earlier, *now));
  }
  PLIMSOLL_TRY(database.query("INSERT INTO queue_submission(token, first, jobs) VALUES (?, ?, ?)")
                   .bind(token)
                   .bind(before->number + 1)
                   .bind(count)
                   .run());
  PLIMSOLL_TRY(save_counter(database, *before, after));
  return numbers_since(before->number + 1, jobs.size());
}

}  // namespace plimsoll::store
