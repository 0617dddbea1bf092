#include "plan/schedule/planner.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

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
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kMissed = 1e6;        // s that a job that is late or never starts counts for
constexpr double kServiceWaits = 1e3;  // s that each second counts for in which a service is not there

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
  std::optional<std::size_t> all_as = {};  ///< all that may have this have it
  Outcome outcome = {};
  double cost = 0;
};

std::vector<Place> places_of(const Fleet& fleet, const std::vector<std::size_t>& layouts) {
  std::vector<Place> out;
  for (std::size_t gpu = 0; gpu < layouts.size(); ++gpu) {
    const Layout& layout = fleet.layouts[layouts[gpu]];
    const std::string name = fleet.slots.empty() ? fmt::format("{}", gpu) : fleet.slots[gpu].name;
    for (std::size_t part = 0; part < layout.parts.size(); ++part)
      out.push_back({.name = layout.parts.size() == 1 ? name : fmt::format("{}:{}", name, part),
                     .device = gpu,
                     .setup = layout.parts[part].setup,
                     .memory = layout.parts[part].memory,
                     .price = fleet.price / static_cast<double>(layout.parts.size()),
                     .host = fleet.slots.empty() ? 0 : fleet.slots[gpu].host});
  }
  return out;
}

bool is_allowed(const Fleet& fleet, std::size_t gpu, std::size_t layout) {
  if (fleet.slots.empty()) return true;
  return std::ranges::find(fleet.slots[gpu].layouts, layout) != fleet.slots[gpu].layouts.end();
}
bool somewhere_allowed(const Fleet& fleet, std::size_t layout) {
  for (std::size_t gpu = 0; gpu < std::max<std::size_t>(1, fleet.slots.size()); ++gpu)
    if (is_allowed(fleet, gpu, layout)) return true;
  return false;
}
/// Every GPU in this layout, or, where it may not have it, in the first that it may.
Arrangement all_as(const Fleet& fleet, std::size_t layout) {
  Arrangement out{.layouts = std::vector<std::size_t>(fleet.gpus, layout), .all_as = layout};
  for (std::size_t gpu = 0; gpu < fleet.slots.size(); ++gpu)
    if (!is_allowed(fleet, gpu, layout)) out.layouts[gpu] = fleet.slots[gpu].layouts.front();
  return out;
}

std::vector<Arrangement> arrangements_of(const Fleet& fleet, bool many) {
  std::vector<Arrangement> out;
  for (std::size_t i = 0; i < fleet.layouts.size(); ++i) {
    const Layout& layout = fleet.layouts[i];
    const bool is_plain = layout.parts.size() == 1 && fleet.setups[layout.parts.front().setup].cap == 1 &&
                          fleet.setups[layout.parts.front().setup].way != share::Way::mig;
    if ((is_plain || !many) && somewhere_allowed(fleet, i)) out.push_back(all_as(fleet, i));
  }
  if (out.empty()) out.push_back(all_as(fleet, fleet.slots.front().layouts.front()));
  if (many) return out;
  if (fleet.gpus == 2 && fleet.gpus <= kMostMixed)
    for (std::size_t i = 0; i < fleet.layouts.size(); ++i)
      for (std::size_t j = i + 1; j < fleet.layouts.size(); ++j)
        if (is_allowed(fleet, 0, i) && is_allowed(fleet, 1, j)) out.push_back({.layouts = {i, j}});
  return out;
}

/// Which of those that can never start wait for themselves; the others wait for such.
std::vector<bool> in_circles(const std::vector<Job>& jobs, const std::vector<double>& ends) {
  std::vector<bool> out(jobs.size());
  std::vector<std::size_t> waited_for_by(jobs.size()), last;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    out[i] = ends[i] == kNever;
    if (out[i])
      for (const std::size_t before : jobs[i].after) ++waited_for_by[before];
  }
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (out[i] && waited_for_by[i] == 0) last.push_back(i);
  for (std::size_t at = 0; at < last.size(); ++at) {
    out[last[at]] = false;
    for (const std::size_t before : jobs[last[at]].after)
      if (--waited_for_by[before] == 0 && out[before]) last.push_back(before);
  }
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
  const std::vector<double> ends = earliest_ends(jobs);
  const std::vector<bool> circles = in_circles(jobs, ends);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[i];
    const Kind& kind = kinds[job.kind];
    if (kind.memory && *kind.memory > largest)
      complain(job, fmt::format("needs {} where {} is the most", plimsoll::text(*kind.memory),
                                plimsoll::text(largest)));
    if (static_cast<std::size_t>(std::max(1, job.gpus)) > fleet.gpus)
      complain(job, fmt::format("wants {} GPUs of {}", job.gpus, fleet.gpus));
    const double alone = job.startup + job.seconds;
    if (ends[i] == kNever)
      complain(job,
               circles[i] ? "waits for itself, by way of `after`" : "waits for one that waits for itself");
    else if (job.deadline && job.arrival + alone > *job.deadline)
      complain(job, fmt::format("cannot end by {:g} s: alone it takes {:g} s from {:g} s on", *job.deadline,
                                alone, job.arrival));
    else if (job.deadline && ends[i] > *job.deadline)
      complain(job, fmt::format("cannot end by {:g} s: with those that it waits for it takes until {:g} s",
                                *job.deadline, ends[i]));
  }
  if (wrong.empty()) return {};
  return std::unexpected(Error{"there is no plan: " + wrong, "", "larger or more GPUs, or other limits"});
}

/// Tries policies on one instance, and keeps the best.
class Attempts {
 public:
  /// `beliefs`: what is looked at; `rates`: what is true, and then believed.
  Attempts(const Instance& instance, Rates& beliefs, Rates& rates, const Aim& aim)
      : instance_(instance), beliefs_(beliefs), rates_(rates), aim_(aim) {}

  void attempt_greedily() {
    if (instance_.jobs.size() > kManyJobs)
      return attempt([](const Instance& instance) { return greedy_policy(instance, kGreedOfMany); });
    for (const Greed& greed : kGreeds)
      attempt([&greed](const Instance& instance) { return greedy_policy(instance, greed); });
    attempt(exclusive_policy);
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
    const bool start_up = std::ranges::any_of(instance_.jobs, [](const Job& job) { return job.startup > 0; });
    const std::span<const Company> companies =
        start_up ? std::span<const Company>(kCompanies) : std::span(kCompanies).first(kPlainCompanies);
    for (const auto& first : {order, longest})
      for (const Company& company : companies) climb(first, company, looks / (2 * companies.size()));
  }
  /// Asks for the groups in which the best spends its time, and looks again by what that tells, until nothing
  /// that matters is guessed.
  void confirm(std::size_t looks) {
    if (&beliefs_ == &rates_) return;
    for (int round = 0; round < kMostRounds; ++round) {
      if (!ask_for_groups_of_best()) return;
      const auto again = recipe_(instance_);
      best_ = simulate(instance_, beliefs_, {beliefs_}, *again);
      cost_ = cost_of(best_, aim_);
      if (round + 1 < kMostRounds) attempt_orders(looks / kMostRounds);
    }
  }

  [[nodiscard]] const Outcome& best() const { return best_; }
  [[nodiscard]] double cost() const { return cost_; }

 private:
  using Recipe = std::function<std::unique_ptr<Policy>(const Instance&)>;
  using GroupKey = std::pair<std::size_t, std::vector<std::uint32_t>>;  ///< by setup and kinds
  static constexpr int kMostRounds = 4;
  static constexpr double kMatters = 0.02;  // of the makespan
  /// Who may join others in an order that is searched for.
  struct Company {
    double gain;       ///< of one job alone, that another must add
    std::size_t most;  ///< on one place
  };
  // Those that start up take no SMs: where there are such, more may be on a place.
  static constexpr std::array kCompanies = {Company{0.02, 5}, Company{0.15, 3}, Company{0.3, 2},
                                            Company{-1, 5},   Company{0.02, 9}, Company{-1, 9}};
  static constexpr std::size_t kPlainCompanies = 4;

  /// Whether any of them had been guessed.
  bool ask_for_groups_of_best() {
    std::map<GroupKey, double> spent;
    const auto policy = recipe_(instance_);
    const Truth truth{.rates = beliefs_,
                      .spent = [&](std::span<const std::uint32_t> kinds, std::size_t setup, double seconds) {
                        spent[{setup, {kinds.begin(), kinds.end()}}] += seconds;
                      }};
    const Outcome outcome = simulate(instance_, beliefs_, truth, *policy);
    bool any = false;
    for (const auto& [key, seconds] : spent) {
      const auto& [setup, kinds] = key;
      if (kinds.size() <= 2 || seconds < kMatters * outcome.makespan || !asked_.insert(key).second) continue;
      beliefs_.set(kinds, setup, rates_.of(kinds, setup));
      any = true;
    }
    return any;
  }
  void attempt(Recipe recipe) {
    const auto policy = recipe(instance_);
    Outcome outcome = simulate(instance_, beliefs_, {beliefs_}, *policy);
    const double cost = cost_of(outcome, aim_);
    if (recipe_ && cost >= cost_) return;
    cost_ = cost;
    best_ = std::move(outcome);
    recipe_ = std::move(recipe);
  }
  void climb(std::vector<std::size_t> order, const Company& company, std::size_t looks) {
    double here = look_at(order, company);
    for (std::size_t look = 1; look < looks; ++look) {
      std::vector<std::size_t> other = order;
      const std::size_t a = dice_.below(other.size()), b = dice_.below(other.size());
      if (dice_.below(2) == 0) {
        std::swap(other[a], other[b]);
      } else {
        const std::size_t job = other[a];
        other.erase(other.begin() + static_cast<std::ptrdiff_t>(a));
        other.insert(other.begin() + static_cast<std::ptrdiff_t>(b), job);
      }
      const double cost = look_at(other, company);
      if (cost > here) continue;  // as good is taken, too: it may lead on
      here = cost;
      order = std::move(other);
    }
  }
  double look_at(const std::vector<std::size_t>& order, const Company& company) {
    std::vector<std::size_t> services_first = order;
    std::ranges::stable_partition(
        services_first, [&](std::size_t job) { return instance_.kinds[instance_.jobs[job].kind].serves; });
    const auto policy = ordered_policy(services_first, company.gain, company.most);
    Outcome outcome = simulate(instance_, beliefs_, {beliefs_}, *policy);
    const double cost = cost_of(outcome, aim_);
    if (cost < cost_) {
      cost_ = cost;
      best_ = std::move(outcome);
      recipe_ = [services_first, company](const Instance&) {
        return ordered_policy(services_first, company.gain, company.most);
      };
    }
    return cost;
  }

  const Instance& instance_;
  Rates& beliefs_;
  Rates& rates_;
  const Aim& aim_;
  Outcome best_;
  Recipe recipe_;
  std::set<GroupKey> asked_;
  double cost_ = 0;
  Dice dice_;
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
         kMissed * (static_cast<double>(outcome.unplaced.size()) + outcome.late + outcome.out_of_memory +
                    (outcome.refused ? 1 : 0)) +
         kServiceWaits * outcome.service_waiting;
}

namespace {

/// By which another plan that is proven to be better is found, or that there is none.
void improve_exactly(Plan& plan, Rates& rates, std::span<const double> combined, const Aim& aim) {
  const Exact exact = exact_makespan(plan.instance, rates, combined, plan.outcome.makespan, kExactLooks);
  plan.optimal = exact.proven;
  if (exact.jobs.empty()) return;
  std::vector<Start> starts;
  std::vector<double> times;
  for (std::size_t job = 0; job < exact.jobs.size(); ++job) {
    starts.push_back({job, exact.jobs[job].places});
    times.push_back(exact.jobs[job].start);
  }
  const auto policy = fixed_policy(std::move(starts), std::move(times));
  if (Outcome found = simulate(plan.instance, rates, {rates}, *policy);
      cost_of(found, aim) < cost_of(plan.outcome, aim))
    plan.outcome = std::move(found);
}

Status check_placed(const Plan& plan) {
  constexpr std::size_t kMostNamed = 10;
  const std::vector<std::size_t>& unplaced = plan.outcome.unplaced;
  if (unplaced.empty()) return {};
  std::string names;
  for (std::size_t i = 0; i < std::min(unplaced.size(), kMostNamed); ++i)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", plan.instance.jobs[unplaced[i]].name);
  if (unplaced.size() > kMostNamed) names += fmt::format(" and {} more", unplaced.size() - kMostNamed);
  return std::unexpected(
      Error{"there is no plan: no place keeps what is asked for " + names, "", "more GPUs, or other limits"});
}

/// Services that would miss their limits: alone, or beside what would have to be there.
Status check_allowed(const Plan& plan, const Fleet& fleet, Rates& rates) {
  if (!plan.outcome.refused && plan.outcome.unplaced.empty()) return {};
  std::string alone;
  for (const Job& job : plan.instance.jobs) {
    const std::array kind = {static_cast<std::uint32_t>(job.kind)};
    bool somewhere = !plan.instance.kinds[job.kind].serves;
    for (std::size_t setup = 0; setup < fleet.setups.size() && !somewhere; ++setup)
      somewhere = rates.of(kind, setup).allowed;
    if (!somewhere) alone += fmt::format("{}{}", alone.empty() ? "" : ", ", job.name);
  }
  if (!alone.empty())
    return std::unexpected(
        Error{fmt::format("there is no plan: even with a GPU to itself the limit is missed by {}", alone), "",
              "a larger limit_ms, fewer requests (rate), a smaller share (within), or another device"});
  if (!plan.outcome.refused) return {};
  return std::unexpected(Error{"there is no plan: beside the others a service would miss its limit", "",
                               "more GPUs, a larger limit_ms, or a smaller share (within)"});
}

}  // namespace

Result<Plan> make_plan(std::vector<Kind> kinds, std::vector<Job> jobs, const Fleet& fleet, Rates& rates,
                       const Aim& wanted, const Effort& effort) {
  PLIMSOLL_TRY(check_jobs(kinds, jobs, fleet));
  Plan out{.instance = {.kinds = std::move(kinds),
                        .jobs = std::move(jobs),
                        .setups = fleet.setups,
                        .places = {},
                        .idle_watts = fleet.idle_watts,
                        .shares_bind = effort.shares_bind,
                        .cores = fleet.cores}};
  for (const Slot& slot : fleet.slots) out.instance.hosts = std::max(out.instance.hosts, slot.host + 1);
  Rates pairs = from_pairs(rates, fleet.idle_watts);
  Rates& beliefs = effort.by_pairs ? pairs : rates;
  std::vector<Arrangement> all = arrangements_of(fleet, out.instance.jobs.size() > kManyJobs);
  out.instance.places = places_of(fleet, all.front().layouts);
  const auto in_order = exclusive_policy(out.instance);
  const Aim aim = relative(wanted, simulate(out.instance, beliefs, {beliefs}, *in_order));
  for (Arrangement& arrangement : all) {
    out.instance.places = places_of(fleet, arrangement.layouts);
    Attempts attempts(out.instance, beliefs, rates, aim);
    attempts.attempt_greedily();
    arrangement.outcome = attempts.best();
    arrangement.cost = attempts.cost();
    if (arrangement.all_as)
      out.alternatives.push_back({fleet.layouts[*arrangement.all_as].name, attempts.best()});
  }
  std::ranges::stable_sort(all, {}, &Arrangement::cost);
  Arrangement* best = nullptr;
  for (std::size_t i = 0; i < std::min(kTopLayouts, all.size()); ++i) {
    if (effort.looks == 0 && !effort.by_pairs) break;
    out.instance.places = places_of(fleet, all[i].layouts);
    Attempts attempts(out.instance, beliefs, rates, aim);
    attempts.attempt_greedily();
    attempts.attempt_orders(effort.looks);
    if (best != nullptr && attempts.cost() >= best->cost) continue;
    attempts.confirm(effort.looks);
    all[i].outcome = attempts.best();
    all[i].cost = attempts.cost();
    if (best == nullptr || all[i].cost < best->cost) best = &all[i];
  }
  if (best == nullptr) best = &all.front();
  out.instance.places = places_of(fleet, best->layouts);
  out.outcome = best->outcome;
  for (const std::size_t layout : best->layouts) out.layouts.push_back(fleet.layouts[layout].name);
  const std::vector<double> combined =
      most_combined(out.instance, beliefs, out.instance.kinds.size() > 32 ? 2 : 4);
  out.bound = lower_bound(out.instance, combined);
  if (aim.is_makespan() && effort.looks > 0 && !effort.by_pairs) improve_exactly(out, rates, combined, aim);
  PLIMSOLL_TRY(check_allowed(out, fleet, rates));
  PLIMSOLL_TRY(check_placed(out));
  return out;
}

}  // namespace plimsoll::plan::schedule
