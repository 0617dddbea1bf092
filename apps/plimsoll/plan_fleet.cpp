#include "plan_fleet.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "hardware/mig.hpp"
#include "plan/mig/layouts.hpp"
#include "share/workload.hpp"

namespace plimsoll {

plan::schedule::Layout with_clients(const plan::schedule::Layout& layout,
                                    std::vector<plan::schedule::Setup>& setups) {
  plan::schedule::Layout out{.name = layout.name, .parts = layout.parts};
  out.name.replace(0, std::string_view("mig:").size(), "mig+mps:");
  for (plan::schedule::Layout::Part& part : out.parts) {
    plan::schedule::Setup shared = setups[part.setup];
    shared.clients = true;
    const auto known = std::ranges::find(setups, shared);
    part.setup = static_cast<std::size_t>(known - setups.begin());
    if (known == setups.end()) setups.push_back(std::move(shared));
  }
  return out;
}

plan::schedule::Fleet fleet_of(const hardware::Device& device, std::size_t gpus, double price,
                               bool clients_in_slices) {
  const Bytes whole = share::memory_of(device).value_or(Bytes());
  plan::schedule::Fleet out{.gpus = gpus,
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
  if (!clients_in_slices) return out;
  // In many small slices few are worth to be put together: these take time and hardly ever win.
  constexpr std::size_t kMostSlices = 3;
  for (std::size_t i = 0, plain = out.layouts.size(); i < plain; ++i)
    if (const plan::schedule::Layout& cut = out.layouts[i];
        cut.parts.size() > 1 && cut.parts.size() <= kMostSlices)
      out.layouts.push_back(with_clients(cut, out.setups));
  return out;
}

}  // namespace plimsoll
