#include "plan/schedule/planner.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/text.hpp"
#include "plan/schedule/exact.hpp"
#include "plan/schedule/policies/policies.hpp"

namespace plimsoll::plan::schedule {
namespace {

constexpr std::size_t kMostOrdered = 64;        // jobs whose order is searched for
constexpr std::size_t kMostMixed = 2;           // GPUs that may be set up differently
constexpr std::size_t kTopLayouts = 2;          // that are searched on
constexpr std::size_t kMostTogether = 5;        // on one place
constexpr std::uint64_t kExactLooks = 300'000;  // a second or so
constexpr std::size_t kManyJobs = 500;          // of which one greedy attempt is made, on whole GPUs
constexpr Greed kGreedOfMany{0.02, 32, 0.3};
constexpr double kMissed = 1e6;  // s that a job that is late or never starts counts for

constexpr std::array kGreeds = {Greed{0.02, 5, 0.3},  Greed{0.02, 5, 1.5}, Greed{0.1, 4, 0.3},
                                Greed{0.1, 3, 1.5},   Greed{0.1, 2, 0.5},  Greed{0.3, 4, 0.5},
                                Greed{0.05, 5, -0.5}, Greed{0.3, 2, -0.5}};

/// Whole numbers that look drawn, the same each time.
class Dice {
 public:
  std::size_t below(std::size_t count) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::size_t>(state_ >> 33U) % count;
  }

 private:
  std::uint64_t state_ = 7;
};

/// GPUs, each with one of the layouts.
struct Arrangement {
  std::vector<std::size_t> layouts;
  Outcome outcome = {};
  double cost = 0;
};

std::vector<Place> places_of(const Fleet& fleet, const std::vector<std::size_t>& layouts) {
  std::vector<Place> out;
  for (std::size_t gpu = 0; gpu < layouts.size(); ++gpu) {
    const Layout& layout = fleet.layouts[layouts[gpu]];
    for (std::size_t part = 0; part < layout.parts.size(); ++part)
      out.push_back(
          {.name = layout.parts.size() == 1 ? fmt::format("{}", gpu) : fmt::format("{}:{}", gpu, part),
           .device = gpu,
           .setup = layout.parts[part].setup,
           .memory = layout.parts[part].memory,
           .price = fleet.price / static_cast<double>(layout.parts.size())});
  }
  return out;
}

std::vector<Arrangement> arrangements_of(const Fleet& fleet, bool many) {
  std::vector<Arrangement> out;
  for (std::size_t i = 0; i < fleet.layouts.size(); ++i) {
    const Layout& layout = fleet.layouts[i];
    const bool is_plain = layout.parts.size() == 1 && fleet.setups[layout.parts.front().setup].cap == 1 &&
                          fleet.setups[layout.parts.front().setup].way != share::Way::mig;
    if (is_plain || !many) out.push_back({.layouts = std::vector<std::size_t>(fleet.gpus, i)});
  }
  if (many) return out;
  if (fleet.gpus == 2 && fleet.gpus <= kMostMixed)
    for (std::size_t i = 0; i < fleet.layouts.size(); ++i)
      for (std::size_t j = i + 1; j < fleet.layouts.size(); ++j) out.push_back({.layouts = {i, j}});
  return out;
}

Status check_jobs(const std::vector<Kind>& kinds, const std::vector<Job>& jobs, const Fleet& fleet) {
  Bytes largest;
  for (const Layout& layout : fleet.layouts)
    for (const Layout::Part& part : layout.parts) largest = std::max(largest, part.memory);
  std::string wrong;
  const auto complain = [&](const Job& job, const std::string& why) {
    wrong += fmt::format("{}{} {}", wrong.empty() ? "" : "; ", job.name, why);
  };
  for (const Job& job : jobs) {
    const Kind& kind = kinds[job.kind];
    if (kind.memory && *kind.memory > largest)
      complain(job, fmt::format("needs {} where {} is the most", plimsoll::text(*kind.memory),
                                plimsoll::text(largest)));
    if (static_cast<std::size_t>(std::max(1, job.gpus)) > fleet.gpus)
      complain(job, fmt::format("wants {} GPUs of {}", job.gpus, fleet.gpus));
    if (job.deadline && job.arrival + job.seconds > *job.deadline)
      complain(job, fmt::format("cannot end by {:g} s: alone it takes {:g} s from {:g} s on", *job.deadline,
                                job.seconds, job.arrival));
  }
  // Whoever is left when all that can go first have gone waits in a circle.
  std::vector<std::size_t> waits(jobs.size()), ready;
  std::vector<std::vector<std::size_t>> followers(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    waits[i] = jobs[i].after.size();
    for (const std::size_t before : jobs[i].after) followers[before].push_back(i);
    if (waits[i] == 0) ready.push_back(i);
  }
  for (std::size_t at = 0; at < ready.size(); ++at)
    for (const std::size_t follower : followers[ready[at]])
      if (--waits[follower] == 0) ready.push_back(follower);
  if (ready.size() < jobs.size())
    for (std::size_t i = 0; i < jobs.size(); ++i)
      if (waits[i] > 0) complain(jobs[i], "waits for itself, by way of `after`");
  if (wrong.empty()) return {};
  return std::unexpected(Error{"there is no plan: " + wrong, "", "larger or more GPUs, or other limits"});
}

/// Tries policies on one instance, and keeps the best.
class Attempts {
 public:
  Attempts(const Instance& instance, Rates& rates, const Aim& aim)
      : instance_(instance), rates_(rates), aim_(aim) {}

  void attempt(std::unique_ptr<Policy> policy) {
    Outcome outcome = simulate(instance_, rates_, {rates_}, *policy);
    const double cost = cost_of(outcome, aim_);
    if (has_best_ && cost >= cost_) return;
    has_best_ = true;
    cost_ = cost;
    best_ = std::move(outcome);
  }
  void attempt_greedily() {
    if (instance_.jobs.size() > kManyJobs) return attempt(greedy_policy(instance_, kGreedOfMany));
    for (const Greed& greed : kGreeds) attempt(greedy_policy(instance_, greed));
    attempt(exclusive_policy(instance_));
  }
  /// From the order of the best so far, jobs moved and changed for each other, as long as it pays.
  void attempt_orders(std::size_t looks) {
    if (instance_.jobs.size() > kMostOrdered || instance_.jobs.size() < 2) return;
    std::vector<std::size_t> order(instance_.jobs.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(
        order, [&](std::size_t a, std::size_t b) { return best_.jobs[a].start < best_.jobs[b].start; });
    std::vector<std::size_t> longest = order;
    std::ranges::stable_sort(longest, std::greater(),
                             [&](std::size_t j) { return instance_.jobs[j].seconds; });
    Dice dice;
    for (const auto& first : {order, longest})
      for (const auto& [gain, most] : {std::pair(0.02, kMostTogether), std::pair(0.15, std::size_t{3}),
                                       std::pair(0.3, std::size_t{2}), std::pair(-1.0, kMostTogether)})
        climb(first, gain, most, looks / 8, dice);
  }

  [[nodiscard]] const Outcome& best() const { return best_; }
  [[nodiscard]] double cost() const { return cost_; }

 private:
  void climb(std::vector<std::size_t> order, double gain, std::size_t most, std::size_t looks, Dice& dice) {
    double here = look_at(order, gain, most);
    for (std::size_t look = 1; look < looks; ++look) {
      std::vector<std::size_t> other = order;
      const std::size_t a = dice.below(other.size()), b = dice.below(other.size());
      if (dice.below(2) == 0) {
        std::swap(other[a], other[b]);
      } else {
        const std::size_t job = other[a];
        other.erase(other.begin() + static_cast<std::ptrdiff_t>(a));
        other.insert(other.begin() + static_cast<std::ptrdiff_t>(b), job);
      }
      const double cost = look_at(other, gain, most);
      if (cost > here) continue;  // as good is taken, too: it may lead on
      here = cost;
      order = std::move(other);
    }
  }
  double look_at(const std::vector<std::size_t>& order, double gain, std::size_t most) {
    const auto policy = ordered_policy(order, gain, most);
    Outcome outcome = simulate(instance_, rates_, {rates_}, *policy);
    const double cost = cost_of(outcome, aim_);
    if (cost < cost_) {
      cost_ = cost;
      best_ = std::move(outcome);
    }
    return cost;
  }

  const Instance& instance_;
  Rates& rates_;
  const Aim& aim_;
  Outcome best_;
  double cost_ = 0;
  bool has_best_ = false;
};

Aim relative(const Aim& aim, const Outcome& reference) {
  const auto over = [](double weight, double value) { return value > 0 ? weight / value : weight; };
  return {over(aim.makespan, reference.makespan), over(aim.completion, reference.mean_completion),
          over(aim.energy, reference.joules), over(aim.money, reference.money)};
}

}  // namespace

double cost_of(const Outcome& outcome, const Aim& aim) {
  return aim.makespan * outcome.makespan + aim.completion * outcome.mean_completion +
         aim.energy * outcome.joules + aim.money * outcome.money +
         kMissed * (static_cast<double>(outcome.unplaced.size()) + outcome.late + outcome.out_of_memory);
}

Result<Plan> make_plan(std::vector<Kind> kinds, std::vector<Job> jobs, const Fleet& fleet, Rates& rates,
                       const Aim& wanted, std::size_t looks, bool shares_bind) {
  PLIMSOLL_TRY(check_jobs(kinds, jobs, fleet));
  Plan out{.instance = {.kinds = std::move(kinds),
                        .jobs = std::move(jobs),
                        .setups = fleet.setups,
                        .places = {},
                        .idle_watts = fleet.idle_watts}};
  out.instance.shares_bind = shares_bind;
  std::vector<Arrangement> all = arrangements_of(fleet, out.instance.jobs.size() > kManyJobs);
  out.instance.places = places_of(fleet, all.front().layouts);
  const auto in_order = exclusive_policy(out.instance);
  const Aim aim = relative(wanted, simulate(out.instance, rates, {rates}, *in_order));
  for (std::size_t i = 0; i < all.size(); ++i) {
    out.instance.places = places_of(fleet, all[i].layouts);
    Attempts attempts(out.instance, rates, aim);
    attempts.attempt_greedily();
    all[i].outcome = attempts.best();
    all[i].cost = attempts.cost();
    if (all[i].layouts.front() == all[i].layouts.back())
      out.alternatives.push_back({fleet.layouts[all[i].layouts.front()].name, attempts.best()});
  }
  std::ranges::stable_sort(all, {}, &Arrangement::cost);
  Arrangement* best = &all.front();
  for (std::size_t i = 0; i < std::min(kTopLayouts, all.size()) && looks > 0; ++i) {
    out.instance.places = places_of(fleet, all[i].layouts);
    Attempts attempts(out.instance, rates, aim);
    attempts.attempt_greedily();
    attempts.attempt_orders(looks);
    all[i].outcome = attempts.best();
    all[i].cost = attempts.cost();
    if (all[i].cost < best->cost) best = &all[i];
  }
  out.instance.places = places_of(fleet, best->layouts);
  out.outcome = best->outcome;
  for (const std::size_t layout : best->layouts) out.layouts.push_back(fleet.layouts[layout].name);
  const std::vector<double> combined =
      most_combined(out.instance, rates, out.instance.kinds.size() > 32 ? 2 : 4);
  out.bound = lower_bound(out.instance, combined);
  if (aim.is_makespan() && looks > 0) {
    const Exact exact = exact_makespan(out.instance, rates, combined, out.outcome.makespan, kExactLooks);
    if (!exact.jobs.empty()) {
      std::vector<Start> starts;
      std::vector<double> times;
      for (std::size_t job = 0; job < exact.jobs.size(); ++job) {
        starts.push_back({job, exact.jobs[job].places});
        times.push_back(exact.jobs[job].start);
      }
      const auto policy = fixed_policy(std::move(starts), std::move(times));
      if (Outcome found = simulate(out.instance, rates, {rates}, *policy);
          cost_of(found, aim) < cost_of(out.outcome, aim))
        out.outcome = std::move(found);
    }
    out.optimal = exact.proven;
  }
  if (!out.outcome.unplaced.empty()) {
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(out.outcome.unplaced.size(), 10); ++i)
      names +=
          fmt::format("{}{}", names.empty() ? "" : ", ", out.instance.jobs[out.outcome.unplaced[i]].name);
    if (out.outcome.unplaced.size() > 10)
      names += fmt::format(" and {} more", out.outcome.unplaced.size() - 10);
    return std::unexpected(Error{"there is no plan: no place keeps what is asked for " + names, "",
                                 "more GPUs, or other limits"});
  }
  return out;
}

}  // namespace plimsoll::plan::schedule
