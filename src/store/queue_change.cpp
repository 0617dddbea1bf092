#include <unordered_map>

#include "store/claim_rows.hpp"
#include "store/queue_checks.hpp"
#include "store/queue_rows.hpp"
#include "store/texts.hpp"

namespace plimsoll::store {
namespace {

/// Calls `each` with the column and the value of all that a change says.
template <class Each>
void for_each_said(const QueueChange& change, const Each& each) {
  const auto say = [&](std::string_view column, const auto& value) {
    if (value) each(column, *value);
  };
  if (change.state) each("state", queue_state_name(*change.state));
  say("attempt", change.attempt);
  say("host", change.host);
  say("place", change.place);
  say("run", change.run);
  say("outcome", change.outcome);
  say("reason", change.reason);
  say("notes", change.notes);
  say("priority", change.priority);
  say("started", change.started);
  say("ended", change.ended);
  if (change.after) each("after_jobs", numbers_text(*change.after));
}

Status update_job(Database& database, const QueueChange& change, std::int64_t version) {
  std::string sql = "UPDATE queue_job SET version = ?";
  for_each_said(change,
                [&](std::string_view column, const auto&) { sql += fmt::format(", {} = ?", column); });
  // Few are different: the queue makes the same few moves again and again.
  Query query = database.query_again(sql + " WHERE number = ?");
  query.bind(version);
  for_each_said(change, [&](std::string_view, const auto& value) { query.bind(value); });
  return query.bind(change.number).run();
}

/// What has ended is never started again: what was in its environment, secrets too, is kept no longer.
Status forget_environment(Database& database, const QueueChange& change) {
  if (change.state != QueueState::ended) return {};
  return database.query("UPDATE queue_text SET environment = '' WHERE job = ?").bind(change.number).run();
}

Status insert_decision(Database& database, const QueueDecision& decision, std::int64_t id, Time now) {
  return database
      .query(
          "INSERT INTO queue_decision(id, at, job, host, kind, reason, expected) "
          "VALUES (?, ?, ?, ?, ?, ?, ?)")
      .bind(id)
      .bind(decision.at == 0 ? now : decision.at)
      .bind(decision.job)
      .bind(decision.host)
      .bind(decision.kind)
      .bind(decision.reason)
      .bind(decision.expected)
      .run();
}

struct Standing {
  std::int64_t version = 0;
  std::optional<QueueState> state;
};
using Standings = std::unordered_map<std::int64_t, Standing>;

Result<Standings> read_standings(Query& started) {
  Standings out;
  PLIMSOLL_TRY(for_each_row(started, [&](const Query& row) {
    out.emplace(row.integer(0), Standing{row.integer(1), parse_queue_state(row.text(2))});
  }));
  return out;
}

/// Whether each job is still as its change says; an error where the change could never be.
Result<bool> may_change(std::span<const QueueChange> changes, const Standings& standings,
                        std::int64_t last_number) {
  bool as_said = true;
  for (const QueueChange& change : changes) {
    const auto found = standings.find(change.number);
    if (found == standings.end()) return std::unexpected(no_such_job(change.number));
    for (const std::int64_t before : change.after.value_or(std::vector<std::int64_t>()))
      if (before > last_number) return std::unexpected(no_such_job(before));
    const auto& [version, state] = found->second;
    if (!state) return fail("the store is damaged: job {} has no state", change.number);
    if (version != change.version)
      as_said = false;
    else if (change.state && !may_follow(*state, *change.state))
      return fail("job {} is {}: it cannot be {} next", change.number, queue_state_name(*state),
                  queue_state_name(*change.state));
  }
  return as_said;
}

/// Those of `changes` that must be asked for; a query needs at least one.
std::vector<std::int64_t> numbers_of(std::span<const QueueChange> changes) {
  std::vector<std::int64_t> out;
  out.reserve(changes.size());
  for (const QueueChange& change : changes) out.push_back(change.number);
  return out;
}

Status keep_decisions(Database& database, std::span<const QueueDecision> decisions, QueueCounter& counter) {
  if (decisions.empty()) return {};
  const Result<Time> now = database.clock();
  if (!now) return std::unexpected(now.error());
  for (const QueueDecision& decision : decisions)
    PLIMSOLL_TRY(insert_decision(database, decision, ++counter.decision, *now));
  return database.query("DELETE FROM queue_decision WHERE id <= ?")
      .bind(counter.decision - kMostQueueDecisions)
      .run();
}

}  // namespace

Result<bool> change_jobs(Database& database, std::span<const QueueChange> changes,
                         std::span<const QueueDecision> decisions, const std::optional<Claim>& held) {
  Query counter_row = start_counter(database);
  Query rows = query_of(database, "SELECT number, version, state FROM queue_job WHERE number = ?",
                        numbers_of(changes));
  PLIMSOLL_TRY(rows.start());
  const Result<QueueCounter> before = read_counter(counter_row);
  if (!before) return std::unexpected(before.error());
  const Result<Standings> standings = read_standings(rows);
  if (!standings) return std::unexpected(standings.error());
  const Result<bool> may = may_change(changes, *standings, before->number);
  if (!may || !*may) return may;
  if (held) {
    const Result<bool> still = still_held(database, *held);
    if (!still || !*still) return still;
  }
  // From here on nothing says no: what is written is committed.
  QueueCounter after = *before;
  for (const QueueChange& change : changes) {
    PLIMSOLL_TRY(update_job(database, change, ++after.version));
    PLIMSOLL_TRY(forget_environment(database, change));
  }
  PLIMSOLL_TRY(keep_decisions(database, decisions, after));
  if (!changes.empty() || !decisions.empty()) PLIMSOLL_TRY(save_counter(database, *before, after));
  return true;
}

}  // namespace plimsoll::store
