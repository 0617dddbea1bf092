#include "queue/ledger.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace plimsoll::queue {
namespace {

using store::QueueState;

constexpr std::size_t kAtOnce = 2000;

/// All that has not ended, page by page.
Result<std::vector<store::QueueJob>> all_open(store::Queue& queue, const std::string& pool) {
  std::vector<store::QueueJob> out;
  store::QueueSearch search{
      .states = {QueueState::waiting, QueueState::held, QueueState::starting, QueueState::running},
      .limit = kAtOnce};
  search.pool = pool;
  while (true) {
    auto page = queue.jobs(search);
    PLIMSOLL_TRY(page);
    if (page->empty()) return out;
    search.above = page->back().number;
    std::ranges::move(*page, std::back_inserter(out));
  }
}

struct Loaded {
  std::int64_t version = 0;
  std::vector<store::QueueJob> rows = {};
  std::set<std::int64_t> elsewhere = {};  ///< of other pools, which have not ended, and for which some wait
};

/// Of those for which others wait, the ones of other pools that have not ended.
Result<std::set<std::int64_t>> open_elsewhere(store::Queue& queue, const std::string& pool,
                                              const std::vector<store::QueueJob>& rows,
                                              std::set<std::int64_t> asked) {
  for (const store::QueueJob& row : rows) asked.insert(row.after.begin(), row.after.end());
  std::set<std::int64_t> out;
  if (asked.empty()) return out;
  store::QueueSearch search{
      .states = {QueueState::waiting, QueueState::held, QueueState::starting, QueueState::running},
      .numbers = {asked.begin(), asked.end()},
      .limit = kAtOnce,
      .with_request = false};
  while (true) {
    const auto page = queue.jobs(search);
    PLIMSOLL_TRY(page);
    if (page->empty()) return out;
    search.above = page->back().number;
    for (const store::QueueJob& row : *page)
      if (row.pool != pool) out.insert(row.number);
  }
}

Result<Loaded> load(store::Queue& queue, const std::string& pool) {
  const auto version = queue.version();
  PLIMSOLL_TRY(version);
  auto rows = all_open(queue, pool);
  PLIMSOLL_TRY(rows);
  return Loaded{*version, *std::move(rows)};
}

Result<Loaded> load_newer(store::Queue& queue, const std::string& pool, std::int64_t version) {
  Loaded out{.version = version};
  store::QueueSearch search{.newer_than = version, .limit = kAtOnce};
  search.pool = pool;
  while (true) {
    auto page = queue.jobs(search);
    PLIMSOLL_TRY(page);
    if (page->empty()) return out;
    out.version = search.newer_than = page->back().version;
    std::ranges::move(*page, std::back_inserter(out.rows));
  }
}

}  // namespace

LedgerJob* Ledger::find(std::int64_t number) {
  const auto found = jobs_.find(number);
  return found == jobs_.end() ? nullptr : &found->second;
}

void Ledger::refresh(std::function<void(bool)> then) {
  if (then) after_refresh_.push_back(std::move(then));
  if (refreshing_) return;
  refreshing_ = true;
  errands_.send(kStoreLane, "asking the store for the queue's jobs",
                [this, store = store_, pool = pool_, version = version_, loaded = loaded_ && !is_stale_,
                 elsewhere = elsewhere_]() -> running::Errands::Then {
                  auto found = std::make_shared<Result<Loaded>>(
                      loaded ? load_newer(store->queue(), pool, version) : load(store->queue(), pool));
                  if (*found) {
                    auto open = open_elsewhere(store->queue(), pool, (*found)->rows, elsewhere);
                    if (open)
                      (*found)->elsewhere = *std::move(open);
                    else
                      *found = std::unexpected(open.error());
                  }
                  return [this, found, loaded] {
                    refreshing_ = false;
                    answered_ = found->has_value();
                    bool news = false;
                    if (*found) {
                      news = !loaded || !(*found)->rows.empty() || (*found)->elsewhere != elsewhere_;
                      elsewhere_ = std::move((*found)->elsewhere);
                      if (!loaded) forget_all_but((*found)->rows);
                      loaded_ = true;
                      is_stale_ = is_stale_ && loaded;
                      version_ = (*found)->version;
                      take(std::move((*found)->rows));
                    }
                    for (const auto& one : std::exchange(after_refresh_, {})) one(news);
                  };
                });
}

void Ledger::forget_all_but(const std::vector<store::QueueJob>& rows) {
  std::set<std::int64_t> open;
  for (const store::QueueJob& row : rows) open.insert(row.number);
  std::erase_if(jobs_, [&](const auto& entry) {
    const bool is_over = !entry.second.busy && !open.contains(entry.first);
    if (is_over) count(entry.second, -1);
    return is_over;
  });
}

void Ledger::count(const LedgerJob& job, int sign) {
  Held& held = held_[job.row.user];
  held.jobs += static_cast<std::size_t>(sign);
  held.bytes += static_cast<std::size_t>(sign) * job.row.request.size();
  if (held.jobs == 0) held_.erase(job.row.user);
}

Ledger::Held Ledger::held_by(const std::string& user) const {
  const auto found = held_.find(user);
  return found == held_.end() ? Held() : found->second;
}

void Ledger::take(std::vector<store::QueueJob> rows) {
  for (store::QueueJob& row : rows) {
    const auto known = jobs_.find(row.number);
    if (known != jobs_.end() && (known->second.busy || known->second.row.version >= row.version)) continue;
    if (known != jobs_.end()) count(known->second, -1);
    if (row.state == QueueState::ended) {
      if (known != jobs_.end()) jobs_.erase(known);
      continue;
    }
    LedgerJob job;
    if (known != jobs_.end() && !row.request.empty() && known->second.row.request == row.request) {
      job = std::move(known->second);
    } else {
      const auto document = job::parse_within(row.request, std::size_t{16} << 20, 64);
      auto request =
          document ? read_request(*document) : Result<JobRequest>(std::unexpected(document.error()));
      if (request)
        job.request = *std::move(request);
      else
        job.fault = request.error().text();
      // What one user's command does tells nothing of another's: he may have said so to mislead.
      job.print = row.user + "/" + fingerprint_of(job.request);
    }
    job.notes = read_notes(row.notes).value_or(JobNotes());
    job.belief_key = job.print + notes_text({.need = job.notes.need});
    job.row = std::move(row);
    count(job, 1);
    jobs_.insert_or_assign(job.row.number, std::move(job));
  }
}

void Ledger::change(std::int64_t number, store::QueueChange change, store::QueueDecision decision,
                    const std::optional<store::Claim>& claim, Then then) {
  LedgerJob* const job = find(number);
  if (job == nullptr || job->busy) return then(Done::no);
  job->busy = true;
  change.number = number;
  change.version = job->row.version;
  decision.job = number;
  struct Answer {
    Done done = Done::unknown;
    std::optional<store::QueueJob> row = {};
  };
  errands_.send(kStoreLane, "changing a job of the queue",
                [this, store = store_, change = std::move(change), decision = std::move(decision), claim,
                 number, then = std::move(then)]() -> running::Errands::Then {
                  Answer answer;
                  std::vector<store::QueueDecision> decisions;
                  if (!decision.kind.empty()) decisions.push_back(decision);
                  const auto done = store->queue().change({&change, 1}, decisions, claim);
                  if (done) answer.done = *done ? Done::yes : Done::no;
                  // What it refuses for itself it does not refuse for being away: others' changes are taken.
                  if (!done && done.error().kind == Error::Kind::bad_input) answer.done = Done::no;
                  // What it is now, whoever did it: an answer may have been lost on its way.
                  if (auto rows = store->queue().jobs({.numbers = {number}}); rows && !rows->empty())
                    answer.row = std::move(rows->front());
                  return [this, number, answer = std::move(answer), then] {
                    LedgerJob* const changed = find(number);
                    if (changed != nullptr) changed->busy = false;
                    // What came of it while it was busy was left out: without its row, all is asked for anew.
                    is_stale_ = is_stale_ || !answer.row;
                    if (changed != nullptr && answer.row) take({*answer.row});
                    then(answer.done);
                  };
                });
}

}  // namespace plimsoll::queue
