#include "telemetry/gpu_sharing.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace plimsoll::telemetry {
namespace {

/// The driver tells of processes about once a second; what is this old still holds.
constexpr double kToldHolds = 2.5;
constexpr double kAskUtilization = 1;
constexpr std::size_t kMostPlain = 1 << 16;
/// Below this mean SM activity the GPU did nothing worth splitting.
constexpr double kIdleActivity = 0.001;

Channel of_run(int run, unsigned device, std::string_view name, std::string unit, std::string_view source) {
  return {{.name = fmt::format("system/run/gpu/{}/{}", device, name),
           .unit = std::move(unit),
           .source = std::string(source),
           .run = run,
           .gpu = device}};
}

}  // namespace

GpuSharing::Account::Account(int run, unsigned device)
    : memory_channel(of_run(run, device, "memory", "B", "NVML, of the run's processes")),
      unattributed_channel(of_run(run, device, "unattributed", "J",
                                  "the GPU's energy while the run's part could not be told")) {
  slice_activity_channel = of_run(run, device, "sm_activity", "1", "NVML GPM, of its MIG slices' own SMs");
  for (std::size_t i = 0; i < kMethods; ++i) {
    const std::string_view method = kShareMethods[i];
    share_channels[i] = of_run(run, device, "sm_share", "1", method);
    activity_channels[i] = of_run(run, device, "sm_activity", "1", fmt::format("NVML GPM; {}", method));
    energy_channels[i] = of_run(run, device, "energy", "J", fmt::format("NVML; {}", method));
  }
}

void GpuSharing::forget(int run) {
  accounts_.erase(run);
  given_.erase(run);
  before_.memory.erase(run);
  if (last_told_) last_told_->second.runs.erase(run);  // it would open a fresh account
}

void GpuSharing::weigh(int run, std::optional<double> weight) {
  if (weight)
    given_[run] = *weight;
  else
    given_.erase(run);
}

GpuSharing::Account& GpuSharing::account_of(int run) {
  return accounts_.try_emplace(run, run, device_).first->second;
}

bool GpuSharing::is_server(std::uint32_t pid, const ProcessForest& forest, ReadBuffer& buffer) {
  if (servers_.contains(pid)) return true;
  if (plain_.contains(pid)) return false;
  // The kernel cuts names after 15 characters: nvidia-cuda-mps-server.
  const bool server = forest.text_of(static_cast<pid_t>(pid), "comm", buffer).starts_with("nvidia-cuda-mps");
  if (plain_.size() >= kMostPlain) plain_.clear();
  (server ? servers_ : plain_).insert(pid);
  return server;
}

std::optional<GpuSharing::Present> GpuSharing::who_is_there(const Moment& moment, ProcessForest& forest,
                                                            ReadBuffer& buffer) {
  if (moment.elapsed < ask_processes_after_) return std::nullopt;
  const auto processes = library_->processes(device_);
  if (!processes) {
    ask_processes_after_ = moment.elapsed + kRetry;
    return std::nullopt;
  }
  // A process that began since the last scan may be of a run.
  if (std::ranges::any_of(*processes, [&](const nvml::Process& process) {
        return !forest.sees(static_cast<pid_t>(process.pid)) && !plain_.contains(process.pid) &&
               !servers_.contains(process.pid);
      }))
    forest.scan(buffer);
  Present out;
  for (const nvml::Process& process : *processes) {
    const auto run = forest.run_of(static_cast<pid_t>(process.pid));
    if (process.gpu_instance) out.slices[*process.gpu_instance].insert(run.value_or(kNobody));
    if (!run) {
      if (!is_server(process.pid, forest, buffer)) out.others.insert(process.pid);
      continue;
    }
    std::optional<double>& sum = out.memory.try_emplace(*run, 0.0).first->second;
    if (!process.used) sum.reset();
    if (sum) *sum += static_cast<double>(process.used->count());
  }
  return out;
}

std::optional<GpuSharing::TimeShares> GpuSharing::who_ran(const Moment& moment, const ProcessForest& forest,
                                                          std::set<std::uint32_t>& others) {
  if (moment.elapsed + moment.slack < ask_utilization_after_) {
    if (last_told_ && moment.elapsed - last_told_->first <= kToldHolds) return last_told_->second;
    return std::nullopt;
  }
  ask_utilization_after_ = moment.elapsed + kAskUtilization;
  const auto samples = library_->process_utilization(device_, seen_until_);
  if (!samples) {
    ask_utilization_after_ = moment.elapsed + kRetry;
    return std::nullopt;
  }
  std::map<std::uint32_t, std::pair<double, int>> by_process;
  for (const nvml::ProcessUtilization& sample : *samples) {
    seen_until_ = std::max(seen_until_, sample.time);
    auto& [sum, count] = by_process[sample.pid];
    sum += sample.sm;
    ++count;
  }
  if (!std::exchange(primed_, true)) return std::nullopt;
  if (by_process.empty()) {
    if (last_told_ && moment.elapsed - last_told_->first <= kToldHolds) return last_told_->second;
    return std::nullopt;
  }
  TimeShares out;
  for (const auto& [pid, used] : by_process) {
    const double mean = used.first / used.second;
    if (const auto run = forest.run_of(static_cast<pid_t>(pid))) {
      out.runs[*run] += mean;
    } else if (servers_.contains(pid)) {
      out.complete = false;
    } else {
      if (mean > 0) others.insert(pid);
      out.others += mean;
    }
  }
  last_told_ = {moment.elapsed, out};
  return out;
}

void GpuSharing::sample(const Moment& moment, ProcessForest& forest, const GpuInterval& interval,
                        ReadBuffer& buffer, FrameCollector& collector) {
  auto now = who_is_there(moment, forest, buffer);
  if (!now) return;
  for (const auto& [run, memory] : now->memory) collector.put(account_of(run).memory_channel, memory);

  // Who came or went during the interval was there for a part of it.
  std::set<int> runs;
  for (const auto& [run, memory] : before_.memory) runs.insert(run);
  for (const auto& [run, memory] : now->memory) runs.insert(run);
  std::set<std::uint32_t> others = now->others;
  others.insert(before_.others.begin(), before_.others.end());
  std::map<unsigned, std::set<int>> occupied = now->slices;
  for (const auto& [instance, there] : before_.slices) occupied[instance].insert(there.begin(), there.end());
  before_ = *std::move(now);
  // A driver takes 2 ms to tell: it is asked only where nothing better is known.
  const bool weighed =
      others.empty() && std::ranges::all_of(runs, [&](int run) { return given_.contains(run); });
  const bool shared = !runs.empty() && runs.size() + others.size() > 1;
  const auto told = shared && !weighed ? who_ran(moment, forest, others) : std::nullopt;
  if (told)
    for (const auto& [run, share] : told->runs) runs.insert(run);

  Tenancy tenancy{.tenants = {}, .others = static_cast<unsigned>(others.size())};
  // Without activity counters: no kernel ran at all.
  tenancy.idle = interval.sm_activity ? *interval.sm_activity < kIdleActivity : interval.utilization == 0.0;
  if (told) tenancy.others_time_share = told->others;
  for (const int run : runs) {
    Tenant tenant{.run = run};
    if (const auto weight = given_.find(run); weight != given_.end()) tenant.given = weight->second;
    if (told && told->complete) tenant.time_share = told->runs.contains(run) ? told->runs.at(run) : 0;
    tenancy.tenants.push_back(tenant);
  }
  add_slices(occupied, interval, tenancy);
  give_out(tenancy, interval, collector);
}

void GpuSharing::add_slices(const std::map<unsigned, std::set<int>>& occupied, const GpuInterval& interval,
                            Tenancy& tenancy) {
  slice_activity_.clear();
  tenancy.sliced = !interval.slices.empty();
  if (!tenancy.sliced) return;
  tenancy.idle = true;
  std::map<int, double> sizes;
  std::set<int> unknown;  // on a slice that is not theirs alone, or that does not tell
  for (const SliceInterval& slice : interval.slices) {
    const auto there = occupied.find(slice.gpu_instance);
    const bool told = slice.sm_activity && slice.size > 0;
    if (!told || *slice.sm_activity >= kIdleActivity) tenancy.idle = false;
    const bool by_one =
        there != occupied.end() && there->second.size() == 1 && *there->second.begin() != kNobody;
    if (told && by_one) {
      const int run = *there->second.begin();
      sizes[run] += slice.size;
      slice_activity_[run] += *slice.sm_activity * slice.size;
      continue;
    }
    if (told) tenancy.others_slice_work += *slice.sm_activity * slice.size;
    if (there != occupied.end()) unknown.insert(there->second.begin(), there->second.end());
    // Without what it did, nothing can be set against it.
    if (!told)
      for (const Tenant& tenant : tenancy.tenants) unknown.insert(tenant.run);
  }
  for (const int run : unknown) slice_activity_.erase(run);
  for (Tenant& tenant : tenancy.tenants)
    if (const auto work = slice_activity_.find(tenant.run); work != slice_activity_.end())
      tenant.slice_work = work->second;
  for (auto& [run, work] : slice_activity_) work /= sizes.at(run);
}

void GpuSharing::give_out(const Tenancy& tenancy, const GpuInterval& interval, FrameCollector& collector) {
  const auto shares = share_out(tenancy);
  for (std::size_t i = 0; i < tenancy.tenants.size(); ++i) {
    Account& account = account_of(tenancy.tenants[i].run);
    if (!shares) {
      account.unattributed += interval.energy.value_or(0);
      if (account.unattributed > 0) collector.put(account.unattributed_channel, account.unattributed);
      continue;
    }
    const auto method = static_cast<std::size_t>(shares->method);
    const double share = shares->shares[i];
    collector.put(account.share_channels[method], share);
    if (tenancy.sliced) {
      // Of the slice's own SMs: they are all that the run can have.
      if (const auto own = slice_activity_.find(tenancy.tenants[i].run); own != slice_activity_.end())
        collector.put(account.slice_activity_channel, own->second);
    } else if (interval.sm_activity) {
      collector.put(account.activity_channels[method], share * *interval.sm_activity);
    }
    if (!interval.energy) continue;
    account.energy += share * *interval.energy;
    collector.put(account.energy_channels[method], account.energy);
  }
}

}  // namespace plimsoll::telemetry
