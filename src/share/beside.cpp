#include "share/beside.hpp"

#include <algorithm>
#include <cmath>

#include "share/mig.hpp"
#include "share/simulation.hpp"

namespace plimsoll::share {
namespace {

constexpr double kNormal95 = 1.96;
// Standard deviation of log(true / predicted) of a speed where the workloads were measured alone; of those
// that wait for their host, whose speed changes from minute to minute (docs/beside.md).
constexpr double kTurnsError = 0.055, kTogetherError = 0.105, kCapError = 0.075, kMpsAloneError = 0.03,
                 kMigError = 0.12, kHostError = 0.09;
constexpr double kAssumedError = 0.15;  // of figures that were measured on another device
// Clocks fall less than the power that is asked for goes beyond the limit.
constexpr double kPowerExponent = 0.5;
// A service that answers fewer than come falls behind by what it lacks, of the time that goes by. (Not by how
// many it answers: of few that are simulated more or fewer come by chance.)
bool falls_behind(const Played& played) {
  constexpr double kBehind = 0.05;
  return played.behind > kBehind;
}
// The hardware gives SMs out in pairs.
constexpr double kSmStep = 2;

/// What a cap comes to, of one.
Result<double> granted(double cap, const hardware::Device& device) {
  const double all = device.multiprocessors->value;
  const double sms = cap >= 1 ? all : std::floor(cap * all / kSmStep) * kSmStep;
  if (sms < kSmStep)
    return std::unexpected(
        Error{fmt::format("{:g} % of the {} SMs of {} are less than the two that a cap gives out", 100 * cap,
                          all, device.name),
              "--sharing", "a larger percentage"});
  return sms / all;
}

Limit limit_of(const Conditions& conditions, std::size_t workload) {
  return workload < conditions.limits.size() ? conditions.limits[workload] : Limit();
}

/// Ends a simulation in which a service's limit is missed, whatever else its requests would take.
void set_limit(Player& player, std::size_t index, const Conditions& conditions) {
  const Limit limit = limit_of(conditions, index);
  if (limit.seconds <= 0 || player.arrivals <= 0) return;
  player.limit = limit.seconds;
  // Of fewer requests that were seen so far, so many beyond the limit are beyond that share, too.
  const auto all = static_cast<double>(conditions.requests);
  player.most_late = conditions.requests - static_cast<std::size_t>(limit.share * (all - 1));
}

/// A group as it is simulated, and what each loses before anybody else comes.
struct Table {
  std::vector<std::vector<Kernel>> kernels;
  std::vector<Player> players;
  std::vector<Causes> causes;
};

/// `slice`: in which all of them are, as on a GPU of its own.
Result<Table> lay(std::span<const Workload* const> workloads, const hardware::Device& device,
                  const Sharing& sharing, const SharingFigures& figures, const Conditions& conditions,
                  double host_factor, const Slice* slice = nullptr) {
  Table out;
  out.kernels.resize(workloads.size());
  const bool mps = sharing.way == Way::mps || slice != nullptr, several = workloads.size() > 1;
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    const Workload& workload = *workloads[i];
    double cap = 1;
    if (!sharing.caps.empty()) {
      const auto share = granted(sharing.caps[i], device);
      PLIMSOLL_TRY(share);
      cap = *share;
    }
    if (slice != nullptr)
      out.kernels[i] = kernels_in(workload.kernels, *slice, figures);
    else
      out.kernels[i] = cap < 1 ? confined(workload.kernels, cap, 1, figures) : workload.kernels;
    const Seconds alone = step_of(workload, workload.kernels, 0, 1);
    const auto more = [&](const std::vector<Kernel>& kernels, double before_each, double factor) {
      return step_of(workload, kernels, before_each, factor) / alone - 1;
    };
    // What is lost in any company.
    Causes causes;
    causes.host = more(workload.kernels, 0, host_factor);
    causes.fewer_sms = cap < 1 || slice != nullptr ? more(out.kernels[i], 0, 1) : 0;
    if (mps)
      for (Kernel& kernel : out.kernels[i]) kernel.seconds *= static_cast<float>(1 + figures.client_run);
    Player player = player_of(workload, out.kernels[i]);
    player.host *= host_factor * (mps ? 1 + figures.client_host : 1);
    player.launch = mps ? figures.client_launch + (several ? figures.crowded_launch : 0) : 0;
    player.cap = cap;
    player.first = conditions.services_first && workload.arrivals > 0;
    set_limit(player, i, conditions);
    if (mps)
      causes.mps =
          std::max(0.0, more(out.kernels[i], figures.client_launch, host_factor * (1 + figures.client_host)) -
                            causes.fewer_sms - causes.host);
    out.players.push_back(player);
    out.causes.push_back(causes);
  }
  return out;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, values.begin() + at);
  return values[static_cast<std::size_t>(at)];
}

/// Beside the same requests with the GPU to itself.
Latency latency_of(const Workload& service, std::size_t index, const std::vector<double>& latencies,
                   const SharingFigures& figures, const Conditions& conditions) {
  const Player alone = player_of(service, service.kernels);
  const std::vector<double> own =
      play_in_turns(std::span(&alone, 1), figures, conditions.requests).front().latencies;
  constexpr double kMedian = 0.5, kSlow = 0.99;
  const double asked = limit_of(conditions, index).share;
  return {Seconds(quantile(latencies, kMedian)), Seconds(quantile(latencies, kSlow)),
          Seconds(quantile(latencies, asked)), Seconds(quantile(own, kMedian)),
          Seconds(quantile(own, kSlow))};
}

/// What the simulation says of a group, as speeds and causes.
Status fold(const Table& table, std::span<const Workload* const> workloads, const std::vector<Played>& played,
            bool turns, const SharingFigures& figures, const Conditions& conditions, Beside& out) {
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    if (!(played[i].steps_per_second > 0))
      return std::unexpected(Error{"its steps are too long beside the others' to be simulated",
                                   workloads[i]->name, "a smaller batch"});
    Member member{.causes = table.causes[i]};
    const double alone = step_of(*workloads[i], workloads[i]->kernels, 0, 1).value();
    member.speed = played[i].steps_per_second * alone;
    if (workloads[i]->arrivals > 0) {  // it does what it is asked; how long that takes is its loss
      member.latency = latency_of(*workloads[i], i, played[i].latencies, figures, conditions);
      member.latency->saturated = falls_behind(played[i]);
      member.speed = member.latency->alone_median / std::max(member.latency->median, Seconds(1e-9));
    }
    member.steps_per_second = played[i].steps_per_second;
    const Causes& own = member.causes;
    const double lost =
        std::max(0.0, 1 / std::max(member.speed, 1e-9) - 1 - own.host - own.fewer_sms - own.mps);
    if (turns) {
      member.causes.slices = lost;
    } else {
      const double waits = played[i].waiting, crowds = played[i].crowded, both = waits + crowds;
      member.causes.waits = both > 0 ? lost * waits / both : lost;
      member.causes.bandwidth = both > 0 ? lost * crowds / both : 0;
    }
    out.members.push_back(member);
  }
  return {};
}

/// Every other one adds what is not known of it.
double own_error(const Sharing& sharing, std::size_t workloads) {
  const double together = kTogetherError * std::sqrt(std::max(1.0, static_cast<double>(workloads) - 1));
  switch (sharing.way) {
    case Way::exclusive: return 0;
    case Way::naive: return workloads > 1 ? kTurnsError : 0;
    case Way::mps:
      return std::hypot(workloads > 1 ? together : kMpsAloneError, sharing.caps.empty() ? 0 : kCapError);
    case Way::mig: return sharing.in_one_slice && workloads > 1 ? std::hypot(kMigError, together) : kMigError;
  }
  return 0;
}

void add_intervals(std::span<const Workload* const> workloads, const SharingFigures& figures, Beside& out) {
  double others = 0;
  for (const Workload* workload : workloads) others = std::hypot(others, workload->log_error);
  for (std::size_t i = 0; i < out.members.size(); ++i) {
    Member& member = out.members[i];
    double error = std::hypot(own_error(out.sharing, workloads.size()), others);
    if (workloads[i]->waits_for_host()) error = std::hypot(error, kHostError);
    if (figures.provenance == Provenance::assumed) error = std::hypot(error, kAssumedError);
    if (out.sharing.way == Way::exclusive) error = 0;
    member.low = member.speed * std::exp(-kNormal95 * error);
    member.high = member.speed * std::exp(kNormal95 * error);
    // Others make nobody faster; a host may be, from one minute to the next.
    if (!workloads[i]->waits_for_host()) member.high = std::min(member.high, std::max(1.0, member.speed));
  }
}

/// Watts add up over what each draws alone beyond idle, as far as it runs; beyond the limit clocks fall.
void add_power(std::span<const Workload* const> workloads, const hardware::Device& device, Beside& out) {
  const double idle = idle_watts(device);
  double watts = idle, one_by_one = 0;
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    if (!workloads[i]->watts) return;
    const Workload& workload = *workloads[i];
    // A service runs as often as it is asked.
    const double runs = workload.arrivals > 0 ? std::min(1.0, workload.arrivals * workload.step.value())
                                              : out.members[i].speed;
    watts += runs * std::max(0.0, workload.watts->value() - idle);
    one_by_one += runs * workload.watts->value();  // J of what is done in a second
  }
  if (device.power && watts > device.power->value) {
    const double slower = std::pow(device.power->value / watts, kPowerExponent);
    for (Member& member : out.members) {
      member.causes.power = (1 / slower - 1) / std::max(member.speed, 1e-9);
      member.speed *= slower;
    }
    one_by_one *= slower;
    watts = device.power->value;
  }
  out.watts = Watts(watts);
  // What a service would draw after the others depends on what comes meanwhile.
  const bool serves = std::ranges::any_of(workloads, [](const Workload* w) { return w->arrivals > 0; });
  if (one_by_one > 0 && !serves) out.energy_ratio = watts / one_by_one;
}

/// Hosts that launch kernels each keep a core busy.
double host_factor(std::span<const Workload* const> workloads, const Conditions& conditions) {
  if (!conditions.cores) return 1;
  double busy = 0;
  for (const Workload* workload : workloads) busy += workload->host / workload->step;
  return std::max(1.0, busy / *conditions.cores);
}

void run_alone(std::span<const Workload* const> workloads, const Table& table, Beside& out) {
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    const Workload& workload = *workloads[i];
    const Player& player = table.players[i];
    const double own = workload.host.value() / static_cast<double>(workload.kernels.size());
    const double host = own > 0 ? player.host / own : 1;
    const Seconds alone = step_of(workload, workload.kernels, 0, 1);
    const double speed = alone / step_of(workload, *player.kernels, player.launch, host);
    out.members.push_back(
        {.steps_per_second = speed / workload.step.value(), .speed = speed, .causes = table.causes[i]});
  }
}

Status check_services(std::span<const Workload* const> workloads, const Sharing& sharing) {
  for (const Workload* workload : workloads) {
    if (workload->arrivals <= 0) continue;
    const double most = 1 / workload->step.value();
    if (workload->arrivals >= most)
      return std::unexpected(
          Error{fmt::format("{} requests a second are more than the {:.4g} that it can answer alone",
                            workload->arrivals, most),
                workload->name, "fewer arrivals, or several of it"});
    if (sharing.way == Way::exclusive && workloads.size() > 1)
      return std::unexpected(
          Error{"a service cannot wait until others have ended", workload->name, "another --sharing"});
  }
  return {};
}

/// Each in a slice of its own; a service's requests, too.
Status run_in_slices(std::span<const Workload* const> workloads, const hardware::Device& device,
                     const SharingFigures& figures, const Conditions& conditions, Beside& out) {
  const auto slices = slices_of(out.sharing.profiles, device);
  PLIMSOLL_TRY(slices);
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    const Workload& workload = *workloads[i];
    const Slice& slice = (*slices)[i];
    Member member = in_slice(workload, slice, figures);
    member.steps_per_second = member.speed / workload.step.value();
    if (workload.arrivals > 0) {
      const std::vector<Kernel> kernels = confined(workload.kernels, slice.sms, slice.bandwidth, figures);
      Player player = player_of(workload, kernels);
      set_limit(player, i, conditions);
      const Played played = play_in_turns(std::span(&player, 1), figures, conditions.requests).front();
      member.steps_per_second = played.steps_per_second;
      member.latency = latency_of(workload, i, played.latencies, figures, conditions);
      member.latency->saturated = falls_behind(played);
      member.speed = member.latency->alone_median / std::max(member.latency->median, Seconds(1e-9));
    }
    out.members.push_back(member);
  }
  return {};
}

/// All in one slice, as clients of MPS there.
Status run_in_one_slice(std::span<const Workload* const> workloads, const hardware::Device& device,
                        const SharingFigures& figures, const Conditions& conditions, double hosts,
                        Beside& out) {
  const auto slices = slices_of(out.sharing.profiles, device);
  PLIMSOLL_TRY(slices);
  if (slices->size() != 1)
    return std::unexpected(Error{"those in one MIG slice need its profile, and one alone"});
  const Slice& slice = slices->front();
  const auto table = lay(workloads, device, out.sharing, figures, conditions, hosts, &slice);
  PLIMSOLL_TRY(table);
  const bool serves = std::ranges::any_of(workloads, [](const Workload* w) { return w->arrivals > 0; });
  if (workloads.size() == 1 && !serves)
    run_alone(workloads, *table, out);
  else
    PLIMSOLL_TRY(fold(*table, workloads,
                      play_together(table->players, figures, conditions.enough, conditions.requests), false,
                      figures, conditions, out));
  if (slice.bytes > 0)
    for (Member& member : out.members) member.capacity = Bytes::rounded(slice.bytes);
  return {};
}

}  // namespace

Player player_of(const Workload& workload, const std::vector<Kernel>& kernels) {
  return {.kernels = &kernels,
          .step = workload.step.value(),
          .host = workload.host.value() / static_cast<double>(kernels.size()),
          .returns = workload.returns.value(),
          .steps_per_wait = workload.steps_per_wait,
          .arrivals = workload.arrivals};
}

double Beside::slowest() const {
  double least = members.empty() ? 0 : members.front().speed;
  for (const Member& member : members) least = std::min(least, member.speed);
  return least;
}

Result<Beside> beside(std::span<const Workload* const> workloads, const hardware::Device& device,
                      const Sharing& sharing, const SharingFigures& figures, const Conditions& conditions) {
  PLIMSOLL_TRY(check_services(workloads, sharing));
  Beside out{.sharing = sharing, .provenance = figures.provenance};
  if (sharing.in_one_slice) {
    PLIMSOLL_TRY(
        run_in_one_slice(workloads, device, figures, conditions, host_factor(workloads, conditions), out));
  } else if (sharing.way == Way::mig) {
    PLIMSOLL_TRY(run_in_slices(workloads, device, figures, conditions, out));
  } else {
    const double hosts = sharing.way == Way::exclusive ? 1 : host_factor(workloads, conditions);
    const auto table = lay(workloads, device, sharing, figures, conditions, hosts);
    PLIMSOLL_TRY(table);
    const bool serves = std::ranges::any_of(workloads, [](const Workload* w) { return w->arrivals > 0; });
    if (sharing.way == Way::exclusive || (workloads.size() == 1 && !serves)) {
      run_alone(workloads, *table, out);
    } else if (sharing.way == Way::naive) {
      PLIMSOLL_TRY(fold(*table, workloads, play_in_turns(table->players, figures, conditions.requests), true,
                        figures, conditions, out));
    } else {
      PLIMSOLL_TRY(fold(*table, workloads,
                        play_together(table->players, figures, conditions.enough, conditions.requests), false,
                        figures, conditions, out));
    }
    if (sharing.way == Way::exclusive)
      for (Member& member : out.members) {
        const auto count = static_cast<double>(workloads.size());
        member.causes.slices = (count - 1) / member.speed;
        member.speed /= count;
        member.steps_per_second /= count;
      }
  }
  add_power(workloads, device, out);
  add_intervals(workloads, figures, out);
  for (const Member& member : out.members) out.combined += member.speed;
  return out;
}

}  // namespace plimsoll::share
