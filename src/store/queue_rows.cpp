#include "store/queue_rows.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

#include <fmt/ranges.h>

#include "store/queue_checks.hpp"

namespace plimsoll::store {
namespace {

constexpr std::size_t kMostRowsAtOnce = 100'000;

Result<std::string> load_environment(Database& database, std::int64_t number) {
  Query query = database.query("SELECT environment FROM queue_text WHERE job = ?");
  const Result<bool> found = query.bind(number).next();
  if (!found) return std::unexpected(found.error());
  if (!*found) return std::unexpected(no_such_job(number));
  return query.text(0);
}

Result<std::vector<QueueDecision>> find_decisions(Database& database, std::optional<std::int64_t> job,
                                                  std::int64_t newer_than_id, std::size_t limit) {
  Query query = job ? database.query(
                          "SELECT id, at, job, host, kind, reason, expected FROM queue_decision "
                          "WHERE job = ? AND id > ? ORDER BY id LIMIT ?")
                    : database.query(
                          "SELECT id, at, job, host, kind, reason, expected FROM queue_decision "
                          "WHERE id > ? ORDER BY id LIMIT ?");
  if (job) query.bind(*job);
  query.bind(newer_than_id).bind(static_cast<std::int64_t>(std::min(limit, kMostRowsAtOnce)));
  std::vector<QueueDecision> out;
  PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) {
    out.push_back({.id = row.integer(0),
                   .at = row.integer(1),
                   .job = row.integer(2),
                   .host = row.text(3),
                   .kind = row.text(4),
                   .reason = row.text(5),
                   .expected = row.text(6)});
  }));
  return out;
}

using Profiles = std::map<std::string, std::string>;

Result<Profiles> find_profiles(Database& database, std::span<const std::string> fingerprints) {
  Profiles out;
  for (const std::string& fingerprint : fingerprints) {
    Query query = database.query("SELECT profile FROM queue_profile WHERE fingerprint = ?");
    const Result<bool> found = query.bind(fingerprint).next();
    if (!found) return std::unexpected(found.error());
    if (*found) out.insert_or_assign(fingerprint, query.text(0));
  }
  return out;
}

Status save_profile(Database& database, std::string_view fingerprint, std::string_view profile) {
  const Result<Time> now = database.clock();
  if (!now) return std::unexpected(now.error());
  PLIMSOLL_TRY(database
                   .query("INSERT INTO queue_profile(fingerprint, profile, kept) VALUES (?, ?, ?) "
                          "ON CONFLICT (fingerprint) DO UPDATE SET profile = excluded.profile, "
                          "kept = excluded.kept")
                   .bind(fingerprint)
                   .bind(profile)
                   .bind(*now)
                   .run());
  return database
      .query(
          "DELETE FROM queue_profile WHERE kept <= "
          "(SELECT kept FROM queue_profile ORDER BY kept DESC LIMIT 1 OFFSET ?)")
      .bind(kMostQueueProfiles)
      .run();
}

class SqlQueue final : public Queue {
 public:
  explicit SqlQueue(Transactions transactions) : transactions_(transactions) {}

  Result<std::vector<Result<QueueNumbers>>> submit_all(
      std::span<const QueueSubmission> submissions) override {
    // Before the queue is locked: that takes long for many jobs.
    std::vector<Status> checked;
    checked.reserve(submissions.size());
    for (const QueueSubmission& submission : submissions)
      checked.push_back(check_submission(submission.jobs, submission.token));
    return transactions_.write_for<std::vector<Result<QueueNumbers>>>(
        [&](Database& database) { return insert_submissions(database, submissions, checked); });
  }

  Result<std::vector<QueueJob>> jobs(const QueueSearch& search) override {
    return transactions_.read<std::vector<QueueJob>>([&](Database& database) {
      QueueSearch bounded = search;
      bounded.limit = std::min(search.limit, kMostRowsAtOnce);
      return find_jobs(database, bounded);
    });
  }

  Result<std::int64_t> version() override {
    return transactions_.read<std::int64_t>([&](Database& database) -> Result<std::int64_t> {
      Query query = database.query("SELECT version FROM queue_counter WHERE id = 0");
      PLIMSOLL_TRY(query.row());
      return query.integer(0);
    });
  }

  Result<std::string> environment(std::int64_t number) override {
    return transactions_.read<std::string>(
        [&](Database& database) { return load_environment(database, number); });
  }

  Result<bool> change(std::span<const QueueChange> changes, std::span<const QueueDecision> decisions,
                      const std::optional<Claim>& held) override {
    PLIMSOLL_TRY(check_changes(changes, decisions));
    return transactions_.write_for<bool>(
        [&](Database& database) { return change_jobs(database, changes, decisions, held); });
  }

  Result<std::vector<QueueDecision>> decisions(std::optional<std::int64_t> job, std::int64_t newer_than_id,
                                               std::size_t limit) override {
    return transactions_.read<std::vector<QueueDecision>>(
        [&](Database& database) { return find_decisions(database, job, newer_than_id, limit); });
  }

  Result<Profiles> profiles(std::span<const std::string> fingerprints) override {
    for (const std::string& fingerprint : fingerprints) PLIMSOLL_TRY(check_fingerprint(fingerprint));
    return transactions_.read<Profiles>(
        [&](Database& database) { return find_profiles(database, fingerprints); });
  }

  Status keep_profile(std::string_view fingerprint, std::string_view profile) override {
    PLIMSOLL_TRY(check_profile(fingerprint, profile));
    return transactions_.write(
        [&](Database& database) { return save_profile(database, fingerprint, profile); });
  }

 private:
  Transactions transactions_;
};

}  // namespace

std::unique_ptr<Queue> make_queue(Transactions transactions) {
  return std::make_unique<SqlQueue>(transactions);
}

Query start_counter(Database& database) {
  Query query = database.query("SELECT number, version, decision FROM queue_counter WHERE id = 0 FOR UPDATE");
  // What fails here fails again where the row is read.
  std::ignore = query.start();
  return query;
}

Result<QueueCounter> read_counter(Query& started) {
  PLIMSOLL_TRY(started.row());
  return QueueCounter{started.integer(0), started.integer(1), started.integer(2)};
}

Status save_counter(Database& database, const QueueCounter& before, const QueueCounter& after) {
  Query query = database.query(
      "UPDATE queue_counter SET number = ?, version = ?, decision = ? "
      "WHERE id = 0 AND number = ? AND version = ? AND decision = ? RETURNING id");
  query.bind(after.number).bind(after.version).bind(after.decision);
  const Result<bool> saved = query.bind(before.number).bind(before.version).bind(before.decision).next();
  if (!saved) return std::unexpected(saved.error());
  if (*saved) return {};
  return std::unexpected(Error{"another writer was in the way", database.name(),
                               "Try again; what is in the store is safe.", Error::Kind::unavailable});
}

std::string numbers_text(std::span<const std::int64_t> numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

std::vector<std::int64_t> numbers_from(std::string_view text) {
  std::vector<std::int64_t> out;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    std::int64_t number = 0;
    const auto [next, problem] = std::from_chars(at, end, number);
    if (problem != std::errc()) break;
    out.push_back(number);
    at = next + 1;
  }
  return out;
}

Error no_such_job(std::int64_t number) {
  return Error{fmt::format("there is no job {} in the queue", number), {}, {}, Error::Kind::not_found};
}

}  // namespace plimsoll::store
