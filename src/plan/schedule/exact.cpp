#include "plan/schedule/exact.hpp"

#include <algorithm>

namespace plimsoll::plan::schedule {
namespace {

constexpr double kEnd = std::numeric_limits<double>::infinity();
constexpr double kAsGood = 1e-9;

class Search {
 public:
  Search(const Instance& instance, Rates& rates, std::span<const double> most_combined, double known,
         std::uint64_t most)
      : instance_(instance), rates_(rates), best_(known), most_(most) {
    for (const Place& place : instance.places) combined_ += most_combined[place.setup];
  }

  Exact run() {
    State state{.now = 0,
                .ended = std::vector<bool>(instance_.jobs.size(), false),
                .started = std::vector<bool>(instance_.jobs.size(), false),
                .places = std::vector<PlaceState>(instance_.places.size()),
                .ran = std::vector<Ran>(instance_.jobs.size())};
    look(state, 0);
    return {best_, looked_ < most_, looked_, std::move(best_ran_)};
  }

 private:
  struct State {
    double now;
    std::vector<bool> ended, started;
    std::vector<PlaceState> places;
    std::vector<Ran> ran;
  };

  /// Jobs before `from` have had their chance at this moment.
  void look(const State& state, std::size_t from) {
    if (++looked_ >= most_) return;
    if (bound(state) >= best_ * (1 - kAsGood)) return;
    for (std::size_t job = from; job < instance_.jobs.size(); ++job) {
      if (!can_start(state, job)) continue;
      for (std::size_t place = 0; place < state.places.size(); ++place) {
        if (is_twin(state, place)) continue;
        const Place& at = instance_.places[place];
        if (!may_join(instance_, at, state.places[place], job)) continue;
        State next = state;
        if (!put(next, job, place)) continue;
        look(next, job + 1);
      }
    }
    let_go_on(state);
  }

  [[nodiscard]] bool can_start(const State& state, std::size_t job) const {
    if (state.started[job] || instance_.jobs[job].arrival > state.now) return false;
    return std::ranges::all_of(instance_.jobs[job].after,
                               [&](std::size_t before) { return state.ended[before]; });
  }
  /// Of several empty places alike the first stands for all.
  [[nodiscard]] bool is_twin(const State& state, std::size_t place) const {
    if (!state.places[place].running.empty()) return false;
    for (std::size_t other = 0; other < place; ++other)
      if (state.places[other].running.empty() &&
          instance_.places[other].setup == instance_.places[place].setup &&
          instance_.places[other].memory == instance_.places[place].memory)
        return true;
    return false;
  }

  bool put(State& state, std::size_t job, std::size_t place) {
    PlaceState& on = state.places[place];
    on.running.push_back({.job = job,
                          .kind = static_cast<std::uint32_t>(instance_.jobs[job].kind),
                          .left = instance_.jobs[job].seconds,
                          .starting = instance_.jobs[job].startup});
    state.started[job] = true;
    state.ran[job].start = state.now;
    state.ran[job].places = {place};
    return settle(on, place);
  }
  bool settle(PlaceState& on, std::size_t place) {
    std::ranges::stable_sort(on.running, {}, &Running::kind);
    on.kinds.clear();
    on.memory = Bytes();
    on.closed = false;
    for (const Running& running : on.running) {
      on.kinds.push_back(running.kind);
      on.memory += instance_.kinds[running.kind].memory.value_or(Bytes());
      on.closed = on.closed || !instance_.kinds[running.kind].memory;
    }
    for (Running& running : on.running) running.speed = 0;
    const std::vector<std::uint32_t> computing = computing_kinds(on);
    if (computing.empty()) return true;
    const GroupRates& rates = rates_.of(computing, instance_.places[place].setup);
    std::size_t member = 0;
    for (Running& running : on.running)
      if (running.starting <= 0) running.speed = std::max(rates.speeds[member++], 1e-6);
    return rates.allowed;
  }

  /// To the next end or arrival.
  void let_go_on(State state) {
    double next = kEnd, arrival = kEnd;
    for (const PlaceState& place : state.places)
      for (const Running& running : place.running)
        next = std::min(next,
                        state.now + (running.starting > 0 ? running.starting : running.left / running.speed));
    for (std::size_t job = 0; job < instance_.jobs.size(); ++job)
      if (!state.started[job] && instance_.jobs[job].arrival > state.now)
        arrival = std::min(arrival, instance_.jobs[job].arrival);
    const double at = std::min(next, arrival);
    if (at == kEnd) {
      if (state.now >= best_ || !std::ranges::all_of(state.ended, std::identity())) return;
      best_ = state.now;
      best_ran_ = std::move(state.ran);
      return;
    }
    const double passed = at - state.now;
    state.now = at;
    for (std::size_t place = 0; place < state.places.size(); ++place) {
      PlaceState& on = state.places[place];
      const double nothing = kAsGood * std::max(1.0, at);
      bool changed = false;
      for (Running& running : on.running) {
        running.left -= passed * running.speed;
        if (running.starting > 0) {
          running.starting -= passed;
          if (running.starting > nothing) continue;
          running.starting = 0;
          changed = true;
        }
        if (running.left <= nothing) {
          state.ended[running.job] = true;
          state.ran[running.job].end = at;
          changed = true;
        }
      }
      if (!changed) continue;
      std::erase_if(on.running, [&](const Running& running) { return state.ended[running.job]; });
      static_cast<void>(settle(on, place));
    }
    look(state, 0);
  }

  [[nodiscard]] double bound(const State& state) const {
    double out = state.now, left = 0;
    for (const PlaceState& place : state.places)
      for (const Running& running : place.running) {
        left += running.left;
        out = std::max(out, state.now + running.starting + running.left);
      }
    for (std::size_t job = 0; job < instance_.jobs.size(); ++job) {
      if (state.started[job]) continue;
      left += instance_.jobs[job].seconds;
      out = std::max(out, std::max(state.now, instance_.jobs[job].arrival) + instance_.jobs[job].startup +
                              instance_.jobs[job].seconds);
    }
    return std::max(out, state.now + left / combined_);
  }

  const Instance& instance_;
  Rates& rates_;
  double combined_ = 0;  ///< of all places, at best
  double best_;
  std::vector<Ran> best_ran_;
  std::uint64_t most_, looked_ = 0;
};

}  // namespace

Exact exact_makespan(const Instance& instance, Rates& rates, std::span<const double> most_combined,
                     double known, std::uint64_t most_looks) {
  const bool small =
      instance.jobs.size() <= kMostExactJobs &&
      std::ranges::none_of(
          instance.cores,
          [&](int cores) { return cores > 0 && static_cast<std::size_t>(cores) < instance.jobs.size(); }) &&
      std::ranges::none_of(instance.jobs, [&](const Job& job) {
        return job.gpus > 1 || job.settling > 0 || instance.kinds[job.kind].serves;
      });
  if (!small) return {.makespan = known};
  return Search(instance, rates, most_combined, known, most_looks).run();
}

}  // namespace plimsoll::plan::schedule
