#pragma once
#include <span>
#include <string_view>

#include "store/queue.hpp"

/// What a queue takes: all sizes are bounded, before anything is sent to a database.
namespace plimsoll::store {

[[nodiscard]] Status check_submission(std::span<const NewQueueJob> jobs, std::string_view token);
[[nodiscard]] Status check_changes(std::span<const QueueChange> changes,
                                   std::span<const QueueDecision> decisions);
[[nodiscard]] Status check_fingerprint(std::string_view fingerprint);
[[nodiscard]] Status check_profile(std::string_view fingerprint, std::string_view profile);

/// Whether a job may go from one state to another; it may always stay, but where it has ended.
[[nodiscard]] bool may_follow(QueueState before, QueueState after);

}  // namespace plimsoll::store
