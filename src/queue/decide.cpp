#include "queue/decide.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "base/text.hpp"
#include "plan/schedule/ahead.hpp"
#include "plan/schedule/engine.hpp"
#include "plan/schedule/policies/policies.hpp"

namespace plimsoll::queue {
namespace {

namespace schedule = plan::schedule;
using schedule::Instance;
using schedule::PlaceState;

/// What is kept beyond what was seen is no reason against a GPU that has what was seen.
std::vector<schedule::Kind> kinds_of(const Question& question) {
  std::vector<schedule::Kind> out = question.kinds;
  Bytes largest;
  for (const PlaceNow& place : question.places) largest = std::max(largest, place.memory);
  for (std::size_t i = 0; i < std::min(out.size(), question.seen.size()); ++i)
    if (question.seen[i] && *question.seen[i] <= largest && out[i].memory)
      out[i].memory = std::min(*out[i].memory, largest);
  return out;
}

/// As the planner sees it: those that run, then those that wait.
Instance instance_of(const Question& question) {
  Instance out{.kinds = kinds_of(question),
               .jobs = {},
               .setups = question.setups,
               .places = {},
               .idle_watts = question.idle_watts};
  for (std::size_t i = 0; i < question.places.size(); ++i)
    out.places.push_back({.name = question.places[i].name,
                          .device = i,
                          .setup = question.places[i].setup,
                          .memory = question.places[i].memory});
  for (const RunningNow& running : question.running) {
    schedule::Job job{
        .name = fmt::format("{}", running.number), .kind = running.kind, .seconds = running.left};
    job.startup = running.startup;
    job.gpus = static_cast<int>(running.places.size());
    job.user = running.user;
    out.jobs.push_back(std::move(job));
  }
  for (const WaitingNow& waiting : question.waiting) {
    schedule::Job job{
        .name = fmt::format("{}", waiting.number), .kind = waiting.kind, .seconds = waiting.seconds};
    job.startup = waiting.startup;
    job.priority = waiting.rank;
    job.deadline = waiting.deadline;
    job.gpus = waiting.gpus;
    job.user = waiting.user;
    job.can_be_interrupted = waiting.may_be_saved;
    out.jobs.push_back(std::move(job));
  }
  return out;
}

void settle(const Instance& instance, PlaceState& state) {
  std::ranges::sort(state.running, {}, &schedule::Running::kind);
  state.kinds.clear();
  state.memory = Bytes();
  for (const schedule::Running& running : state.running) {
    state.kinds.push_back(running.kind);
    const schedule::Kind& kind = instance.kinds[running.kind];
    state.memory += kind.memory.value_or(Bytes());
    state.closed = state.closed || !kind.memory;
  }
}

std::unique_ptr<schedule::Policy> policy_of(const Question& question, const Instance& instance) {
  const schedule::PolicyRow* row =
      schedule::policy_named(question.policy == "plimsoll" ? "queue" : question.policy);
  return row == nullptr ? schedule::queue_policy(instance) : row->make(instance);
}

/// What is on the places now.
std::vector<PlaceState> states_of(const Question& question, const Instance& instance) {
  std::vector<PlaceState> out(question.places.size());
  for (std::size_t place = 0; place < out.size(); ++place) {
    out[place].closed = !question.places[place].closed.empty();
    out[place].at = question.now;
  }
  for (std::size_t i = 0; i < question.running.size(); ++i) {
    const RunningNow& running = question.running[i];
    for (const std::size_t place : running.places) {
      out[place].running.push_back({.job = i,
                                    .kind = static_cast<std::uint32_t>(running.kind),
                                    .left = running.left,
                                    .starting = running.startup,
                                    .seen = running.speed});
      out[place].closed = out[place].closed || running.alone;
    }
  }
  for (PlaceState& state : out) settle(instance, state);
  return out;
}

/// The places that come nearest to taking it, and what is in its way there.
std::string why_not(const Question& question, const Instance& instance, const std::vector<PlaceState>& states,
                    const WaitingNow& waiting, std::size_t job, schedule::Rates& rates) {
  const schedule::Kind& kind = instance.kinds[waiting.kind];
  std::string closed, memory, user, slow;
  std::size_t idle = 0, could = 0;
  Bytes largest;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const PlaceState& state = states[i];
    const PlaceNow& place = question.places[i];
    largest = std::max(largest, place.memory);
    if (kind.memory && *kind.memory > place.memory) continue;
    ++could;
    if (state.running.empty() && place.closed.empty()) ++idle;
    if (!place.closed.empty()) {
      closed = fmt::format("{}: {}", place.name, place.closed);
    } else if (state.closed) {
      closed = fmt::format("on {} runs one that is alone, or of unknown need", place.name);
    } else if (kind.memory && state.memory + *kind.memory > place.memory) {
      memory = fmt::format("{} has {} left, and it needs {}", place.name, text(place.memory - state.memory),
                           text(*kind.memory));
    } else if (!state.running.empty() && !schedule::may_join(instance, instance.places[i], state, job)) {
      user = fmt::format("{} is another user's now, or whole GPUs are wanted", place.name);
    } else if (!state.running.empty()) {
      const auto gain = schedule::gain_of(
          schedule::kinds_ahead(instance, instance.places[i], state, question.now, waiting.startup, rates),
          instance.places[i], static_cast<std::uint32_t>(waiting.kind), rates);
      slow = gain ? fmt::format("beside those on {} it would add {:.2f} of a job's speed", place.name, *gain)
                  : fmt::format("beside it somebody on {} would miss a limit", place.name);
    }
  }
  if (could == 0)
    return fmt::format("no GPU here can hold it: it needs {}, the largest has {}",
                       text(kind.memory.value_or(Bytes())), text(largest));
  if (waiting.gpus > static_cast<int>(could))
    return fmt::format("it wants {} GPUs, and {} could hold it", waiting.gpus, could);
  if (waiting.gpus > 1)
    return fmt::format("it wants {} GPUs for itself, and {} {} idle", waiting.gpus, idle,
                       idle == 1 ? "is" : "are");
  if (!kind.memory) return "nobody knows what memory it takes: it starts on a GPU without others";
  if (waiting.alone) return "it wants a GPU for itself";
  for (const std::string* why : {&slow, &memory, &user, &closed})
    if (!why->empty()) return *why;
  return "others come first";
}

}  // namespace

std::optional<std::size_t> first_in_line(const Question& question) {
  const std::vector<schedule::Kind> kinds = kinds_of(question);
  const auto can_be_held = [&](const WaitingNow& waiting) {
    const auto& memory = kinds[waiting.kind].memory;
    return waiting.gpus <= std::ranges::count_if(question.places, [&](const PlaceNow& place) {
             return memory.value_or(Bytes()) <= place.memory;
           });
  };
  const auto standing = [](const WaitingNow& waiting) {
    const double rank = waiting.rank - (waiting.rank >= kHurrying / 2 ? kHurrying : 0);
    return std::tuple(rank, -waiting.arrival, -waiting.number);
  };
  std::optional<std::size_t> out;
  for (std::size_t i = 0; i < question.waiting.size(); ++i)
    if ((!out || standing(question.waiting[i]) > standing(question.waiting[*out])) &&
        can_be_held(question.waiting[i]))
      out = i;
  return out;
}

namespace {

/// Nobody else comes to the places where it could be, until it is there itself.
void keep_places(Question& question, const WaitingNow& starving) {
  const auto& memory = question.kinds[starving.kind].memory;
  int kept = 0;
  for (std::size_t i = 0; i < question.places.size() && kept < starving.gpus; ++i) {
    PlaceNow& place = question.places[i];
    if (memory && *memory > place.memory) continue;
    ++kept;
    if (place.closed.empty())
      place.closed = fmt::format("it is kept for job {}, which has waited for long", starving.number);
  }
}

/// Beside whom it will compute, as the place is without it, and what all of them will have then.
void tell_company(Chosen& chosen, const Question& question, const Instance& instance, std::size_t place,
                  const PlaceState& state, const WaitingNow& waiting, schedule::Rates& rates) {
  const std::size_t first = question.running.size();
  std::vector<std::uint32_t> kinds;
  std::vector<std::int64_t> numbers;
  for (const std::size_t i :
       schedule::those_ahead(instance, instance.places[place], state, question.now, waiting.startup, rates)) {
    const std::size_t job = state.running[i].job;
    kinds.push_back(state.running[i].kind);
    numbers.push_back(job < first ? question.running[job].number : question.waiting[job - first].number);
  }
  const auto kind = static_cast<std::uint32_t>(waiting.kind);
  const auto at = std::ranges::upper_bound(kinds, kind) - kinds.begin();
  numbers.insert(numbers.begin() + at, waiting.number);
  const schedule::GroupRates& group =
      rates.of(schedule::with_kind(kinds, kind), instance.places[place].setup);
  chosen.combined = group.combined();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double speed = i < group.speeds.size() ? group.speeds[i] : 1;
    if (numbers[i] == chosen.number)
      chosen.speed = speed;
    else
      chosen.others.emplace_back(numbers[i], speed);
  }
}

Answer decide_all(const Question& question, schedule::Rates& rates) {
  const Instance instance = instance_of(question);
  std::vector<PlaceState> states = states_of(question, instance);
  const auto policy = policy_of(question, instance);
  std::vector<std::size_t> changed(states.size());
  for (std::size_t i = 0; i < changed.size(); ++i) changed[i] = i;
  const std::function<schedule::View::Activity(std::size_t)> activity =
      question.activity ? question.activity : [](std::size_t) { return schedule::View::Activity(); };
  const auto view = [&] { return schedule::View{question.now, instance, states, rates, changed, activity}; };
  std::vector<std::size_t> order(question.waiting.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return question.waiting[i].rank; });
  const std::size_t first = question.running.size();
  for (const std::size_t i : order) {
    if (question.waiting[i].alone)
      policy->failed(view(), first + i);
    else
      policy->arrive(view(), first + i);
  }
  Answer out;
  std::vector<bool> started(question.waiting.size(), false);
  while (const auto start = policy->next(view())) {
    const std::size_t index = start->job - first;
    const WaitingNow& waiting = question.waiting[index];
    started[index] = true;
    Chosen chosen{.number = waiting.number, .places = start->places};
    tell_company(chosen, question, instance, start->places.front(), states[start->places.front()], waiting,
                 rates);
    for (const std::size_t place : start->places) {
      PlaceState& state = states[place];
      state.running.push_back({.job = start->job,
                               .kind = static_cast<std::uint32_t>(waiting.kind),
                               .left = waiting.seconds,
                               .starting = waiting.startup});
      state.closed = state.closed || waiting.alone;
      settle(instance, state);
    }
    chosen.reason =
        chosen.others.empty()
            ? std::string("nothing else is there")
            : fmt::format(
                  "beside {} it is expected to have {:.2f} of its speed alone, all together {:.2f}",
                  chosen.others.size() == 1 ? "one other" : fmt::format("{} others", chosen.others.size()),
                  chosen.speed, chosen.combined);
    out.starts.push_back(std::move(chosen));
  }
  constexpr std::size_t kMostReasons = 1000;
  for (std::size_t n = 0; n < order.size(); ++n) {
    const std::size_t i = order[n];
    if (started[i]) continue;
    out.waits.emplace(question.waiting[i].number,
                      n < kMostReasons
                          ? why_not(question, instance, states, question.waiting[i], first + i, rates)
                          : std::string("others come first"));
  }
  return out;
}

}  // namespace

Answer decide(const Question& question, schedule::Rates& rates) {
  if (!question.starving) return decide_all(question, rates);
  const WaitingNow starving = question.waiting[*question.starving];
  Question alone = question;
  alone.waiting = {starving};
  Answer first = decide_all(alone, rates);
  if (!first.starts.empty()) return first;  // the others are asked for when it is there
  Question rest = question;
  keep_places(rest, starving);
  Answer out = decide_all(rest, rates);
  out.waits[starving.number] = first.waits[starving.number];
  return out;
}

namespace {

/// Those that run are where they are; then the policy goes on.
class FromNow final : public schedule::Policy {
 public:
  FromNow(const Question& question, std::unique_ptr<schedule::Policy> then)
      : question_(question), then_(std::move(then)) {}
  void arrive(const schedule::View& view, std::size_t job) override {
    if (job < question_.running.size()) return;
    if (question_.waiting[job - question_.running.size()].alone) return then_->failed(view, job);
    then_->arrive(view, job);
  }
  void failed(const schedule::View& view, std::size_t job) override { then_->failed(view, job); }
  std::optional<schedule::Start> next(const schedule::View& view) override {
    if (begun_ < question_.running.size()) {
      const std::size_t job = begun_++;
      return schedule::Start{job, question_.running[job].places};
    }
    return then_->next(view);
  }
  [[nodiscard]] std::optional<double> look_again(double now) const override { return then_->look_again(now); }

 private:
  const Question& question_;
  std::unique_ptr<schedule::Policy> then_;
  std::size_t begun_ = 0;
};

}  // namespace

std::map<std::int64_t, Expected> forecast(const Question& question, schedule::Rates& rates) {
  const Instance instance = instance_of(question);
  FromNow policy(question, policy_of(question, instance));
  // Whoever asks what is expected holds up nobody: what was not simulated by now is guessed.
  schedule::Rates quick([&](std::span<const std::uint32_t> kinds, std::size_t setup) {
    return schedule::known_or_guessed(kinds, setup, rates, question.idle_watts);
  });
  const schedule::Outcome outcome = schedule::simulate(instance, quick, {quick}, policy);
  const std::size_t first = question.running.size();
  const auto length_is_known = [&](std::size_t i) {
    return i < first ? question.running[i].is_known : question.waiting[i - first].is_known;
  };
  // Who waits longer than the first of unknown length has run may start at any time.
  double guessed_from = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < outcome.jobs.size(); ++i)
    if (!length_is_known(i) && !outcome.jobs[i].places.empty())
      guessed_from = std::min(guessed_from, outcome.jobs[i].start);
  std::map<std::int64_t, Expected> out;
  for (std::size_t i = 0; i < outcome.jobs.size(); ++i) {
    const std::int64_t number = i < first ? question.running[i].number : question.waiting[i - first].number;
    const schedule::Ran& ran = outcome.jobs[i];
    const bool starts = !ran.places.empty() && ran.start <= guessed_from;
    out.emplace(
        number,
        Expected{.start = ran.start, .end = ran.end, .starts = starts, .ends = starts && length_is_known(i)});
  }
  return out;
}

}  // namespace plimsoll::queue
