#include "plan_rates.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include <fmt/ranges.h>

#include "share/mig.hpp"

namespace plimsoll {
namespace {

using plan::schedule::GroupRates;
using plan::schedule::Kind;
using plan::schedule::Rates;
using plan::schedule::Setup;

constexpr double kEnoughToPlan = 0.05;
constexpr std::size_t kRequestsToPlan = 250;
constexpr double kTurnsCost = 0.95;  // of two that keep a GPU busy and take turns, together

/// Means over a step alone.
void add_activity(const share::Workload& workload, Kind& kind) {
  double sms = 0, bandwidth = 0;
  for (const share::Kernel& kernel : workload.kernels) {
    sms += static_cast<double>(kernel.sms) * kernel.seconds;
    bandwidth += static_cast<double>(kernel.bandwidth) * kernel.seconds;
  }
  const double step = std::max(workload.step.value(), 1e-12);
  const double busy = workload.arrivals > 0 ? std::min(1.0, workload.arrivals * step) : 1;
  kind.activity = std::min(1.0, busy * sms / step);
  kind.bandwidth = std::min(1.0, busy * bandwidth / step);
  kind.share = std::clamp(kind.activity, 0.01, 1.0);
}

/// Of the GPU's SMs, that those on a place have together.
double sms_of(const Setup& setup, const hardware::Device& device) {
  if (setup.way != share::Way::mig) return 1;
  const auto slices = share::slices_of(std::span(&setup.profile, 1), device);
  return slices ? slices->front().sms : 1;
}

/// By shares alone: all that keep a place busy together have so much of it each.
GroupRates stated_rates(std::span<const Companion> group, const Setup& setup,
                        const hardware::Device& device) {
  const double sms = sms_of(setup, device);
  double share = 0;
  for (const Companion& one : group) share += one.kind->share;
  const bool turns = setup.way == share::Way::naive && group.size() > 1;
  GroupRates out;
  for (const Companion& one : group) {
    const double own = std::min(1.0, setup.cap / std::max(one.kind->share, 1e-9));
    out.speeds.push_back(std::min(own, (turns && share > 1 ? kTurnsCost : 1) / std::max(1.0, share / sms)));
  }
  const double idle = share::idle_watts(device), most = device.power ? device.power->value : idle;
  out.watts = idle + (most - idle) * std::min(sms, share);
  return out;
}

/// So many that some are beyond that share of them.
std::size_t requests_for(double within) {
  constexpr double kBeyond = 2.5;
  return static_cast<std::size_t>(
      kBeyond / std::max(1 - within, kBeyond / static_cast<double>(share::kSimulatedRequests)));
}

/// What requests take over what they may, of each service among them.
void add_strains(std::span<const Companion> group, const share::Beside& told, GroupRates& out) {
  constexpr double kSaturated = 1e6;
  if (std::ranges::none_of(group, [](const Companion& one) { return one.limit.has_value(); })) return;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto& limit = group[i].limit;
    const auto& latency = told.members[i].latency;
    double strain = 0;
    if (limit && (!latency || latency->saturated))
      strain = kSaturated;
    else if (limit)
      strain = latency->asked.value() / *limit;
    out.allowed = out.allowed && strain <= 1;
    out.strains.push_back(strain);
  }
}

/// A service with the batch that was chosen for it.
struct BatchedService {
  std::int64_t batch = 0;
  double limit = 0;  ///< s, that are left of it once a batch is there
  share::Workload workload = {};
};

/// Of the batches that it may form, the one that keeps a GPU busy least of those that hold its limit: a
/// request waits until the batch is full, and while another runs, and then runs itself. Where none holds it,
/// the smallest.
Result<BatchedService> with_batch(const PlanJobRequest& request, const EstimateTarget& on) {
  constexpr double kKept = 0.9;  // of the limit: a tenth is kept back
  std::optional<BatchedService> best;
  double least = 0;
  for (const std::int64_t batch : request.batches) {
    WorkloadRequest asked = *request.workload;
    asked.setting.batch = batch;
    asked.arrivals = request.workload->arrivals / static_cast<double>(batch);
    auto placed = place_workload(asked, on);
    PLIMSOLL_TRY(placed);
    const double step = placed->step.value(), busy = step / static_cast<double>(batch);
    const double left = *request.limit - static_cast<double>(batch - 1) / request.workload->arrivals;
    const bool holds = 2 * step < kKept * left && asked.arrivals * step < 1;
    if (best && (!holds || busy >= least)) continue;
    // What a smaller one misses a larger one may hold, since it can answer more.
    least = holds ? busy : std::numeric_limits<double>::infinity();
    best = BatchedService{batch, std::max(left, *request.limit * (1 - kKept)), *std::move(placed)};
  }
  return *std::move(best);
}

share::Sharing sharing_of(const Setup& setup, std::size_t count) {
  share::Sharing out{.way = setup.way};
  if (setup.way == share::Way::exclusive) out.way = share::Way::naive;  // one alone
  if (setup.way == share::Way::mps && setup.cap < 1) out.caps.assign(count, setup.cap);
  if (setup.way == share::Way::mig) out.profiles = {setup.profile};
  out.in_one_slice = setup.way == share::Way::mig && setup.clients;
  return out;
}

}  // namespace

bool PlanQuestion::is_slow() const {
  constexpr std::size_t kManyKinds = 8;
  if (shares_bind) return false;
  return kinds.size() >= kManyKinds || std::ranges::any_of(kinds, &Kind::serves);
}

Result<PlanQuestion> plan_question(const std::vector<PlanJobRequest>& requests, const EstimateTarget& on) {
  PlanQuestion out;
  out.shares_bind = true;
  std::map<std::string, std::size_t> known;
  for (const PlanJobRequest& request : requests) {
    std::string key = request.workload_key;
    key += fmt::format("|{}|{}|{}|{}", request.share.value_or(-1), request.need ? request.need->count() : -1,
                       request.limit.value_or(-1), request.within);
    key += fmt::format("|{}", fmt::join(request.batches, ","));
    const auto [found, is_new] = known.emplace(key, out.kinds.size());
    if (is_new) {
      Kind kind{.name = !request.kind_name.empty() ? request.kind_name
                        : request.workload         ? request.workload->name
                                                   : request.job.name,
                .share = request.share.value_or(1),
                .memory = request.need,
                .activity = request.share.value_or(1),
                .serves = request.serves()};
      std::optional<share::Workload> workload;
      std::optional<double> limit = request.limit;
      if (request.workload) {
        Result<share::Workload> placed = share::Workload();
        if (request.batches.empty()) {
          placed = place_workload(*request.workload, on);
        } else {
          auto chosen = with_batch(request, on);
          PLIMSOLL_TRY(chosen);
          kind.batch = chosen->batch;
          limit = chosen->limit;
          placed = std::move(chosen->workload);
        }
        PLIMSOLL_TRY(placed);
        add_activity(*placed, kind);
        if (const auto& alone = request.workload->alone) {
          kind.activity = alone->sms.value_or(kind.activity);
          kind.occupancy = alone->occupancy.value_or(kind.occupancy);
          kind.bandwidth = alone->bandwidth.value_or(kind.bandwidth);
        }
        if (!kind.memory) kind.memory = placed->memory_high;
        kind.watts = placed->watts;
        workload = *std::move(placed);
        out.shares_bind = false;
      }
      out.kinds.push_back(std::move(kind));
      out.workloads.push_back(std::move(workload));
      out.limits.push_back(limit);
      out.within.push_back(request.within);
    }
    plan::schedule::Job job = request.job;
    job.startup = request.startup.value_or(0);
    job.kind = found->second;
    if (request.steps && out.workloads[job.kind])
      job.seconds = *request.steps * out.workloads[job.kind]->step.value();
    out.jobs.push_back(std::move(job));
  }
  return out;
}

GroupRates group_rates(std::span<const Companion> group, const Setup& setup, const hardware::Device& device,
                       const share::SharingFigures& figures, const share::Conditions& conditions) {
  std::vector<const share::Workload*> workloads;
  share::Conditions asked = conditions;
  for (const Companion& one : group) {
    if (!one.workload) return stated_rates(group, setup, device);
    workloads.push_back(one.workload);
    asked.limits.push_back({one.limit.value_or(0), one.within});
    if (one.limit) asked.requests = std::max(asked.requests, requests_for(one.within));
  }
  const auto told = share::beside(workloads, device, sharing_of(setup, group.size()), figures, asked);
  if (!told) {  // who puts them together all the same gets no more than that
    GroupRates out = stated_rates(group, setup, device);
    out.allowed = false;
    return out;
  }
  GroupRates out;
  add_strains(group, *told, out);
  constexpr double kNormal95 = 1.96;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const share::Member& member = told->members[i];
    // A service does what it is asked; what others do to it is its latency.
    out.speeds.push_back(group[i].kind->serves ? 1 : member.speed);
    out.log_errors.push_back(member.low > 0 ? std::log(member.speed / member.low) / kNormal95 : 0);
  }
  out.watts = told->watts ? told->watts->value() : 0;
  return out;
}

Rates predicted_rates(const PlanQuestion& question, const std::vector<Setup>& setups,
                      const hardware::Device& device, const share::SharingFigures& figures,
                      const share::Conditions& conditions) {
  const share::Conditions planned{.cores = conditions.cores,
                                  .enough = kEnoughToPlan,
                                  .requests = kRequestsToPlan,
                                  .services_first = conditions.services_first};
  const auto ask = [&question, &setups, &device, &figures, planned](std::span<const std::uint32_t> kinds,
                                                                    std::size_t index) {
    std::vector<Companion> group;
    for (const std::uint32_t kind : kinds) {
      const auto& workload = question.workloads[kind];
      group.push_back({&question.kinds[kind], workload ? &*workload : nullptr, question.limits[kind],
                       question.within[kind]});
    }
    return group_rates(group, setups[index], device, figures, planned);
  };
  // Those by shares alone take no longer than a thread's start.
  return Rates(ask, question.shares_bind ? 1 : std::thread::hardware_concurrency());
}

}  // namespace plimsoll
