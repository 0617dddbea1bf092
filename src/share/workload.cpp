#include "share/workload.hpp"

#include <algorithm>
#include <cmath>

namespace plimsoll::share {
namespace {

constexpr double kGap = 1.0e-6;             // s, of a graph or a queue that is full (docs/profile.md)
constexpr double kMostOfGap = 0.6;          // of a kernel that is hardly more than its launch
constexpr int kMostLaunches = 3;            // of one kernel of the framework that are told apart
constexpr int kMostGroups = 16;             // more tell nothing new, and take time
constexpr double kReachedBandwidth = 0.92;  // of the datasheet's, that any kernel was seen to reach
// SMs with few of the blocks that fit them leave some of their throughput to others: to this power of how
// full they are.
constexpr double kPacking = 0.2;
constexpr std::size_t kMostKernels = 100'000;

// A host that launches a captured graph looks at what came out every few milliseconds.
constexpr double kLookedAt = 4e-3;  // s
constexpr Seconds kReturns{1.5e-5};
// Of the time in which a training's GPU idles, as much lies before the first kernel of a step, the rest
// between them.
constexpr double kAtBegin = 0.5;
// Python's host per kernel of the framework: 25 to 42 µs in nine trainings (docs/beside.md).
constexpr double kPythonLaunch = 2.7e-5;  // s
constexpr double kWaits = 0.9;

/// Launches in the order in which they run, passes that are alike repeated.
std::vector<std::size_t> order_of(const estimate::Profile& profile) {
  std::vector<std::size_t> order;
  const auto& kernels = profile.kernels;
  for (std::size_t i = 0; i < kernels.size();) {
    const std::uint32_t passes = kernels[i].launch.passes;
    std::size_t end = i;
    while (end < kernels.size() && kernels[end].launch.passes == passes) ++end;
    for (std::uint32_t pass = 0; pass < passes && order.size() < kMostKernels; ++pass)
      for (std::size_t at = i; at < end; ++at) order.push_back(at);
    i = end;
  }
  return order;
}

struct Correction {
  double seconds = 1, bandwidth = 1;
};

/// Of the time of a step that a host launches kernel by kernel, that in which a kernel runs. Where it was not
/// measured: as the SMs were active against how active kernels keep them, else as the profile has it.
double active_of(const estimate::Profile& profile, const estimate::ProfileDemand& demand,
                 const Alone& alone) {
  if (alone.active) return *alone.active;
  if (alone.sms && demand.captured.sm > 0) return std::min(1.0, *alone.sms / demand.captured.sm);
  return std::min(1.0, profile.seconds.value() * alone.steps_per_second);
}

/// What makes the profile's sums those that were measured alone.
Correction correction_of(const estimate::Profile& profile, const estimate::ProfileDemand& demand,
                         const std::optional<Alone>& alone, bool captured) {
  Correction out;
  if (!alone || alone->steps_per_second <= 0 || profile.seconds <= Seconds()) return out;
  const double step = 1 / alone->steps_per_second;
  out.seconds = step * (captured ? 1 : active_of(profile, demand, *alone)) / profile.seconds.value();
  const double told = demand.captured.dram * profile.seconds.value() * out.seconds;
  if (alone->bandwidth && told > 0) out.bandwidth = *alone->bandwidth * step / told;
  return out;
}

Kernel kernel_of(const estimate::ProfiledKernel& profiled, const estimate::Demand& demand, int launches,
                 const Correction& correction, double units) {
  const double seconds = profiled.seconds.value() * correction.seconds / launches;
  const double gap = std::min(kGap, kMostOfGap * seconds), busy = seconds - gap;
  const double waves = std::max(demand.waves, 0.002);
  const double groups = std::clamp(std::ceil(waves - 1e-6), 1.0, static_cast<double>(kMostGroups));
  Kernel out{.seconds = static_cast<float>(busy), .gap = static_cast<float>(gap)};
  out.groups = static_cast<std::uint16_t>(groups);
  // Of very many waves a few that are as full.
  out.waves = static_cast<float>(waves > groups ? groups * waves / std::ceil(waves) : waves);
  const double reach = std::min(1.0, demand.blocks / units), resident = std::min(1.0, waves);
  out.reach = static_cast<float>(reach * std::pow(std::min(1.0, resident / reach), kPacking));
  out.sms = static_cast<float>(std::min(1.0, demand.sm_share * seconds / busy));
  out.bandwidth = static_cast<float>(
      std::min(0.98, demand.dram_share * correction.bandwidth / kReachedBandwidth * seconds / busy));
  out.bottleneck = profiled.bottleneck;
  return out;
}

/// A step whose host launches kernel after kernel, `host` s each, and waits for the GPU at its end.
double launched_step(const std::vector<Kernel>& kernels, double host, Seconds returns) {
  const Workload eager{
      .host = Seconds(host * static_cast<double>(kernels.size())), .returns = returns, .steps_per_wait = 1};
  return step_of(eager, kernels, 0, 1).value();
}

/// How fast a host launches whose step alone takes so long.
double host_per_launch(const std::vector<Kernel>& kernels, double step, Seconds returns) {
  double least = 0, most = step / static_cast<double>(kernels.size());
  if (launched_step(kernels, 0, returns) >= step) return 0;
  constexpr int kHalvings = 30;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (least + most) / 2;
    (launched_step(kernels, middle, returns) < step ? least : most) = middle;
  }
  return most;
}

/// How its host goes with a step of that length.
void set_host(Workload& workload, bool captured) {
  workload.returns = kReturns;
  workload.steps_per_wait = 1;
  const double step = workload.step.value();
  if (captured) {
    workload.steps_per_wait = std::max(1, static_cast<int>(std::min(std::ceil(kLookedAt / step), 1e6)));
    return;
  }
  double busy = 0;
  for (const Kernel& kernel : workload.kernels) busy += static_cast<double>(kernel.seconds) + kernel.gap;
  workload.returns = std::max(kReturns, Seconds(kAtBegin * (step - busy)));
  workload.host = Seconds(host_per_launch(workload.kernels, step, workload.returns) *
                          static_cast<double>(workload.kernels.size()));
}

/// Of all kernels together; what they have in common does not cancel out.
double log_error_of(const estimate::Profile& profile) {
  double apart = 0, all = 0;
  for (const estimate::ProfiledKernel& kernel : profile.kernels) {
    apart += kernel.log_error * kernel.all().value();
    all += kernel.all().value();
  }
  constexpr double kInCommon = 0.5;
  return all > 0 ? kInCommon * apart / all : 0;
}

double cap_need(estimate::Bottleneck bottleneck, const SharingFigures& figures) {
  switch (bottleneck) {
    case estimate::Bottleneck::compute: return figures.cap_compute;
    case estimate::Bottleneck::memory: return figures.cap_memory;
    case estimate::Bottleneck::launch: return figures.cap_launch;
  }
  return figures.cap_memory;
}

}  // namespace

bool Workload::waits_for_host() const {
  double busy = 0;
  for (const Kernel& kernel : kernels) busy += static_cast<double>(kernel.seconds) + kernel.gap;
  return host > Seconds() && busy < kWaits * step.value();
}

std::optional<Workload> workload_of(std::string name, const estimate::Profile& profile,
                                    const program::Program& program, const network::Setting& setting,
                                    const hardware::Device& device, const std::optional<Alone>& alone,
                                    std::optional<Watts> watts) {
  const std::optional<estimate::ProfileDemand> demand = estimate::demand_of(profile, program, device);
  if (!demand || !device.multiprocessors || profile.kernels.empty()) return std::nullopt;
  const Correction correction = correction_of(profile, *demand, alone, setting.captured);
  const std::vector<std::size_t> order = order_of(profile);
  Workload out{.name = std::move(name), .measured = alone.has_value()};
  out.kernels.reserve(order.size());
  for (const std::size_t at : order) {
    const int launches =
        std::clamp(static_cast<int>(std::lround(demand->kernels[at].launches)), 1, kMostLaunches);
    const Kernel kernel = kernel_of(profile.kernels[at], demand->kernels[at], launches, correction,
                                    device.multiprocessors->value);
    out.kernels.insert(out.kernels.end(), static_cast<std::size_t>(launches), kernel);
  }
  if (alone)
    out.step = Seconds(1 / alone->steps_per_second);
  else if (setting.captured)
    out.step = profile.seconds;
  else
    out.step = Seconds(launched_step(
        out.kernels,
        kPythonLaunch * static_cast<double>(order.size()) / static_cast<double>(out.kernels.size()),
        kReturns));
  set_host(out, setting.captured);
  out.log_error = alone ? 0 : log_error_of(profile);
  if (alone && alone->watts) {
    out.watts = Watts(*alone->watts);
  } else if (watts) {  // while kernels run; between them the device idles
    const double idle = idle_watts(device), busy = std::min(1.0, profile.seconds / out.step);
    out.watts = Watts(idle + std::max(0.0, watts->value() - idle) * busy);
  }
  return out;
}

std::vector<Kernel> confined(const std::vector<Kernel>& kernels, double sms, double bandwidth,
                             const SharingFigures& figures) {
  std::vector<Kernel> out = kernels;
  const double power = figures.cap_exponent;
  for (Kernel& kernel : out) {
    const double need = cap_need(kernel.bottleneck, figures) * kernel.sms;
    const double with_all = 1 + std::pow(need, power);
    double longer = std::pow((1 + std::pow(need / sms, power)) / with_all, 1 / power);
    if (bandwidth < 1) longer = std::max(longer, kernel.bandwidth / bandwidth);
    const double resident = std::min(1.0, static_cast<double>(kernel.waves)), fits = std::min(resident, sms);
    kernel.seconds *= static_cast<float>(longer);
    kernel.bandwidth = static_cast<float>(std::min(kernel.bandwidth / longer, bandwidth));
    kernel.waves *= static_cast<float>(fits / resident);
    kernel.reach = static_cast<float>(std::min(static_cast<double>(kernel.reach), sms));
    kernel.sms = static_cast<float>(std::min(static_cast<double>(kernel.sms), sms));
  }
  return out;
}

Seconds step_of(const Workload& workload, const std::vector<Kernel>& kernels, double launch,
                double host_factor) {
  const double host = workload.host.value() * host_factor / static_cast<double>(kernels.size());
  double launched = workload.returns.value() / std::max(1, workload.steps_per_wait), done = launched;
  for (const Kernel& kernel : kernels) {
    launched += host;
    done = std::max(done, launched) + static_cast<double>(kernel.seconds) + kernel.gap + launch;
  }
  return Seconds(done);
}

}  // namespace plimsoll::share
