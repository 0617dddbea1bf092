#include "plan/schedule/engine.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/largest_first.hpp"

namespace plimsoll::plan::schedule {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kIdleLooks = 100;  // of a policy, while nothing runs and nobody comes
constexpr double kOver = 1e-9;   // s of work or of a start-up: nothing is left

class Clockwork {
 public:
  Clockwork(const Instance& instance, Rates& beliefs, const Truth& truth, Policy& policy)
      : instance_(instance),
        beliefs_(beliefs),
        truth_(truth),
        policy_(policy),
        states_(instance.places.size()),
        extra_watts_(instance.places.size(), 0),
        errors_(instance.jobs.size(), 0),
        versions_(instance.places.size(), 0),
        activities_(instance.places.size()),
        is_changed_(instance.places.size(), false),
        waits_for_(instance.jobs.size(), 0),
        followers_(instance.jobs.size()),
        places_left_(instance.jobs.size(), 0),
        activity_([this](std::size_t place) { return activity_of(place); }) {
    out_.jobs.resize(instance.jobs.size());
    for (std::size_t place = 0; place < instance.places.size(); ++place) {
      if (instance.places[place].host >= hosts_.size()) hosts_.resize(instance.places[place].host + 1);
      hosts_[instance.places[place].host].places.push_back(place);
    }
    has_come_.resize(instance.jobs.size(), false);
    for (std::size_t i = 0; i < instance.jobs.size(); ++i) {
      waits_for_[i] = instance.jobs[i].after.size();
      for (const std::size_t before : instance.jobs[i].after) followers_[before].push_back(i);
      arrivals_.push_back(i);
      ends_left_ += instance.kinds[instance.jobs[i].kind].serves ? 0 : 1;
    }
    // Services come first of those that come at once.
    std::ranges::stable_sort(arrivals_, [&](std::size_t a, std::size_t b) {
      const Job &one = instance.jobs[a], &two = instance.jobs[b];
      if (one.arrival != two.arrival) return one.arrival < two.arrival;
      return instance.kinds[one.kind].serves && !instance.kinds[two.kind].serves;
    });
    for (std::size_t place = 0; place < states_.size(); ++place) note_changed(place);
  }

  Outcome run() {
    while (true) {
      take_arrivals();
      while (const auto start = policy_.next(view())) begin(*start);
      for (const std::size_t place : changed_) is_changed_[place] = false;
      changed_.clear();
      const double next = std::min({next_arrival(), next_end(), next_look()});
      const bool waits_in_vain =
          next_arrival() == kNever && next_end() == kNever && ++idle_looks_ > kIdleLooks;
      if (ends_left_ == 0 || next == kNever || waits_in_vain) break;
      now_ = next;
      while (!ends_.empty() && ends_.top().at <= now_) end_at(ends_.top());
    }
    conclude();
    return std::move(out_);
  }

 private:
  struct End {
    double at;
    std::size_t place;
    std::uint64_t version;
    bool operator<(const End& other) const { return at > other.at; }  // the queue has the largest on top
  };
  /// A machine whose cores start its jobs.
  struct Host {
    std::vector<std::size_t> places;
    std::size_t processes = 0;
    double pace = 1;  ///< of start-ups: below one where there are more processes than cores
  };
  struct Segment {
    double from;
    View::Activity activity;
  };

  [[nodiscard]] View view() const {
    return {now_, instance_, states_, beliefs_, changed_, activity_, stirred_};
  }
  void note_changed(std::size_t place) {
    if (is_changed_[place]) return;
    is_changed_[place] = true;
    changed_.push_back(place);
  }

  [[nodiscard]] double next_arrival() const {
    return arrived_ < arrivals_.size() ? instance_.jobs[arrivals_[arrived_]].arrival : kNever;
  }
  double next_end() {
    while (!ends_.empty() && ends_.top().version != versions_[ends_.top().place]) ends_.pop();
    return ends_.empty() ? kNever : ends_.top().at;
  }
  [[nodiscard]] double next_look() const {
    const auto again = policy_.look_again(now_);
    return again && *again > now_ ? *again : kNever;
  }

  void take_arrivals() {
    for (; arrived_ < arrivals_.size() && instance_.jobs[arrivals_[arrived_]].arrival <= now_; ++arrived_) {
      const std::size_t job = arrivals_[arrived_];
      has_come_[job] = true;
      if (waits_for_[job] == 0) policy_.arrive(view(), job);
    }
  }

  /// Brings a place to now.
  void advance(std::size_t place) {
    PlaceState& state = states_[place];
    const double passed = now_ - state.at;
    state.at = now_;
    if (passed <= 0) return;
    const double pace = hosts_[instance_.places[place].host].pace;
    double active = 0;
    for (Running& running : state.running) {
      running.starting -= running.starting > 0 ? passed * pace : 0;
      const double done = passed * running.speed;
      running.left -= done;
      errors_[running.job] += done * running.log_error;
      active += instance_.kinds[running.kind].activity * running.speed;
    }
    busy_ += passed * std::min(1.0, active);
    joules_ += passed * extra_watts_[place];
    if (truth_.spent)
      if (const auto kinds = computing_before(state); !kinds.empty())
        truth_.spent(kinds, instance_.places[place].setup, passed);
  }

  /// The kinds of those that computed since the place changed.
  static std::vector<std::uint32_t> computing_before(const PlaceState& state) {
    std::vector<std::uint32_t> out;
    for (const Running& running : state.running)
      if (running.speed > 0) out.push_back(running.kind);
    return out;
  }
  /// After those on a place have changed.
  void settle(std::size_t place) {
    PlaceState& state = states_[place];
    std::ranges::sort(state.running, {}, &Running::kind);
    state.kinds.clear();
    state.memory = Bytes();
    state.closed = false;
    for (const Running& running : state.running) {
      state.kinds.push_back(running.kind);
      const Kind& kind = instance_.kinds[running.kind];
      state.memory += kind.memory.value_or(Bytes());
      state.closed = state.closed || !kind.memory || alone_.contains(running.job);
    }
    note_changed(place);
    set_speeds(place);
  }
  /// After those that compute on a place have changed, or how fast others start up.
  void set_speeds(std::size_t place) {
    PlaceState& state = states_[place];
    ++versions_[place];
    stirred_ = now_;
    double first = kNever;
    View::Activity activity;
    extra_watts_[place] = 0;
    const double pace = hosts_[instance_.places[place].host].pace;
    const auto starts_up = [](const Running& running) { return running.starting > 0; };
    for (Running& running : state.running) {
      if (!starts_up(running)) continue;
      running.speed = 0;
      first = std::min(first, now_ + running.starting / pace);
    }
    const bool all_compute = std::ranges::none_of(state.running, starts_up);
    const std::vector<std::uint32_t> computing =
        all_compute ? std::vector<std::uint32_t>() : computing_kinds(state);
    const std::vector<std::uint32_t>& kinds = all_compute ? state.kinds : computing;
    if (!kinds.empty()) {
      const GroupRates& rates = truth_.rates.of(kinds, instance_.places[place].setup);
      extra_watts_[place] = std::max(0.0, rates.watts - instance_.idle_watts);
      if (!rates.allowed) out_.refused = true;
      std::size_t member = 0;
      for (Running& running : state.running) {
        if (starts_up(running)) continue;
        const Kind& kind = instance_.kinds[running.kind];
        running.speed = std::max(rates.speeds[member], 1e-6);
        running.log_error =
            rates.log_errors.empty() ? std::nan("") : rates.log_errors[member];  // stays, once added
        ++member;
        if (!kind.serves) first = std::min(first, now_ + std::max(0.0, running.left) / running.speed);
        activity.sms += kind.activity * running.speed;
        activity.occupancy += kind.occupancy * kind.activity * running.speed;
        activity.bandwidth += kind.bandwidth * running.speed;
      }
      activity.occupancy /= std::max(activity.sms, 1e-9);
    }
    activity.sms = std::min(1.0, activity.sms);
    activities_[place].push_back({now_, activity});
    while (activities_[place].size() > 2 && activities_[place][1].from < now_ - 2 * kActivityWindow)
      activities_[place].pop_front();
    if (first < kNever) ends_.push({first, place, versions_[place]});
  }

  void begin(const Start& start) {
    const Job& job = instance_.jobs[start.job];
    Ran& ran = out_.jobs[start.job];
    for (const std::size_t place : start.places) advance(place);
    if (!has_memory(start)) {
      ++ran.failures;
      ++out_.out_of_memory;
      alone_.insert(start.job);
      policy_.failed(view(), start.job);
      return;
    }
    ran.start = now_;
    ran.places = start.places;
    places_left_[start.job] = start.places.size();
    ran.first_step = now_ + job.startup;  // unless cores are few
    const double settling =
        job.settling > 0 && !settled_.contains(settled_key(start.places.front(), job.kind)) ? job.settling
                                                                                            : 0;
    if (settling > 0) settling_[start.job] = settling;
    for (const std::size_t place : start.places) {
      states_[place].running.push_back({.job = start.job,
                                        .kind = static_cast<std::uint32_t>(job.kind),
                                        .left = job.seconds,
                                        .starting = job.startup + settling});
      settle(place);
      count_process(place, true);
    }
  }
  /// Of the caches that a kind fills: one for each way of sharing on a machine.
  [[nodiscard]] std::array<std::size_t, 3> settled_key(std::size_t place, std::size_t kind) const {
    return {instance_.places[place].host, instance_.places[place].setup, kind};
  }
  /// Where a host has fewer cores than processes, start-ups take longer.
  void count_process(std::size_t place, bool comes) {
    Host& host = hosts_[instance_.places[place].host];
    host.processes = comes ? host.processes + 1 : host.processes - 1;
    const int cores = instance_.cores_of(instance_.places[place].host);
    if (cores <= 0) return;
    const double pace = std::min(
        1.0, static_cast<double>(cores) / static_cast<double>(std::max<std::size_t>(1, host.processes)));
    if (pace == host.pace) return;
    const auto starts_up = [](const Running& running) { return running.starting > 0; };
    std::vector<std::size_t> slower;
    for (const std::size_t other : host.places)
      if (std::ranges::any_of(states_[other].running, starts_up)) slower.push_back(other);
    for (const std::size_t other : slower) advance(other);
    host.pace = pace;
    for (const std::size_t other : slower) set_speeds(other);
  }
  [[nodiscard]] bool has_memory(const Start& start) const {
    const auto truly = [&](std::size_t kind) {
      return truth_.memory.empty() ? instance_.kinds[kind].memory.value_or(Bytes()) : truth_.memory[kind];
    };
    return std::ranges::all_of(start.places, [&](std::size_t place) {
      Bytes taken = truly(instance_.jobs[start.job].kind);
      for (const Running& running : states_[place].running) taken += truly(running.kind);
      return taken <= instance_.places[place].memory || states_[place].running.empty();
    });
  }

  void end_at(End end) {
    const std::size_t place = end.place;
    ends_.pop();
    if (end.version != versions_[place]) return;
    advance(place);
    PlaceState& state = states_[place];
    const double nothing = kOver * std::max(1.0, now_);
    std::vector<std::size_t> over;
    for (Running& running : state.running) {
      if (running.speed == 0 && running.starting <= nothing) {  // rounding may have left less than nothing
        running.starting = 0;
        const auto settling = settling_.find(running.job);
        out_.jobs[running.job].first_step = now_ - (settling == settling_.end() ? 0 : settling->second);
        settled_.insert(settled_key(place, running.kind));
      }
      if (running.starting <= 0 && !instance_.kinds[running.kind].serves && running.left <= nothing)
        over.push_back(running.job);
    }
    if (over.empty()) return set_speeds(place);  // a start-up has ended: for those that wait nothing changed
    std::erase_if(state.running,
                  [&](const Running& running) { return std::ranges::find(over, running.job) != over.end(); });
    settle(place);
    for (std::size_t gone = 0; gone < over.size(); ++gone) count_process(place, false);
    for (const std::size_t job : over)
      if (--places_left_[job] == 0) finish(job);
  }

  void finish(std::size_t job) {
    Ran& ran = out_.jobs[job];
    ran.end = now_;
    --ends_left_;
    out_.makespan = std::max(out_.makespan, now_);
    const Job& of = instance_.jobs[job];
    const double error = errors_[job] / std::max(of.seconds * of.gpus, 1e-9);
    if (std::isfinite(error)) ran.log_error = error;
    if (of.deadline && now_ > *of.deadline) ++out_.late;
    for (const std::size_t follower : followers_[job])
      if (--waits_for_[follower] == 0 && follower < has_come_.size() && has_come_[follower])
        policy_.arrive(view(), follower);
  }

  [[nodiscard]] View::Activity activity_of(std::size_t place) const {
    View::Activity out;
    double to = now_;
    const double from = std::max(0.0, now_ - kActivityWindow);
    const std::deque<Segment>& segments = activities_[place];
    for (auto segment = segments.rbegin(); segment != segments.rend() && to > from; ++segment) {
      const double part = std::max(0.0, to - std::max(from, segment->from));
      out.sms += part * segment->activity.sms;
      out.occupancy += part * segment->activity.occupancy;
      out.bandwidth += part * segment->activity.bandwidth;
      to = std::min(to, segment->from);
    }
    const double all = std::max(now_ - from, 1e-9);
    return {out.sms / all, out.occupancy / all, out.bandwidth / all};
  }

  void conclude() {
    for (std::size_t place = 0; place < states_.size(); ++place) advance(place);
    std::size_t count = 0, devices = 0;
    for (const Place& place : instance_.places) devices = std::max(devices, place.device + 1);
    for (std::size_t i = 0; i < out_.jobs.size(); ++i) {
      Ran& ran = out_.jobs[i];
      if (ran.places.empty()) {
        out_.unplaced.push_back(i);
        continue;
      }
      if (instance_.kinds[instance_.jobs[i].kind].serves) {
        ran.end = now_;
        out_.service_waiting += ran.start - instance_.jobs[i].arrival;
        continue;
      }
      out_.mean_completion += ran.end - instance_.jobs[i].arrival;
      out_.mean_waiting += ran.start - instance_.jobs[i].arrival;
      ++count;
    }
    if (count > 0) {
      out_.mean_completion /= static_cast<double>(count);
      out_.mean_waiting /= static_cast<double>(count);
    }
    const double all = static_cast<double>(devices) * out_.makespan;
    out_.joules = joules_ + all * instance_.idle_watts;
    out_.active = all > 0 ? busy_ / all : 0;
    for (const Place& place : instance_.places) out_.money += place.price * out_.makespan / 3600;
  }

  const Instance& instance_;
  Rates& beliefs_;
  const Truth& truth_;
  Policy& policy_;
  double now_ = 0, joules_ = 0, busy_ = 0;
  double stirred_ = 0;  ///< when what computes on any place changed last
  std::vector<PlaceState> states_;
  std::vector<double> extra_watts_;  ///< of a place, beyond idle
  std::vector<double> errors_;       ///< of a job: what it did times the error of its speed
  std::vector<Host> hosts_;
  std::vector<std::uint64_t> versions_;
  std::vector<std::deque<Segment>> activities_;
  std::vector<bool> is_changed_;
  std::vector<std::size_t> changed_;
  LargestFirst<End> ends_;
  std::vector<std::size_t> arrivals_;  ///< in their order
  std::size_t arrived_ = 0;
  std::vector<bool> has_come_;
  std::vector<std::size_t> waits_for_;
  std::vector<std::vector<std::size_t>> followers_;
  std::vector<std::size_t> places_left_;
  std::unordered_set<std::size_t> alone_;  ///< that failed once
  std::set<std::array<std::size_t, 3>> settled_;
  std::unordered_map<std::size_t, double> settling_;  ///< s, of the jobs that settle
  std::size_t ends_left_ = 0;
  int idle_looks_ = 0;
  std::function<View::Activity(std::size_t)> activity_;
  Outcome out_;
};

}  // namespace

Outcome simulate(const Instance& instance, Rates& beliefs, const Truth& truth, Policy& policy) {
  return Clockwork(instance, beliefs, truth, policy).run();
}

}  // namespace plimsoll::plan::schedule
