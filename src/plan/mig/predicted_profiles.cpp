#include "plan/mig/predicted_profiles.hpp"

#include <algorithm>

#include "plan/mig/segments.hpp"

namespace plimsoll::plan {
namespace {

constexpr double kEnoughToPlan = 0.03;  // standard error of a speed
constexpr double kWorthAProcess = 1.02;

/// Of all services of a model, the longest that a batch may take.
Seconds longest_batch(std::span<const Service> services, const std::string& model, double share_of_limit) {
  Seconds out;
  for (const Service& service : services)
    if (service.model == model) out = std::max(out, service.limit * share_of_limit);
  return out;
}

/// One size of instance.
struct Size {
  const hardware::MigProfile& profile;
  std::optional<Bytes> bytes;
};

void add_rows(const BatchedModel& served, const Size& size, const hardware::Device& device, Seconds longest,
              int most_processes, const share::SharingFigures& figures, PredictedProfiles& out) {
  const share::Workload& workload = served.workload;
  double most = 0;
  for (int processes = 1; processes <= most_processes; ++processes) {
    if (size.bytes && workload.memory_high.count() > size.bytes->count() / processes) return;
    const std::vector<const share::Workload*> all(static_cast<std::size_t>(processes), &workload);
    const auto told = share::beside(
        all, device, {.way = share::Way::mig, .profiles = {size.profile.name}, .in_one_slice = processes > 1},
        figures, {.enough = kEnoughToPlan});
    if (!told) return;
    ServedProfile row{.model = served.model,
                      .compute = size.profile.compute,
                      .batch = served.batch,
                      .processes = processes,
                      .latency = workload.step / told->slowest()};
    for (const share::Member& member : told->members) {
      row.rate += served.batch * member.speed / workload.step.value();
      out.low = std::min(out.low, member.low / member.speed);
      out.high = std::max(out.high, member.high / member.speed);
    }
    if (row.rate < most * kWorthAProcess) return;
    most = row.rate;
    out.rows.push_back(row);  // one that takes too long as well: so that it can be said how long
    if (!(row.latency < longest)) return;
  }
}

}  // namespace

PredictedProfiles predicted_profiles(const hardware::MigTable& table, const hardware::Device& device,
                                     std::span<const BatchedModel> models, std::span<const Service> services,
                                     double share_of_limit, int most_processes,
                                     const share::SharingFigures& figures) {
  PredictedProfiles out;
  for (const BatchedModel& served : models) {
    const Seconds longest = longest_batch(services, served.model, share_of_limit);
    for (const std::size_t index : sizes_of(table).profiles) {
      const hardware::MigProfile& profile = table.profiles[index];
      add_rows(served, {profile, hardware::mig_bytes(table, profile, device)}, device, longest,
               most_processes, figures, out);
    }
  }
  return out;
}

}  // namespace plimsoll::plan
