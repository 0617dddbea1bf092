#pragma once
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "queue/activity.hpp"
#include "queue/daemon.hpp"
#include "queue/decide.hpp"
#include "queue/ledger.hpp"
#include "queue/live_attempt.hpp"
#include "queue/mps_keeper.hpp"
#include "queue/submitted.hpp"
#include "queue/talk.hpp"
#include "run/file_lock.hpp"
#include "run/inventory.hpp"

namespace plimsoll::queue {

/// Kinds of jobs and what groups of them do; used in the planning lane alone.
struct PlanningRoom {
  explicit PlanningRoom(Oracle& told_by);
  Oracle& oracle;
  std::vector<std::string> keys = {};  ///< by kind
  std::vector<plan::schedule::Setup> setups;
  plan::schedule::Rates rates;  ///< groups are simulated at once
};
/// Of more jobs than that nothing is foretold.
inline constexpr std::size_t kMostForecast = 3000;
/// Mixed: clients of MPS, and jobs that take turns with them, since a fault has ended them once.
inline constexpr std::size_t kExclusiveSetup = 0, kNaiveSetup = 1, kMpsSetup = 2, kMixedSetup = 3;

/// A GPU, or a slice of one, that the queue may use.
struct QueueGpu {
  running::ChosenDevice device = {};
  std::optional<unsigned> number = {};  ///< of the GPU, or of the one that it is a slice of
  std::string name = {};                ///< "GPU 0"
  std::size_t setup = kExclusiveSetup;
  Bytes total = {};
  Bytes others = {};  ///< what processes hold that are not the queue's
  std::unique_ptr<MpsKeeper> mps = {};
  bool mps_answers = false;
  std::string trouble = {};
  Clock::time_point changed = {};   ///< when somebody last came or went
  Clock::time_point mps_fell = {};  ///< when its MPS daemon was last found to have ended
  bool mps_asked = false;
  bool for_one_process = false;  ///< nobody but MPS's server, or one job, may compute on it
};

/// What a client has submitted, on its way to the store.
struct Arrived {
  std::int64_t client = 0;
  Submitted submitted = {};
};

/// What a client would submit, and asks what would become of it.
struct Tried {
  JobRequest request = {};
  double priority = 0;
  std::string waits = {};  ///< why it would not start, whatever place there is
};

/// Of another machine whose jobs run: its lease as it was last seen, and since when it has been so.
struct OtherHost {
  std::int64_t term = 0;
  store::Time until = 0;
  Seconds since = {};
};

/// The daemon: one loop that owns all of this. What may take long is an errand.
class Daemon {
 public:
  Daemon(const DaemonOptions& options, Oracle& oracle, running::SignalSource signals, Door door);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  [[nodiscard]] Result<int> run();

 private:
  // daemon.cpp: the loop, the store, the lease
  void open();
  void open_machine(std::shared_ptr<nvml::Library> nvml, running::Host host);
  void serve();
  void tend();
  void take_signals();
  void renew_claim();
  void take_claim(const Result<store::ClaimAnswer>& answer, Seconds asked_at);
  void write_leases(Seconds until);
  void refresh();
  void judge_other_hosts();
  [[nodiscard]] bool is_elsewhere(const LedgerJob& job) const;
  void judge(const std::string& host, const std::optional<store::Claim>& claim, Seconds asked_at);
  void take_over(const std::string& host, const store::Claim& claim, bool cancelled);
  [[nodiscard]] store::ClaimWish claim_wish(const std::string& host) const;
  [[nodiscard]] bool may_act() const;
  [[nodiscard]] bool is_idle();
  void say(const std::string& line) const;
  void look_at_machine();

  // daemon_planning.cpp: what is believed, what starts
  void find_beliefs();
  void plan();
  void take_answer(const Answer& answer);
  [[nodiscard]] double usual_startup() const;
  [[nodiscard]] std::optional<double> speed_lately(const LedgerJob& job, const LiveAttempt& attempt,
                                                   double seconds) const;
  [[nodiscard]] Question question_now();
  [[nodiscard]] std::size_t setup_now(const QueueGpu& gpu);
  [[nodiscard]] bool runs_alone(const LedgerJob& job) const;
  [[nodiscard]] std::string not_ready(const LedgerJob& job) const;
  [[nodiscard]] std::size_t kind_of(const Belief& belief);
  [[nodiscard]] std::vector<std::string> keys_of_kinds() const;
  [[nodiscard]] double rank_of(const LedgerJob& job) const;
  void find_starving(Question& question);
  void with_forecast(std::function<void()> then);

  // daemon_allocation.cpp: inside an allocation of somebody else's
  [[nodiscard]] bool take_lent_signal(int signal);
  void end_jobs_inside();
  [[nodiscard]] std::string no_time_for(const LedgerJob& job, const Belief& belief) const;
  [[nodiscard]] std::set<std::int64_t> waiting_for_an_allocation() const;
  [[nodiscard]] bool is_mine(const LedgerJob& job) const;
  [[nodiscard]] Inside inside_now();
  void attend();
  void leave_when_done();
  [[nodiscard]] bool tell_who_is_left();
  [[nodiscard]] bool may_still_start();

  // daemon_attempts.cpp: from a start to an end
  void start(std::int64_t number, const Chosen& chosen);
  void launch(std::int64_t number, const std::string& environment);
  void adopt(LedgerJob& job);
  void look_at(LiveAttempt& attempt);
  void hear(LiveAttempt& attempt);
  void take_message(LiveAttempt& attempt, const job::Json& message);
  void take_facts(std::int64_t number, const running::AttemptFacts& facts, bool is_lost);
  void part_from(LiveAttempt& attempt);
  void follow_up();
  [[nodiscard]] bool is_ours(const LedgerJob& job, const LiveAttempt& attempt) const;
  [[nodiscard]] bool has_moved_on(const LedgerJob* job, const LiveAttempt& attempt) const;
  [[nodiscard]] uid_t runs_as(const LedgerJob& job) const;
  [[nodiscard]] bool is_own(const std::filesystem::path& folder) const;
  void remove_folder(const std::filesystem::path& folder);
  void forget(std::int64_t number);
  void rest(const std::string& why);
  void note_undone(Ledger::Done done);
  void end_attempt(LiveAttempt& attempt, AttemptEnd end);
  [[nodiscard]] bool is_seen_who_fell(const LiveAttempt& first);
  void judge_fall(LiveAttempt& first);
  void settle_ends();
  void conclude(std::int64_t number);
  void learn(const LedgerJob& job, const LiveAttempt& attempt, bool finished);
  void note_company(const std::vector<std::string>& devices);
  void ask_to_stop(LiveAttempt& attempt);
  [[nodiscard]] QueueGpu* gpu_of(const std::string& uuid);
  [[nodiscard]] std::vector<LiveAttempt*> on(const std::string& uuid);

  // daemon_watching.cpp: promised and measured
  void watch_speeds();
  void begin_move(std::int64_t number, const std::string& reason);
  void proceed_with_moves();
  void tend_mps();

  // daemon_clients.cpp: what is asked
  void take_requests();
  void obey(const Asked& asked);
  void submit(const Asked& asked);
  void keep_submissions();
  void note_arrived(const Arrived& arrived);
  [[nodiscard]] uid_t owner_for(const Asked& asked) const;
  void submit_dry(const Asked& asked);
  void foretell(const Asked& asked, std::vector<Tried> requests, std::map<std::string, Profile> profiles);
  void list(const Asked& asked);
  void tell_jobs(const Asked& asked, const std::vector<std::int64_t>& numbers, bool all);
  void change_jobs(const Asked& asked);
  void once_known(const std::vector<std::int64_t>& numbers, std::function<void()> then);
  void decisions(const Asked& asked);
  [[nodiscard]] job::Json status_json();
  [[nodiscard]] job::Json job_json(LedgerJob& job, uid_t user, bool whole);
  [[nodiscard]] bool may_touch(const LedgerJob& job, uid_t user) const;

  const DaemonOptions& options_;
  running::SignalSource signals_;
  Door door_;
  std::shared_ptr<PlanningRoom> planning_;
  running::Errands errands_;
  std::shared_ptr<nvml::Library> nvml_;
  running::Host host_;
  std::unique_ptr<RecentActivity> activity_;
  std::vector<QueueGpu> gpus_;
  std::unique_ptr<Ledger> ledger_;
  std::map<std::int64_t, LiveAttempt> live_;
  std::map<std::string, Belief> beliefs_;      ///< by fingerprint and raised need
  std::map<std::string, Profile> profiles_;    ///< by fingerprint
  std::map<std::int64_t, std::string> wrong_;  ///< jobs that make no sense, and why
  std::vector<plan::schedule::Kind> kinds_;    ///< as the planning room has their keys
  std::vector<std::optional<Bytes>> seen_;     ///< by kind: the most memory that one was seen to take
  std::map<std::string, std::size_t> kind_by_key_;
  std::map<std::int64_t, std::string> waits_;  ///< why, by number
  std::map<std::int64_t, Expected> expected_;
  Clock::time_point forecast_at_ = {};
  std::int64_t first_number_ = 0;  ///< who is first in line, and since when
  Clock::time_point first_since_ = {};
  std::optional<store::Claim> claim_;
  Clock::time_point renew_at_ = {}, refresh_at_ = {}, look_at_ = {}, judge_at_ = {}, watch_at_ = {},
                    rests_until_ = {};
  Seconds claim_until_ = {};  ///< by the clock that counts while the machine sleeps
  std::string rests_because_ = {};
  std::map<std::int64_t, Clock::time_point> resting_;  ///< jobs whose supervisors refused
  std::list<running::SupervisorClient> parting_;
  std::vector<Arrived> submissions_;              ///< that have come while the store was busy with others
  std::map<std::string, Ledger::Held> arriving_;  ///< by user: what of them is not kept yet
  bool submitting_ = false;
  std::map<std::string, OtherHost> other_hosts_;
  Clock::time_point plan_again_ = {};
  Clock::time_point idle_since_ = {};
  bool opened_ = false, dirty_ = true, planning_now_ = false, believing_ = false, forecasting_ = false;
  std::vector<std::function<void()>> after_forecast_;
  bool stopping_ = false, ending_all_ = false, time_is_up_ = false, renewing_ = false, looking_ = false,
       judging_ = false;
  bool leased_ = false;
  // Of the allocation:
  std::optional<Clock::time_point> time_ends_, wants_since_;
  std::optional<Seconds> whole_time_;
  std::optional<Inside> told_;                     ///< what the scheduler was told last
  std::optional<std::set<std::int64_t>> leaving_;  ///< who waited when it was about to end
  std::set<std::int64_t> left_waiting_;            ///< whose reason has been kept
  Clock::time_point attend_at_ = {}, ask_at_ = {};
  bool attending_ = false, looking_again_ = false, looked_again_ = false, has_started_any_ = false,
       cancelled_from_outside_ = false;
  std::optional<Error> failure_;
  int exit_code_ = 0;
};

}  // namespace plimsoll::queue
