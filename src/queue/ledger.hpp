#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "queue/next_step.hpp"
#include "queue/request.hpp"
#include "run/errands.hpp"
#include "store/store.hpp"

namespace plimsoll::queue {

/// A job as the store has it, read.
struct LedgerJob {
  store::QueueJob row = {};
  JobRequest request = {};
  JobNotes notes = {};
  std::string fault = {};  ///< why its request cannot be read
  bool busy = false;       ///< a change of it is on its way
  std::string print = {};  ///< its user's, and fingerprint_of() its request
  /// By which what is believed of it is kept: equal for jobs that do the same with the same need.
  std::string belief_key = {};
};

/// The jobs that have not ended, as the store last told. All that is asked of the store is done in a lane
/// beside the loop; what is answered comes back in the loop. A store that is away is asked again.
class Ledger {
 public:
  enum class Done { yes, no, unknown };  ///< no: another was quicker; unknown: the store does not answer
  using Then = std::function<void(Done)>;

  Ledger(std::shared_ptr<store::Store> store, running::Errands& errands, std::string pool)
      : store_(std::move(store)), errands_(errands), pool_(std::move(pool)) {}

  /// Asks for what is new, where that is not under way. `then` is called when the store has answered or
  /// failed, with whether there was any.
  void refresh(std::function<void(bool news)> then);
  [[nodiscard]] bool is_refreshing() const { return refreshing_; }
  /// Whether the store answered the last refresh.
  [[nodiscard]] bool was_answered() const { return answered_; }
  [[nodiscard]] bool is_loaded() const { return loaded_; }

  [[nodiscard]] std::map<std::int64_t, LedgerJob>& jobs() { return jobs_; }
  [[nodiscard]] LedgerJob* find(std::int64_t number);
  /// Whether a job that another waits for has ended: those that are neither here nor in another pool have.
  [[nodiscard]] bool has_ended(std::int64_t number) const {
    return !jobs_.contains(number) && !elsewhere_.contains(number);
  }

  /// What a user has in the queue: open jobs, and the bytes of what they ask for.
  struct Held {
    std::size_t jobs = 0, bytes = 0;
  };
  [[nodiscard]] Held held_by(const std::string& user) const;

  /// Changes one job, with the decision that says why; its version is filled in.
  void change(std::int64_t number, store::QueueChange change, store::QueueDecision decision,
              const std::optional<store::Claim>& claim, Then then);
  /// Anything else that is asked of the store.
  [[nodiscard]] const std::shared_ptr<store::Store>& store() const { return store_; }
  [[nodiscard]] running::Errands& errands() { return errands_; }

 private:
  void take(std::vector<store::QueueJob> rows);
  void forget_all_but(const std::vector<store::QueueJob>& rows);
  void count(const LedgerJob& job, int sign);

  std::shared_ptr<store::Store> store_;
  running::Errands& errands_;
  std::string pool_;
  std::map<std::int64_t, LedgerJob> jobs_;
  std::map<std::string, Held> held_;  ///< by user
  std::set<std::int64_t> elsewhere_;  ///< of other pools, which have not ended, and for which some wait
  std::int64_t version_ = 0;
  bool loaded_ = false, refreshing_ = false, is_stale_ = false, answered_ = false;
  std::vector<std::function<void(bool)>> after_refresh_;
};

/// The lane in which all is asked of the store.
inline constexpr std::string_view kStoreLane = "store";
/// But for the lease: behind what takes long, a large submission or another machine's, it would run out, and
/// all jobs would end with it.
inline constexpr std::string_view kLeaseLane = "lease";

}  // namespace plimsoll::queue
