#include "store/queue_checks.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/printable.hpp"
#include "store/texts.hpp"

namespace plimsoll::store {
namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::size_t kLongestRequest = 16 * kMiB, kLongestEnvironment = 4 * kMiB, kLongestNotes = kMiB,
                      kLongestProfile = kMiB, kLongestRemark = 64 * kKiB;
constexpr std::size_t kMostBefore = 10'000;

Status check_length(std::string_view what, std::string_view text, std::size_t most) {
  if (text.size() <= most) return {};
  return fail("the {} of a job has {} bytes; {} is the most", what, text.size(), most);
}

Status check_length(std::string_view what, const std::optional<std::string>& text, std::size_t most) {
  return text ? check_length(what, std::string_view(*text), most) : Status();
}

/// May be empty, unlike other names.
Status check_short(std::string_view what, std::string_view text) {
  if (text.empty() || is_name(text, kLongestName)) return {};
  return fail("the {} of a job has {} bytes; {} characters are the most", what, text.size(), kLongestName);
}

Status check_priority(double priority) {
  if (std::isfinite(priority)) return {};
  return fail("a job's priority is a finite number");
}

Status check_count(std::span<const std::int64_t> after) {
  if (after.size() <= kMostBefore) return {};
  return fail("a job comes after {} others; {} is the most", after.size(), kMostBefore);
}

/// Place within its submission of a job that is named -1, -2…
std::size_t place_of(std::int64_t reference) {
  return static_cast<std::size_t>(-(reference + 1));
}

Status check_new_job(const NewQueueJob& job, std::size_t jobs) {
  PLIMSOLL_TRY(check_name("job's user", job.user));
  PLIMSOLL_TRY(check_short("name", job.name));
  PLIMSOLL_TRY(check_short("pool", job.pool));
  PLIMSOLL_TRY(check_priority(job.priority));
  PLIMSOLL_TRY(check_length("request", std::string_view(job.request), kLongestRequest));
  PLIMSOLL_TRY(check_length("environment", std::string_view(job.environment), kLongestEnvironment));
  if (job.state != QueueState::waiting && job.state != QueueState::held)
    return fail("a new job is waiting or held, not {}", queue_state_name(job.state));
  PLIMSOLL_TRY(check_count(job.after));
  for (const std::int64_t before : job.after)
    if (before == 0 || (before < 0 && place_of(before) >= jobs))
      return fail("a job of {} submitted together cannot come after {}: they are -1 to -{}", jobs, before,
                  jobs);
  return {};
}

/// Jobs are taken away when none that they come after is left; what cannot be is in a circle.
Status check_circles(std::span<const NewQueueJob> jobs) {
  std::vector<std::size_t> waits_for(jobs.size(), 0), free;
  std::vector<std::vector<std::size_t>> followers(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    for (const std::int64_t before : jobs[i].after)
      if (before < 0) {
        ++waits_for[i];
        followers[place_of(before)].push_back(i);
      }
    if (waits_for[i] == 0) free.push_back(i);
  }
  std::size_t taken = 0;
  for (; !free.empty(); ++taken) {
    const std::size_t next = free.back();
    free.pop_back();
    for (const std::size_t follower : followers[next])
      if (--waits_for[follower] == 0) free.push_back(follower);
  }
  if (taken == jobs.size()) return {};
  const auto stuck = std::ranges::find_if(waits_for, [](std::size_t count) { return count > 0; });
  return fail("jobs wait for each other in a circle: -{} comes after itself, or after such a one",
              stuck - waits_for.begin() + 1);
}

Status check_change(const QueueChange& change) {
  PLIMSOLL_TRY(check_short("host", change.host.value_or("")));
  PLIMSOLL_TRY(check_short("run", change.run.value_or("")));
  PLIMSOLL_TRY(check_length("place", change.place, kLongestRemark));
  PLIMSOLL_TRY(check_length("outcome", change.outcome, kLongestRemark));
  PLIMSOLL_TRY(check_length("reason", change.reason, kLongestRemark));
  PLIMSOLL_TRY(check_length("notes", change.notes, kLongestNotes));
  PLIMSOLL_TRY(check_priority(change.priority.value_or(0)));
  if (change.after) {
    PLIMSOLL_TRY(check_count(*change.after));
    for (const std::int64_t before : *change.after)
      if (before <= 0 || before == change.number)
        return fail("job {} cannot come after {}", change.number, before);
  }
  return {};
}

Status check_decision(const QueueDecision& decision) {
  PLIMSOLL_TRY(check_name("decision's kind", decision.kind));
  PLIMSOLL_TRY(check_short("decision's host", decision.host));
  PLIMSOLL_TRY(check_length("decision's reason", std::string_view(decision.reason), kLongestRemark));
  return check_length("decision's expectation", std::string_view(decision.expected), kLongestRemark);
}

}  // namespace

Status check_submission(std::span<const NewQueueJob> jobs, std::string_view token) {
  PLIMSOLL_TRY(check_name("submission's token", token));
  if (jobs.empty() || jobs.size() > kMostQueueJobs)
    return fail("a submission has 1 to {} jobs, not {}", kMostQueueJobs, jobs.size());
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (Status good = check_new_job(jobs[i], jobs.size()); !good)
      return std::unexpected(std::move(good).error().within(fmt::format("job {} of the submission", i + 1)));
    bytes +=
        jobs[i].request.size() + jobs[i].environment.size() + jobs[i].after.size() * sizeof(std::int64_t);
  }
  if (bytes > kMostQueueBytes)
    return fail("a submission has {} bytes; {} is the most: submit fewer jobs at a time", bytes,
                kMostQueueBytes);
  return check_circles(jobs);
}

Status check_changes(std::span<const QueueChange> changes, std::span<const QueueDecision> decisions) {
  std::unordered_set<std::int64_t> seen;
  for (const QueueChange& change : changes) {
    if (!seen.insert(change.number).second) return fail("job {} is changed twice at once", change.number);
    PLIMSOLL_TRY(check_change(change));
  }
  for (const QueueDecision& decision : decisions) PLIMSOLL_TRY(check_decision(decision));
  return {};
}

Status check_fingerprint(std::string_view fingerprint) {
  return check_name("profile", fingerprint);
}

Status check_profile(std::string_view fingerprint, std::string_view profile) {
  PLIMSOLL_TRY(check_fingerprint(fingerprint));
  if (profile.size() <= kLongestProfile) return {};
  return fail("the profile {} has {} bytes; {} is the most", quote(fingerprint), profile.size(),
              kLongestProfile);
}

bool may_follow(QueueState before, QueueState after) {
  switch (before) {
    case QueueState::waiting: return after != QueueState::running;
    case QueueState::held: return after != QueueState::starting && after != QueueState::running;
    case QueueState::starting: return true;
    case QueueState::running: return after != QueueState::starting;
    case QueueState::ended: break;
  }
  return false;
}

}  // namespace plimsoll::store
