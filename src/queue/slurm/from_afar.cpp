#include "queue/slurm/from_afar.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "queue/live_attempt.hpp"
#include "queue/next_step.hpp"
#include "queue/request.hpp"
#include "run/supervision.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::queue::slurm {
namespace {

using job::Json;
using store::QueueState;

constexpr std::size_t kMostListed = 10'000;
constexpr std::size_t kMostEnded = 200;
constexpr std::size_t kAtOnce = 2000;
constexpr std::size_t kMostDecisions = 1000;
constexpr int kMostTries = 20;  // of a change that daemons are quicker with

std::vector<std::int64_t> numbers_in(const Json& message) {
  std::vector<std::int64_t> out;
  if (const auto found = message.find("numbers"); found != message.end() && found->is_array())
    for (const Json& item : *found)
      if (const auto number = job::whole_of(item)) out.push_back(*number);
  return out;
}

bool is_theirs(const Afar& afar, const store::QueueJob& row) {
  return row.user == afar.user && row.pool.starts_with(afar.pools);
}

Json row_json(const store::QueueJob& row) {
  Json out{{"number", row.number},
           {"user", row.user},
           {"name", job::text_json(row.name)},
           {"pool", row.pool},
           {"state", store::queue_state_name(row.state)},
           {"priority", row.priority},
           {"submitted", static_cast<double>(row.submitted) * 1e-6},
           {"attempt", row.attempt}};
  if (!row.host.empty()) out["host"] = row.host;
  if (row.started > 0) out["started"] = static_cast<double>(row.started) * 1e-6;
  if (row.ended > 0) out["ended"] = static_cast<double>(row.ended) * 1e-6;
  if (!row.outcome.empty()) out["outcome"] = row.outcome;
  if (!row.after.empty()) out["after"] = row.after;
  if (!row.run.empty()) out["run"] = row.run;
  if (!row.reason.empty()) out["reason"] = job::text_json(row.reason);
  if (row.state == QueueState::starting || row.state == QueueState::running) {
    const AttemptPlace place = read_place(row.place);
    out["places"] = place.devices;
    out["sharing"] = place.sharing;
    out["promised_speed"] = place.speed;
  }
  const Json document = Json::parse(row.request, nullptr, false);
  if (const auto request = read_request(document)) {
    out["command"] = job::texts_json(request->job.command);
    out["directory"] = job::text_json(request->job.directory.string());
  }
  return out;
}

/// All that have not ended, and of the others those that are asked for, or the last.
Result<Json> list(store::Queue& queue, const Afar& afar, const Json& message) {
  const std::vector<std::int64_t> numbers = numbers_in(message);
  const bool all = message.value("all", false);
  Json jobs = Json::array();
  store::QueueSearch search{.numbers = numbers, .user = afar.user, .limit = kAtOnce};
  if (numbers.empty() && !all)
    search.states = {QueueState::waiting, QueueState::held, QueueState::starting, QueueState::running};
  std::vector<Json> ended;
  std::size_t left_out = 0;
  while (true) {
    const auto page = queue.jobs(search);
    PLIMSOLL_TRY(page);
    if (page->empty()) break;
    search.above = page->back().number;
    for (const store::QueueJob& row : *page) {
      if (!is_theirs(afar, row)) continue;
      if (row.state == QueueState::ended)
        ended.push_back(row_json(row));
      else if (jobs.size() < kMostListed)
        jobs.push_back(row_json(row));
      else
        ++left_out;
    }
    if (numbers.empty() && ended.size() > kMostEnded)
      ended.erase(ended.begin(), ended.end() - static_cast<std::ptrdiff_t>(kMostEnded));
  }
  for (Json& one : ended) jobs.push_back(std::move(one));
  return Json{{"type", "jobs"},
              {"queue", {{"gpus", Json::array()}, {"pools", afar.pools}}},
              {"jobs", jobs},
              {"left_out", left_out}};
}

/// What becomes of a job by that word; the reason where nothing does.
Result<store::QueueChange> change_of(const std::string& word, const store::QueueJob& row) {
  const bool goes_on = row.state == QueueState::starting || row.state == QueueState::running;
  store::QueueChange out{.number = row.number, .version = row.version};
  if (word == "cancel" && goes_on) {
    JobNotes notes = read_notes(row.notes).value_or(JobNotes());
    notes.cancelled = true;
    out.notes = notes_text(notes);
  } else if (word == "cancel" && row.state != QueueState::ended) {
    out.state = QueueState::ended;
    out.outcome = "cancelled";
    out.reason = "its user asked for it";
    out.ended = store::now();
  } else if (word == "hold" && row.state == QueueState::waiting) {
    out.state = QueueState::held;
  } else if (word == "release" && row.state == QueueState::held) {
    out.state = QueueState::waiting;
  } else {
    return fail("it is {}", store::queue_state_name(row.state));
  }
  return out;
}

Status change_one(store::Queue& queue, const Afar& afar, const std::string& word, std::int64_t number) {
  for (int attempt = 0; attempt < kMostTries; ++attempt) {
    const auto rows = queue.jobs({.numbers = {number}, .with_request = false});
    PLIMSOLL_TRY(rows);
    if (rows->empty() || !is_theirs(afar, rows->front()))
      return fail("there is no such job of yours on Slurm");
    const auto change = change_of(word, rows->front());
    PLIMSOLL_TRY(change);
    const store::QueueDecision decision{
        .job = number, .kind = word, .reason = fmt::format("user {} asked for it", afar.user)};
    const auto done = queue.change({&*change, 1}, {&decision, 1});
    PLIMSOLL_TRY(done);
    if (*done) return {};
  }
  return fail("it keeps changing; try again");
}

Result<Json> change(store::Queue& queue, const Afar& afar, const std::string& word, const Json& message) {
  Json done = Json::array(), refused = Json::array();
  for (const std::int64_t number : numbers_in(message)) {
    const Status changed = change_one(queue, afar, word, number);
    if (!changed && changed.error().kind == Error::Kind::unavailable) return std::unexpected(changed.error());
    if (changed)
      done.push_back(number);
    else
      refused.push_back({{"number", number}, {"why", changed.error().text()}});
  }
  return Json{{"type", "changed"}, {"numbers", done}, {"refused", refused}};
}

Result<Json> decisions(store::Queue& queue, const Afar& afar, const Json& message) {
  Json out = Json::array();
  for (const std::int64_t number : numbers_in(message)) {
    const auto rows = queue.jobs({.numbers = {number}, .with_request = false});
    PLIMSOLL_TRY(rows);
    if (rows->empty() || !is_theirs(afar, rows->front())) continue;
    const auto found = queue.decisions(number, 0, kMostDecisions);
    PLIMSOLL_TRY(found);
    for (const store::QueueDecision& decision : *found)
      out.push_back({{"at", static_cast<double>(decision.at) * 1e-6},
                     {"job", decision.job},
                     {"host", decision.host},
                     {"kind", decision.kind},
                     {"reason", job::text_json(decision.reason)}});
  }
  return Json{{"type", "decisions"}, {"decisions", out}};
}

}  // namespace

Result<Json> ask_store(store::Queue& queue, const Afar& afar, const Json& message) {
  const std::string type = running::type_of(message);
  if (type == "list") return list(queue, afar, message);
  if (type == "decisions") return decisions(queue, afar, message);
  if (type == "cancel" || type == "hold" || type == "release") return change(queue, afar, type, message);
  return std::unexpected(Error{fmt::format("jobs on Slurm cannot be asked to {} from here", type), "--slurm",
                               "They can be cancelled, held and released."});
}

}  // namespace plimsoll::queue::slurm
