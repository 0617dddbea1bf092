#include "queue_oracle.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "plan_rates.hpp"
#include "share/beside.hpp"
#include "sharing_figures_file.hpp"

namespace plimsoll {
namespace {

namespace schedule = plan::schedule;
using queue::Belief;

// Beyond what was seen or estimated: a context that grows, libraries that are loaded late, what a program
// keeps beside its network.
constexpr double kMemorySlack = 1.1;
constexpr Bytes kMemoryMore = 512 * kMiB;

Bytes with_slack(Bytes bytes) {
  return Bytes(static_cast<std::int64_t>(static_cast<double>(bytes.count()) * kMemorySlack)) + kMemoryMore;
}

/// So that what a run takes more or less than the one before makes no other kind of it.
Bytes rounded_up(Bytes bytes) {
  constexpr std::int64_t kStep = (256 * kMiB).count();
  return Bytes((bytes.count() + kStep - 1) / kStep * kStep);
}

/// Equal for those that do the same to a GPU, so far as anybody knows: what was measured of groups of them is
/// kept by it.
std::string key_of(const queue::JobRequest& request, const std::optional<queue::Profile>& profile,
                   const Belief& belief) {
  const auto tenths = [](const std::optional<double>& value) {
    return value && *value > 0 ? std::lround(std::log(*value) / std::log(1.1)) : 0;
  };
  std::string out =
      fmt::format("{}|{}|{}", request.known.empty() ? queue::fingerprint_of(request) : request.known,
                  request.keep, belief.kind.memory ? belief.kind.memory->count() : -1);
  if (profile)
    out += fmt::format("|{}|{}|{}", tenths(profile->steps_per_second), tenths(profile->sms),
                       tenths(profile->bandwidth));
  return out;
}

class DeviceOracle final : public queue::Oracle {
 public:
  DeviceOracle(EstimateTarget target, share::SharingFigures figures)
      : target_(std::move(target)), figures_(figures) {}

  Result<Belief> belief(const queue::JobRequest& request, const std::optional<queue::Profile>& profile,
                        const std::optional<Bytes>& need) override {
    Belief out;
    Known known{.keep = request.keep};
    if (!request.known.empty()) {
      auto described = describe(request, profile);
      PLIMSOLL_TRY(described);
      out.kind = described->kinds.front();
      if (described->workloads.front() && out.kind.memory) out.kind.memory = with_slack(*out.kind.memory);
      known.workload = described->workloads.front();
      known.limit = described->limits.front();
      known.within = described->within.front();
      if (described->jobs.front().seconds > 0) out.seconds = described->jobs.front().seconds;
      if (known.workload) out.steps_per_second = 1 / std::max(known.workload->step.value(), 1e-9);
      out.is_known = true;
      out.source = known.workload ? known.workload->name : "what it says";
    } else {
      out.kind = {.name = request.job.name, .share = 1, .memory = {}, .activity = 1};
    }
    if (profile) add_profile(*profile, known, out);
    if (request.job.need || need) out.seen.reset();  // that much it asks for itself
    if (request.job.need) out.kind.memory = *request.job.need;
    if (need) out.kind.memory = std::max(*need, out.kind.memory.value_or(Bytes()));
    if (out.kind.memory) out.kind.memory = rounded_up(*out.kind.memory);
    out.key = key_of(request, profile, out);
    known.kind = out.kind;
    known_.insert_or_assign(out.key, std::move(known));
    return out;
  }

  schedule::GroupRates together(std::span<const std::string> keys, const schedule::Setup& setup) override {
    static const Known kUnknown;
    std::vector<Companion> group;
    std::vector<double> kept;
    for (const std::string& key : keys) {
      const auto found = known_.find(key);
      const Known& known = found == known_.end() ? kUnknown : found->second;
      group.push_back({&known.kind, known.workload ? &*known.workload : nullptr, known.limit, known.within});
      kept.push_back(known.keep);
    }
    constexpr share::Conditions kQuickly{.enough = 0.05, .requests = 100, .services_first = true};
    schedule::GroupRates out = group_rates(group, setup, target_.device(), figures_, kQuickly);
    for (std::size_t i = 0; i < group.size(); ++i)
      out.allowed = out.allowed && (group.size() == 1 || out.speeds[i] >= kept[i]);
    return out;
  }

  double idle_watts() const override { return share::idle_watts(target_.device()); }

 private:
  struct Known {
    schedule::Kind kind = {};
    std::optional<share::Workload> workload = {};
    std::optional<double> limit = {};
    double within = 0.99;
    double keep = 0;
  };

  Result<PlanQuestion> describe(const queue::JobRequest& request,
                                const std::optional<queue::Profile>& profile) const {
    // A job of the queue need not say how long it is: then it is learned.
    job::Json described = job::Json::parse(request.known, nullptr, false);
    if (!described.contains("steps") && !described.contains("seconds") && !described.contains("epochs") &&
        !described.contains("rate"))
      described["seconds"] = profile && profile->seconds ? *profile->seconds : 0;
    described["name"] = "job";
    auto read = read_plan_jobs(job::dump(job::Json::array({described})), "");
    if (!read) return std::unexpected(read.error().front());
    PlanJobRequest& job = read->front();
    if (job.workload && profile && profile->steps_per_second && !job.workload->alone && !job.serves()) {
      share::Alone alone{.steps_per_second = *profile->steps_per_second};
      alone.sms = profile->sms;
      alone.bandwidth = profile->bandwidth;
      alone.watts = profile->watts;
      job.workload->alone = alone;
    }
    return plan_question(*read, target_);
  }

  static void add_profile(const queue::Profile& profile, const Known& known, Belief& out) {
    // What a run took that came to its end is believed before an estimate; of one that goes on only where it
    // took more.
    if (profile.peak && *profile.peak > Bytes()) {
      const Bytes seen = with_slack(*profile.peak);
      if (profile.steps) out.seen = profile.peak;
      out.kind.memory = profile.steps ? seen : std::max(seen, out.kind.memory.value_or(Bytes()));
    }
    out.startup = profile.startup;
    if (!known.workload && profile.sms) {
      out.kind.activity = *profile.sms;
      out.kind.share = std::clamp(*profile.sms, 0.01, 1.0);
      out.kind.bandwidth = profile.bandwidth.value_or(out.kind.bandwidth);
    }
    if (profile.steps_per_second) out.steps_per_second = profile.steps_per_second;
    if (!out.seconds && profile.seconds) out.seconds = profile.seconds;
    out.is_known = out.is_known || (profile.peak && profile.sms);
    out.source += out.source.empty() ? "its last run" : " and its last run";
  }

  EstimateTarget target_;
  share::SharingFigures figures_;
  std::map<std::string, Known> known_;
};

}  // namespace

Result<std::unique_ptr<queue::Oracle>> queue_oracle(const std::string& device, const std::string& calibration,
                                                    const std::string& figures) {
  auto targets = estimate_targets({device}, calibration);
  PLIMSOLL_TRY(targets);
  const auto sharing = sharing_figures_of(targets->front().device(), figures);
  PLIMSOLL_TRY(sharing);
  return std::unique_ptr<queue::Oracle>(
      std::make_unique<DeviceOracle>(std::move(targets->front()), *sharing));
}

}  // namespace plimsoll
