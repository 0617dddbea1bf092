// What Plimsoll does: of all jobs that wait and all places that changed, the one that adds most to what its
// place does together, as predicted. Jobs of a kind are alike, and so are places on which the same kinds run:
// kinds and such groups of places are weighed, not jobs and places, so that time grows with the number of
// jobs alone. Who starts up computes later: it is weighed beside those who will be there then, so that it is
// ready when they end. Places that somebody leaves so soon are weighed one by one.
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/largest_first.hpp"
#include "plan/schedule/ahead.hpp"
#include "plan/schedule/policies/policies.hpp"
#include "plan/schedule/policies/queue.hpp"

namespace plimsoll::plan::schedule {
namespace {

class Greedy final : public Policy {
 public:
  Greedy(const Instance& instance, const Greed& greed)
      : greed_(greed), by_kind_(instance.kinds.size()), is_fresh_(instance.kinds.size(), false) {
    for (const Job& job : instance.jobs) {
      longest_ = std::max(longest_, job.seconds);
      longest_startup_ = std::max(longest_startup_, job.startup);
      tells_jobs_apart_ = tells_jobs_apart_ || !job.apart.empty() || job.user != instance.jobs.front().user;
    }
    group_of_.assign(instance.places.size(), kNoGroup);
  }

  void arrive(const View& view, std::size_t job) override {
    const Job& of = view.instance.jobs[job];
    const double length = greed_.long_first >= 0 ? -of.seconds : of.seconds;
    (of.gpus > 1 ? several_ : by_kind_[of.kind]).insert({-rank_of(view.instance, job), length, job});
    if (of.gpus > 1) return;
    if (by_kind_[of.kind].size() == 1) waiting_kinds_.insert(of.kind);
    if (!is_fresh_[of.kind]) {
      is_fresh_[of.kind] = true;
      fresh_.push_back(of.kind);
    }
  }
  void failed(const View& view, std::size_t job) override {
    several_.insert({-rank_of(view.instance, job), 0, job});
  }

  std::optional<Start> next(const View& view) override {
    take_changes(view);
    if (auto start = start_several(view)) return start;
    if (holds_back_ && !keeps_idle(view)) {  // nobody waits for them any more
      holds_back_ = false;
      for (const std::size_t place : std::vector(idle_.begin(), idle_.end())) offer(view, place);
    }
    while (true) {
      if (auto start = start_one(view)) return start;
      if (!look_for_fresh(view)) break;
    }
    taken_ = 0;
    look_at_ = next_look(view);
    return std::nullopt;
  }
  [[nodiscard]] std::optional<double> look_again(double now) const override {
    return look_at_ && *look_at_ > now ? look_at_ : std::nullopt;
  }

 private:
  using Line = std::set<std::tuple<double, double, std::size_t>>;  ///< the first is the next
  /// Places on which the same is.
  struct Group {
    std::set<std::size_t> places = {};
    std::vector<double> gains = {};  ///< by kind, as far as they were asked for: not a number
    bool is_open = false;
  };
  struct Open {
    double score;
    std::size_t place;  ///< the first, of those alike
    std::size_t group;
    bool operator<(const Open& other) const {
      return score != other.score ? score < other.score : place > other.place;
    }
  };
  struct Best {
    double score = 0;
    std::size_t job = 0;
  };

  void take_changes(const View& view) {
    if (taken_ > view.changed.size()) taken_ = 0;
    for (const std::size_t place : std::exchange(started_on_, {})) offer(view, place);
    if (taken_ == 0 && view.changed.size() == view.places.size()) {  // every place is looked at anyway
      for (const std::size_t kind : fresh_) is_fresh_[kind] = false;
      fresh_.clear();
    }
    for (; taken_ < view.changed.size(); ++taken_) offer(view, view.changed[taken_]);
    if (view.now == offered_at_ || longest_startup_ <= 0 || waiting_kinds_.empty()) return;
    offered_at_ = view.now;
    for (std::size_t place = 0; place < view.places.size(); ++place)
      if (is_left_soon(view, place)) offer(view, place);
  }
  /// Whether somebody leaves it before all who wait would compute there.
  [[nodiscard]] bool is_left_soon(const View& view, std::size_t place) const {
    return longest_startup_ > 0 && first_to_end(view, place) <= longest_startup_;
  }
  /// s from now.
  [[nodiscard]] static double first_to_end(const View& view, std::size_t place) {
    const std::vector<double> left =
        seconds_left(view.instance, view.instance.places[place], view.places[place], view.now, view.beliefs);
    return left.empty() ? std::numeric_limits<double>::infinity() : std::ranges::min(left);
  }
  /// When a place will be left soon; where one is already, in a while.
  [[nodiscard]] std::optional<double> next_look(const View& view) const {
    constexpr double kLook = 1;  // s
    std::optional<double> out;
    if (longest_startup_ <= 0 || waiting_kinds_.empty()) return out;
    for (std::size_t place = 0; place < view.places.size(); ++place) {
      const double end = first_to_end(view, place);
      if (std::isinf(end)) continue;
      const double look = view.now + std::max(kLook, end - longest_startup_);
      if (!out || look < *out) out = look;
    }
    return out;
  }
  void offer(const View& view, std::size_t place) {
    if (view.places[place].running.empty())
      idle_.insert(place);
    else
      idle_.erase(place);
    const std::size_t group = put_into_group(view, place);
    if (groups_[group].is_open) return;
    if (const auto best = best_for(view, place)) open(best->score, group);
  }
  void open(double score, std::size_t group) {
    groups_[group].is_open = true;
    open_.push({score, *groups_[group].places.begin(), group});
  }
  std::size_t put_into_group(const View& view, std::size_t index) {
    const PlaceState& state = view.places[index];
    const Place& place = view.instance.places[index];
    const bool spans = std::ranges::any_of(
        state.running, [&](const Running& running) { return view.instance.jobs[running.job].gpus > 1; });
    const auto bytes = static_cast<std::uint64_t>(place.memory.count());
    std::vector<std::uint32_t> key = {
        static_cast<std::uint32_t>(place.setup), static_cast<std::uint32_t>(bytes >> 32U),
        static_cast<std::uint32_t>(bytes), (spans ? 2U : 0U) + (state.closed ? 1U : 0U),
        tells_jobs_apart_ || is_left_soon(view, index) ? static_cast<std::uint32_t>(index + 1) : 0U};
    key.insert(key.end(), state.kinds.begin(), state.kinds.end());
    const auto [found, is_new] = by_key_.emplace(std::move(key), groups_.size());
    if (is_new) {
      groups_.emplace_back();
      groups_.back().gains.assign(by_kind_.size(), std::nan(""));
    }
    std::size_t& group = group_of_[index];
    if (group == found->second) return group;
    if (group != kNoGroup) groups_[group].places.erase(index);
    group = found->second;
    groups_[group].places.insert(index);
    return group;
  }

  /// Those that want several GPUs, or one for themselves: idle ones are kept for the first of them.
  std::optional<Start> start_several(const View& view) {
    if (several_.empty()) return std::nullopt;
    const auto [priority, length, job] = *several_.begin();
    const auto wanted = static_cast<std::size_t>(view.instance.jobs[job].gpus);
    std::vector<std::size_t> places;
    for (const std::size_t place : idle_) {
      if (places.size() == wanted && view.instance.hosts < 2) break;
      if (may_join(view.instance, view.instance.places[place], view.places[place], job))
        places.push_back(place);
    }
    places = of_one_host(view.instance, std::move(places), wanted);
    if (places.size() < wanted) return std::nullopt;
    several_.erase(several_.begin());
    for (const std::size_t place : places) idle_.erase(place);
    started_on_ = places;
    return Start{job, std::move(places)};
  }

  std::optional<Start> start_one(const View& view) {
    while (!open_.empty()) {
      const std::size_t group = open_.top().group;
      open_.pop();
      groups_[group].is_open = false;
      if (groups_[group].places.empty()) continue;
      const std::size_t place = *groups_[group].places.begin();
      const auto best = best_for(view, place);  // others may have taken what was best
      if (!best) continue;
      const bool is_best = open_.empty() || best->score >= open_.top().score;
      open(best->score, group);  // for those alike, and if it is another's turn
      if (!is_best) continue;
      const Job& job = view.instance.jobs[best->job];
      Line& line = by_kind_[job.kind];
      line.erase({-rank_of(view.instance, best->job), greed_.long_first >= 0 ? -job.seconds : job.seconds,
                  best->job});
      if (line.empty()) waiting_kinds_.erase(job.kind);
      idle_.erase(place);
      started_on_ = {place};
      return Start{best->job, {place}};
    }
    return std::nullopt;
  }

  /// Kinds of which some came: the place that gains most by one. Those that changed are open anyway.
  bool look_for_fresh(const View& view) {
    while (!fresh_.empty()) {
      const std::size_t kind = fresh_.back();
      std::optional<Open> found;
      if (!by_kind_[kind].empty())
        for (std::size_t group = 0; group < groups_.size(); ++group) {
          if (groups_[group].places.empty()) continue;
          const std::size_t place = *groups_[group].places.begin();
          const auto best = score_of(view, place, kind);
          if (best && (!found || Open{found->score, found->place, 0} < Open{best->score, place, 0}))
            found = Open{best->score, place, group};
        }
      if (found) {
        open(found->score, found->group);
        return true;
      }
      is_fresh_[kind] = false;
      fresh_.pop_back();
    }
    return false;
  }

  /// For one that wants several GPUs, and waits for them.
  [[nodiscard]] bool keeps_idle(const View& view) const {
    if (several_.empty()) return false;
    const std::size_t first = std::get<2>(*several_.begin());
    return idle_.size() <= static_cast<std::size_t>(view.instance.jobs[first].gpus);
  }

  /// Asks for all that best_for will look at.
  void prepare(const View& view, std::size_t index) const {
    const PlaceState& state = view.places[index];
    const Place& place = view.instance.places[index];
    std::set<std::vector<std::uint32_t>> groups;
    for (const std::size_t kind : waiting_kinds_) {
      const std::size_t first = std::get<2>(*by_kind_[kind].begin());
      if (!may_join(view.instance, place, state, first)) continue;
      const std::vector<std::uint32_t> beside =
          kinds_ahead(view.instance, place, state, view.now, view.instance.jobs[first].startup, view.beliefs);
      if (beside.size() >= greed_.most) continue;
      if (const double* kept = kept_gain(view, index, beside.size(), kind); kept && !std::isnan(*kept))
        continue;
      groups.insert(with_kind(beside, static_cast<std::uint32_t>(kind)));
      if (!beside.empty()) groups.insert(beside);
    }
    view.beliefs.prepare(groups, place.setup);
  }
  [[nodiscard]] std::optional<Best> best_for(const View& view, std::size_t place) const {
    if (view.beliefs.asks_at_once()) prepare(view, place);
    std::optional<Best> out;
    for (const std::size_t kind : waiting_kinds_)
      if (const auto best = score_of(view, place, kind); best && (!out || best->score > out->score))
        out = best;
    return out;
  }

  /// Of the first of a kind that may go there.
  [[nodiscard]] std::optional<Best> score_of(const View& view, std::size_t index, std::size_t kind) const {
    constexpr int kLooked = 4;
    const PlaceState& state = view.places[index];
    if (state.running.empty() && keeps_idle(view)) {
      holds_back_ = true;
      return std::nullopt;
    }
    int looked = 0;
    for (const auto& [priority, length, job] : by_kind_[kind]) {
      if (++looked > kLooked) break;
      const double startup = view.instance.jobs[job].startup;
      std::vector<std::uint32_t> ahead;
      if (startup > 0)
        ahead =
            kinds_ahead(view.instance, view.instance.places[index], state, view.now, startup, view.beliefs);
      const std::vector<std::uint32_t>& beside = startup > 0 ? ahead : state.kinds;
      if (beside.size() >= greed_.most) return std::nullopt;
      const double gain = gain_in_group(view, index, beside, kind, job);
      if (gain == kMayNot) {
        if (!tells_jobs_apart_) return std::nullopt;
        continue;
      }
      if (gain == kNotAllowed || (!beside.empty() && gain < greed_.least_gain)) return std::nullopt;
      const double part = longest_ > 0 ? view.instance.jobs[job].seconds / longest_ : 0;
      return Best{gain + greed_.long_first * part + kPriority * -priority, job};
    }
    return std::nullopt;
  }
  /// Where what one of a kind adds to those on a place is kept: not a number until it was asked for. nullptr
  /// where it hangs on more than what runs there: on which job it is, or on who is gone before it computes.
  [[nodiscard]] double* kept_gain(const View& view, std::size_t index, std::size_t beside,
                                  std::size_t kind) const {
    const bool is_alike =
        group_of_[index] != kNoGroup && !tells_jobs_apart_ && beside == view.places[index].kinds.size();
    return is_alike ? &groups_[group_of_[index]].gains[kind] : nullptr;
  }
  /// What one of a kind adds, or that it may not be there, or that those together are not allowed. Asked for
  /// once of places alike, unless some jobs of a kind may be there and others not.
  [[nodiscard]] double gain_in_group(const View& view, std::size_t index,
                                     std::span<const std::uint32_t> beside, std::size_t kind,
                                     std::size_t job) const {
    double* const kept = kept_gain(view, index, beside.size(), kind);
    if (kept != nullptr && !std::isnan(*kept)) return *kept;
    const PlaceState& state = view.places[index];
    const Place& place = view.instance.places[index];
    double out = kMayNot;
    if (may_join(view.instance, place, state, job))
      out = gain_of(beside, place, static_cast<std::uint32_t>(kind), view.beliefs).value_or(kNotAllowed);
    if (kept != nullptr) *kept = out;
    return out;
  }

  static constexpr double kPriority = 100;  // counts for more than any gain
  static constexpr double kMayNot = -2e9, kNotAllowed = -1e9;
  static constexpr std::size_t kNoGroup = static_cast<std::size_t>(-1);

  Greed greed_;
  std::vector<Line> by_kind_;
  std::set<std::size_t> waiting_kinds_;
  Line several_;
  std::set<std::size_t> idle_;
  LargestFirst<Open> open_;
  std::size_t taken_ = 0;                ///< of the view's changed places
  std::vector<std::size_t> started_on_;  ///< places of the last that was started
  mutable bool holds_back_ = false;      ///< a place that is kept for one that wants several
  std::vector<std::size_t> fresh_;
  std::vector<bool> is_fresh_;
  double longest_ = 0, longest_startup_ = 0;  ///< s
  std::optional<double> look_at_;
  double offered_at_ = -1;             ///< s: when places that are left soon were offered last
  bool tells_jobs_apart_ = false;      ///< of a kind: not all may be beside the same
  mutable std::vector<Group> groups_;  ///< their gains are filled when they are asked for
  std::map<std::vector<std::uint32_t>, std::size_t> by_key_;
  std::vector<std::size_t> group_of_;  ///< of a place, as it was when it was last looked at
};

}  // namespace

std::unique_ptr<Policy> greedy_policy(const Instance& instance, const Greed& greed) {
  return std::make_unique<Greedy>(instance, greed);
}

std::unique_ptr<Policy> plimsoll_policy(const Instance& instance) {
  return greedy_policy(instance, {});
}

std::unique_ptr<Policy> queue_policy(const Instance& instance) {
  return greedy_policy(instance, {.least_gain = 0.03, .most = 12, .long_first = 0.05});
}

}  // namespace plimsoll::plan::schedule
