#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/queue.hpp"
#include "store/transactions.hpp"

namespace plimsoll::store {

[[nodiscard]] std::unique_ptr<Queue> make_queue(Transactions transactions);

/// The last that was given of each. Who writes to the queue locks this row first: so numbers have no gaps,
/// and what is committed later has larger versions and ids.
struct QueueCounter {
  std::int64_t number = 0, version = 0, decision = 0;
};
/// Locked to the end of the transaction.
[[nodiscard]] Query start_counter(Database& database);
[[nodiscard]] Result<QueueCounter> read_counter(Query& started);
/// Only over what was read. The lock holds others off anyway; a store whose locks do not (a file on a broken
/// network file system) still gives no number or version twice.
[[nodiscard]] Status save_counter(Database& database, const QueueCounter& before, const QueueCounter& after);

/// Numbers with commas between.
[[nodiscard]] std::string numbers_text(std::span<const std::int64_t> numbers);
[[nodiscard]] std::vector<std::int64_t> numbers_from(std::string_view text);
[[nodiscard]] Error no_such_job(std::int64_t number);

/// Each within a transaction, for what was checked (queue_checks.hpp). `checked`: of each submission whether
/// it is good; the others are answered with what is wrong.
[[nodiscard]] Result<std::vector<Result<QueueNumbers>>> insert_submissions(
    Database& database, std::span<const QueueSubmission> submissions, std::span<const Status> checked);
[[nodiscard]] Result<bool> change_jobs(Database& database, std::span<const QueueChange> changes,
                                       std::span<const QueueDecision> decisions,
                                       const std::optional<Claim>& held);
[[nodiscard]] Result<std::vector<QueueJob>> find_jobs(Database& database, const QueueSearch& search);

}  // namespace plimsoll::store
