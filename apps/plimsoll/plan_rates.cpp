#include "plan_rates.hpp"

#include <algorithm>
#include <cmath>

#include "hardware/mig.hpp"
#include "plan/mig/layouts.hpp"
#include "share/mig.hpp"

namespace plimsoll {
namespace {

using plan::schedule::Fleet;
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

GroupRates stated_rates(const PlanQuestion& question, std::span<const std::uint32_t> kinds,
                        const Setup& setup, const hardware::Device& device) {
  double share = 0;
  for (const std::uint32_t kind : kinds) share += question.kinds[kind].share;
  const bool turns = setup.way == share::Way::naive && kinds.size() > 1;
  GroupRates out;
  for (const std::uint32_t kind : kinds) {
    const double own = std::min(1.0, setup.cap / std::max(question.kinds[kind].share, 1e-9));
    out.speeds.push_back(std::min(own, (turns && share > 1 ? kTurnsCost : 1) / std::max(1.0, share)));
  }
  const double idle = share::idle_watts(device), most = device.power ? device.power->value : idle;
  out.watts = idle + (most - idle) * std::min(1.0, share);
  return out;
}

/// What requests take over what they may, of each service among them.
void add_strains(const PlanQuestion& question, std::span<const std::uint32_t> kinds,
                 const share::Beside& told, GroupRates& out) {
  constexpr double kSaturated = 1e6;
  const bool serves =
      std::ranges::any_of(kinds, [&](std::uint32_t kind) { return question.limits[kind].has_value(); });
  if (!serves) return;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto& limit = question.limits[kinds[i]];
    const auto& latency = told.members[i].latency;
    double strain = 0;
    if (limit && (!latency || latency->saturated))
      strain = kSaturated;
    else if (limit)
      strain = (question.within[kinds[i]] > 0.5 ? latency->p99 : latency->median).value() / *limit;
    out.allowed = out.allowed && strain <= 1;
    out.strains.push_back(strain);
  }
}

share::Sharing sharing_of(const Setup& setup, std::size_t count) {
  share::Sharing out{.way = setup.way};
  if (setup.way == share::Way::exclusive) out.way = share::Way::naive;  // one alone
  if (setup.way == share::Way::mps && setup.cap < 1) out.caps.assign(count, setup.cap);
  if (setup.way == share::Way::mig) out.profiles = {setup.profile};
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
      if (request.workload) {
        auto placed = place_workload(*request.workload, on);
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
      out.limits.push_back(request.limit);
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

Fleet fleet_of(const hardware::Device& device, std::size_t gpus, double price) {
  const Bytes whole = share::memory_of(device).value_or(Bytes());
  Fleet out{.gpus = gpus,
            .price = price,
            .idle_watts = share::idle_watts(device),
            .setups = {{.way = share::Way::exclusive}, {.way = share::Way::naive}},
            .layouts = {{"exclusive", {{0, whole}}}, {"naive", {{1, whole}}}}};
  if (!device.vendor.empty() && device.vendor != "NVIDIA") return out;
  for (const double cap : {1.0, 0.5, 0.34}) {
    out.layouts.push_back(
        {cap < 1 ? fmt::format("mps, {:.0f} % each", 100 * cap) : "mps", {{out.setups.size(), whole}}});
    out.setups.push_back({.way = share::Way::mps, .cap = cap});
  }
  const hardware::MigTable* table = hardware::mig_table(device);
  if (table == nullptr) return out;
  const std::size_t first = out.setups.size();
  for (const hardware::MigProfile& profile : table->profiles)
    out.setups.push_back({.way = share::Way::mig, .profile = profile.name});
  const auto profiles = plan::ordinary_profiles(*table, false);
  for (const plan::ProfileCounts& counts :
       plan::multisets_of(*table, plan::maximal_layouts(*table, profiles))) {
    plan::schedule::Layout layout{.name = "mig:", .parts = {}};
    for (std::size_t i = counts.size(); i-- > 0;)
      for (int count = 0; count < counts[i]; ++count) {
        layout.name += (layout.parts.empty() ? "" : ",") + table->profiles[i].name;
        layout.parts.push_back(
            {first + i, hardware::mig_bytes(*table, table->profiles[i], device).value_or(Bytes())});
      }
    out.layouts.push_back(std::move(layout));
  }
  return out;
}

Rates predicted_rates(const PlanQuestion& question, const std::vector<Setup>& setups,
                      const hardware::Device& device, const share::SharingFigures& figures,
                      const share::Conditions& conditions) {
  const share::Conditions asked{
      .cores = conditions.cores, .enough = kEnoughToPlan, .requests = kRequestsToPlan};
  return Rates([&question, &setups, &device, &figures, asked](std::span<const std::uint32_t> kinds,
                                                              std::size_t index) {
    const Setup& setup = setups[index];
    std::vector<const share::Workload*> workloads;
    for (const std::uint32_t kind : kinds)
      if (question.workloads[kind]) workloads.push_back(&*question.workloads[kind]);
    if (workloads.size() < kinds.size()) return stated_rates(question, kinds, setup, device);
    const auto told = share::beside(workloads, device, sharing_of(setup, kinds.size()), figures, asked);
    GroupRates out;
    out.speeds.assign(kinds.size(), 0);
    out.allowed = told.has_value();
    if (!told) return out;
    add_strains(question, kinds, *told, out);
    // A service does what it is asked; what others do to it is its latency.
    for (std::size_t i = 0; i < kinds.size(); ++i)
      out.speeds[i] = question.kinds[kinds[i]].serves ? 1 : told->members[i].speed;
    constexpr double kNormal95 = 1.96;
    for (const share::Member& member : told->members)
      out.log_errors.push_back(member.low > 0 ? std::log(member.speed / member.low) / kNormal95 : 0);
    out.watts = told->watts ? told->watts->value() : 0;
    return out;
  });
}

}  // namespace plimsoll
