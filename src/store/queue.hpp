#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "store/claim.hpp"
#include "store/run.hpp"

/// Jobs that wait, run and end, shared by all daemons that use a store, with why each was done what to, and
/// what was learned of commands. What a job asks for is its own text: the store does not read it.
namespace plimsoll::store {

/// waiting ⇄ held; waiting → starting → running → ended. An attempt that was no final end goes back to
/// waiting or held; from ended nothing goes on.
enum class QueueState { waiting, held, starting, running, ended };
[[nodiscard]] std::string_view queue_state_name(QueueState state);  ///< "waiting"
[[nodiscard]] std::optional<QueueState> parse_queue_state(std::string_view name);

struct NewQueueJob {
  std::string user;       ///< 1 to 250 characters
  std::string name = {};  ///< up to 250 characters, as is a pool
  std::string pool = {};
  double priority = 0;
  /// Jobs that must have ended before, up to 10,000. Those of the same submission are -1, -2… in its order,
  /// earlier or later ones, without a circle.
  std::vector<std::int64_t> after = {};
  std::string request = {};      ///< up to 16 MiB
  std::string environment = {};  ///< up to 4 MiB; read by Queue::environment() alone, and kept until it ends
  QueueState state = QueueState::waiting;  ///< or held
};

/// What one client submits at once.
struct QueueSubmission {
  std::span<const NewQueueJob> jobs;
  std::string_view token;
};
using QueueNumbers = std::vector<std::int64_t>;

struct QueueJob {
  std::int64_t number = 0;  ///< 1, 2, 3… in the order of submission
  std::string user = {};
  std::string name = {};
  std::string pool = {};
  double priority = 0;
  Time submitted = 0;  ///< by the store's clock
  std::vector<std::int64_t> after = {};
  std::string request = {};  ///< empty where the search was without
  QueueState state = QueueState::waiting;
  std::int64_t attempt = 0;
  std::string host = {};   ///< of the last attempt
  std::string place = {};  ///< on that host
  std::string run = {};    ///< of the last attempt
  std::string outcome = {};
  std::string reason = {};
  std::string notes = {};  ///< what the queue keeps of it: raised need, counts of moves…
  Time started = 0, ended = 0;
  std::int64_t version = 0;
  friend bool operator==(const QueueJob&, const QueueJob&) = default;
};

/// What is not said stays as it is.
struct QueueChange {
  std::int64_t number = 0;
  std::int64_t version = 0;  ///< that it must have
  std::optional<QueueState> state = {};
  std::optional<std::int64_t> attempt = {};
  std::optional<std::string> host = {};   ///< up to 250 characters, as is a run
  std::optional<std::string> place = {};  ///< up to 64 KiB, as are outcome and reason
  std::optional<std::string> run = {};
  std::optional<std::string> outcome = {};
  std::optional<std::string> reason = {};
  std::optional<std::string> notes = {};  ///< up to 1 MiB
  std::optional<double> priority = {};
  std::optional<Time> started = {};
  std::optional<Time> ended = {};
  std::optional<std::vector<std::int64_t>> after = {};
};

struct QueueDecision {
  std::int64_t id = 0;  ///< given by the store, in the order of commits
  Time at = 0;          ///< 0: now, by the store's clock
  std::int64_t job = 0;
  std::string host = {};      ///< up to 250 characters
  std::string kind = {};      ///< "start", "wait", "move"…: 1 to 250 characters
  std::string reason = {};    ///< up to 64 KiB
  std::string expected = {};  ///< up to 64 KiB
  friend bool operator==(const QueueDecision&, const QueueDecision&) = default;
};

/// All that is said must hold.
struct QueueSearch {
  std::vector<QueueState> states = {};     ///< one of these; empty: any
  std::vector<std::int64_t> numbers = {};  ///< one of these; empty: any
  std::optional<std::string> user = {}, pool = {}, host = {};
  /// Only what has changed since this version, in the order of versions in place of numbers: who goes on from
  /// the last one's version misses nothing, however many change meanwhile.
  std::int64_t newer_than = 0;
  std::size_t limit = 1000;
  std::int64_t above = 0;  ///< only numbers beyond this, for paging
  bool last = false;       ///< the last numbers first, where `limit` cuts; not with newer_than
  bool with_request = true;
};

/// A submission has up to 100,000 jobs and 256 MiB of texts.
inline constexpr std::size_t kMostQueueJobs = 100'000;
inline constexpr std::size_t kMostQueueBytes = std::size_t{256} << 20;
/// The oldest leave.
inline constexpr std::int64_t kMostQueueDecisions = 100'000;
/// Those that were kept longest ago leave.
inline constexpr std::int64_t kMostQueueProfiles = 10'000;

/// The queue of a store. Each call is one transaction, durable as all of a store's. A call that failed as
/// unavailable may have been done: a submission can be repeated with its token, a change finds another
/// version then.
class Queue {
 public:
  virtual ~Queue() = default;

  /// All or nothing; their numbers, in the same order. The same token (1 to 250 characters) again gives the
  /// same numbers and adds nothing: who lost the answer repeats.
  [[nodiscard]] Result<QueueNumbers> submit(std::span<const NewQueueJob> jobs, std::string_view token);
  /// The same for several, in one transaction: a disk that takes milliseconds to flush does so once for all
  /// of them. Each is all or nothing by itself, so that one that is refused is in nobody's way; an error of
  /// the whole is the store's.
  [[nodiscard]] virtual Result<std::vector<Result<QueueNumbers>>> submit_all(
      std::span<const QueueSubmission> submissions) = 0;
  /// In the order of numbers, or of versions where newer_than is given. Fewer than `limit` may come where
  /// requests are long (64 MiB at a time): the end is an empty answer.
  [[nodiscard]] virtual Result<std::vector<QueueJob>> jobs(const QueueSearch& search) = 0;
  /// The largest version so far. Who reads all jobs afterwards, and then what is newer than this, misses
  /// nothing.
  [[nodiscard]] virtual Result<std::int64_t> version() = 0;
  [[nodiscard]] virtual Result<std::string> environment(std::int64_t number) = 0;

  /// All or nothing, with the decisions that say why. False: a job has another version by now, or `held` is
  /// given and is not held any more (by its holder, in its term, not expired by the store's clock); then
  /// nothing is changed. A change of state that cannot be (from ended, from held to running) is an error.
  [[nodiscard]] virtual Result<bool> change(std::span<const QueueChange> changes,
                                            std::span<const QueueDecision> decisions,
                                            const std::optional<Claim>& held = {}) = 0;
  /// In the order of ids; of one job or of all.
  [[nodiscard]] virtual Result<std::vector<QueueDecision>> decisions(std::optional<std::int64_t> job,
                                                                     std::int64_t newer_than_id,
                                                                     std::size_t limit) = 0;

  /// What was learned of commands, by fingerprint (1 to 250 characters): those that are there.
  [[nodiscard]] virtual Result<std::map<std::string, std::string>> profiles(
      std::span<const std::string> fingerprints) = 0;
  /// In place of what was kept before; up to 1 MiB.
  [[nodiscard]] virtual Status keep_profile(std::string_view fingerprint, std::string_view profile) = 0;

 protected:
  Queue() = default;
  Queue(const Queue&) = default;
  Queue& operator=(const Queue&) = default;
};

}  // namespace plimsoll::store
