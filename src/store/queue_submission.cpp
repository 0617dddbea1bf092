#include <numeric>

#include "store/queue_rows.hpp"

namespace plimsoll::store {
namespace {

QueueNumbers numbers_since(std::int64_t first, std::size_t count) {
  QueueNumbers out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

/// With the numbers that jobs of the same submission get.
Result<QueueNumbers> resolved(const QueueNumbers& after, std::int64_t last) {
  QueueNumbers out;
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

/// Of all jobs, before the first is written.
Result<std::vector<QueueNumbers>> resolved_all(std::span<const NewQueueJob> jobs, std::int64_t last) {
  std::vector<QueueNumbers> out;
  out.reserve(jobs.size());
  for (const NewQueueJob& job : jobs) {
    Result<QueueNumbers> after = resolved(job.after, last);
    if (!after) return std::unexpected(std::move(after).error());
    out.push_back(std::move(*after));
  }
  return out;
}

/// The answer that was given for the same token before.
using KnownAnswer = std::optional<Result<QueueNumbers>>;

Result<KnownAnswer> known_answer(Database& database, const QueueSubmission& submission) {
  Query query = database.query("SELECT first, jobs FROM queue_submission WHERE token = ?");
  const Result<bool> found = query.bind(submission.token).next();
  if (!found) return std::unexpected(found.error());
  if (!*found) return KnownAnswer();
  const auto count = static_cast<std::int64_t>(submission.jobs.size());
  if (query.integer(1) != count)
    return KnownAnswer(
        fail("the submission with this token had {} jobs, and now it has {}", query.integer(1), count));
  return KnownAnswer(numbers_since(query.integer(0), submission.jobs.size()));
}

Status insert_submission(Database& database, const QueueSubmission& submission,
                         const std::vector<QueueNumbers>& after, QueueCounter& counter, Time now) {
  PLIMSOLL_TRY(database.query("INSERT INTO queue_submission(token, first, jobs) VALUES (?, ?, ?)")
                   .bind(submission.token)
                   .bind(counter.number + 1)
                   .bind(static_cast<std::int64_t>(submission.jobs.size()))
                   .run());
  for (std::size_t i = 0; i < submission.jobs.size(); ++i)
    PLIMSOLL_TRY(
        insert_job(database, submission.jobs[i], ++counter.number, ++counter.version, after[i], now));
  return {};
}

/// What is refused is in the answer, and nothing of it was written; an error ends the transaction.
Result<Result<QueueNumbers>> answer_submission(Database& database, const QueueSubmission& submission,
                                               QueueCounter& counter, Time now) {
  using Answer = Result<QueueNumbers>;
  Result<KnownAnswer> known = known_answer(database, submission);
  if (!known) return std::unexpected(std::move(known).error());
  if (*known) return std::move(**known);
  const Result<std::vector<QueueNumbers>> after = resolved_all(submission.jobs, counter.number);
  if (!after) return Answer(std::unexpected(after.error()));
  const std::int64_t first = counter.number + 1;
  PLIMSOLL_TRY(insert_submission(database, submission, *after, counter, now));
  return Answer(numbers_since(first, submission.jobs.size()));
}

}  // namespace

Result<std::vector<Result<QueueNumbers>>> insert_submissions(Database& database,
                                                             std::span<const QueueSubmission> submissions,
                                                             std::span<const Status> checked) {
  Query counter_row = start_counter(database);
  const Result<QueueCounter> before = read_counter(counter_row);
  if (!before) return std::unexpected(before.error());
  const Result<Time> now = database.clock();
  if (!now) return std::unexpected(now.error());
  QueueCounter after = *before;
  std::vector<Result<QueueNumbers>> out;
  out.reserve(submissions.size());
  // Tokens are looked for with the counter in hand: another with the same one may just have been at it.
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    if (!checked[i]) {
      out.emplace_back(std::unexpected(checked[i].error()));
      continue;
    }
    Result<Result<QueueNumbers>> answered = answer_submission(database, submissions[i], after, *now);
    if (!answered) return std::unexpected(std::move(answered).error());
    out.push_back(std::move(*answered));
  }
  if (after.number > before->number) PLIMSOLL_TRY(save_counter(database, *before, after));
  return out;
}

}  // namespace plimsoll::store
