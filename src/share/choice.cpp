#include "share/choice.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "share/mig.hpp"

namespace plimsoll::share {
namespace {

constexpr int kCapSteps = 10;             // caps are tried in tenths of the SMs
constexpr std::size_t kMostWithCaps = 3;  // of more workloads there are too many
constexpr std::size_t kMostWithSlices = 4;
constexpr double kWorse = 0.98;  // a way that is not simpler has to be this much better

/// All ways to give each a part of `whole`, at least one.
void divide(std::size_t workloads, int whole, std::vector<int>& parts, const std::function<void()>& found) {
  if (parts.size() + 1 == workloads) {
    parts.push_back(whole);
    found();
    parts.pop_back();
    return;
  }
  for (int part = 1; part <= whole - static_cast<int>(workloads - parts.size() - 1); ++part) {
    parts.push_back(part);
    divide(workloads, whole - part, parts, found);
    parts.pop_back();
  }
}

std::vector<Sharing> capped_ways(std::size_t workloads) {
  std::vector<Sharing> out;
  if (workloads < 2 || workloads > kMostWithCaps) return out;
  std::vector<int> parts;
  divide(workloads, kCapSteps, parts, [&] {
    Sharing sharing{.way = Way::mps};
    for (const int part : parts) sharing.caps.push_back(static_cast<double>(part) / kCapSteps);
    out.push_back(std::move(sharing));
  });
  return out;
}

/// Every choice of a profile for each that can be placed.
std::vector<Sharing> sliced_ways(std::size_t workloads, const hardware::Device& device) {
  std::vector<Sharing> out;
  const std::vector<std::string> profiles = profiles_of(device);
  if (profiles.empty() || workloads > kMostWithSlices) return out;
  std::vector<std::size_t> at(workloads, 0);
  while (true) {
    Sharing sharing{.way = Way::mig};
    for (const std::size_t i : at) sharing.profiles.push_back(profiles[i]);
    if (slices_of(sharing.profiles, device)) out.push_back(std::move(sharing));
    std::size_t digit = 0;
    while (digit < workloads && ++at[digit] == profiles.size()) at[digit++] = 0;
    if (digit == workloads) return out;
  }
}

double worth(const Beside& way, Goal goal) {
  switch (goal) {
    case Goal::throughput: return way.combined;
    case Goal::energy: return way.energy_ratio ? 1 / *way.energy_ratio : 0;
    case Goal::fairness:
    case Goal::latency: return way.slowest();
  }
  return 0;
}

std::string_view words(Goal goal) {
  switch (goal) {
    case Goal::throughput: return "does most together";
    case Goal::energy: return "takes the fewest joules for what is done";
    case Goal::fairness: return "leaves the slowest most of its speed";
    case Goal::latency: return "leaves the slowest most of its speed, without turns";
  }
  return "";
}

/// The best of some, or nothing.
std::optional<Beside> best_of(const std::vector<Sharing>& sharings,
                              std::span<const Workload* const> workloads, const hardware::Device& device,
                              const std::function<Result<Beside>(const Sharing&)>& ask, Goal goal,
                              std::span<const Keep> keep) {
  std::optional<Beside> best;
  for (const Sharing& sharing : sharings) {
    Result<Beside> way = ask(sharing);
    if (!way || !has_room(*way, workloads, device))
      continue;  // a cap that leaves no SM, a slice that is too small
    const bool kept = keeps(*way, keep);
    const bool better = !best || (kept && !keeps(*best, keep)) ||
                        (kept == keeps(*best, keep) && worth(*way, goal) > worth(*best, goal));
    if (better) best = *std::move(way);
  }
  return best;
}

}  // namespace

bool has_room(const Beside& way, std::span<const Workload* const> workloads, const hardware::Device& device) {
  Bytes all, most;
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    const Bytes need = workloads[i]->memory;
    if (way.members[i].capacity && need > *way.members[i].capacity) return false;
    all += need;
    most = std::max(most, need);
  }
  if (way.sharing.in_one_slice) return !way.members.front().capacity || all <= *way.members.front().capacity;
  const auto memory = memory_of(device);
  if (!memory || way.sharing.way == Way::mig) return true;
  return (way.sharing.way == Way::exclusive ? most : all) <= *memory;
}

bool keeps(const Beside& way, std::span<const Keep> keeps) {
  return std::ranges::all_of(
      keeps, [&](const Keep& keep) { return way.members[keep.workload].speed >= keep.speed; });
}

Result<Choice> choose(std::span<const Workload* const> workloads, const hardware::Device& device,
                      const SharingFigures& figures, const Conditions& conditions, Goal goal,
                      std::span<const Keep> keep) {
  const auto ask = [&](const Sharing& sharing) {
    return beside(workloads, device, sharing, figures, conditions);
  };
  Choice out;
  // The simpler ways first: of two that do as well, the simpler is taken. MPS and MIG are NVIDIA's.
  const bool mps = device.vendor.empty() || device.vendor == "NVIDIA";
  const bool serves = std::ranges::any_of(workloads, [](const Workload* w) { return w->arrivals > 0; });
  std::vector<Sharing> plain;
  if (mps) plain.push_back({.way = Way::mps});
  plain.push_back({.way = Way::naive});
  if (!serves) plain.push_back({.way = Way::exclusive});
  for (const Sharing& sharing : plain) {
    auto way = ask(sharing);
    PLIMSOLL_TRY(way);
    out.ways.push_back(*std::move(way));
  }
  if (mps)
    for (const std::vector<Sharing>& many :
         {capped_ways(workloads.size()), sliced_ways(workloads.size(), device)})
      if (auto best = best_of(many, workloads, device, ask, goal, keep)) out.ways.push_back(*std::move(best));
  const auto turns = [](const Beside& way) {
    return way.sharing.way == Way::naive || way.sharing.way == Way::exclusive;
  };
  // Room comes first, then what is to be kept, then what it is for.
  const auto rank = [&](const Beside& way) {
    const double value = worth(way, goal);
    return std::tuple(has_room(way, workloads, device), goal != Goal::latency || !turns(way),
                      keeps(way, keep), std::isfinite(value) ? value : 0.0);
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < out.ways.size(); ++i) {
    auto [room, at_once, kept, value] = rank(out.ways[i]);
    if (std::tuple(room, at_once, kept, value * kWorse) > rank(out.ways[best])) best = i;
  }
  std::rotate(out.ways.begin(), out.ways.begin() + static_cast<std::ptrdiff_t>(best),
              out.ways.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  out.kept = keeps(out.ways.front(), keep);
  out.why = fmt::format("Of {} ways, {} {}{}.", out.ways.size(), text(out.ways.front().sharing), words(goal),
                        keep.empty() ? ""
                        : out.kept   ? " among those that keep what was asked for"
                                     : "; none keeps what was asked for");
  return out;
}

}  // namespace plimsoll::share
