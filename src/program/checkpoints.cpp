#include "program/checkpoints.hpp"

#include <algorithm>
#include <cmath>

namespace plimsoll::program {

std::vector<std::uint32_t> checkpoints(const Program& program) {
  const std::size_t calls = program.calls.size();
  // Sums of sizes, which may pass 63 bits: only their order counts.
  std::vector<double> saved(calls, 0), crossing(calls + 1, 0);
  std::vector<std::uint32_t> made(program.storages.size(), 0xffffffff);
  std::size_t layers = 0;
  double total = 0;
  for (std::uint32_t i = 0; i < calls; ++i) {
    if (program.calls[i].op == kLossCall) continue;
    for (const Action& action : program.slice(program.calls[i].forward))
      if (action.kind == ActionKind::output)
        made[static_cast<std::size_t>(program.value(action.value).storage)] = i;
    if (program.calls[i].saved.count > 0) ++layers;
    for (const ValueId id : program.ids(program.calls[i].saved))
      saved[i] += static_cast<double>(program.value(id).bytes());
    total += saved[i];
  }
  // A storage crosses every boundary between the call that makes it and the last that uses it.
  for (std::size_t s = 0; s < made.size(); ++s) {
    if (made[s] == 0xffffffff) continue;
    const std::uint32_t last =
        std::min<std::uint32_t>(program.released[s], static_cast<std::uint32_t>(calls - 1));
    if (last <= made[s]) continue;
    crossing[made[s] + 1] += static_cast<double>(program.storages[s].bytes);
    crossing[last + 1] -= static_cast<double>(program.storages[s].bytes);
  }
  for (std::size_t i = 1; i <= calls; ++i) crossing[i] += crossing[i - 1];

  const auto segments = static_cast<std::int64_t>(std::sqrt(static_cast<double>(layers)));
  std::vector<std::uint32_t> cuts;
  if (segments < 2 || total == 0) return cuts;
  const double each = total / static_cast<double>(segments);
  double since = 0;
  std::uint32_t best = 0;
  for (std::uint32_t i = 1; i < calls; ++i) {
    since += saved[i - 1];
    if (program.calls[i].op == kLossCall) break;
    if (since < each / 2) continue;
    if (best == 0 || crossing[i] < crossing[best]) best = i;
    if (since >= each + each / 2) {
      cuts.push_back(best);
      since = 0;
      for (std::uint32_t k = best; k < i; ++k) since += saved[k];
      best = 0;
    }
  }
  if (!cuts.empty()) cuts.insert(cuts.begin(), 0);
  return cuts;
}

}  // namespace plimsoll::program
