#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "share/beside.hpp"

namespace plimsoll::share {

enum class Goal : std::uint8_t {
  fairness,    ///< the slowest is as fast as can be
  throughput,  ///< all together
  latency,     ///< as fairness, and nobody waits for turns
  energy,      ///< fewest joules for what is done
};

/// A workload that is to keep so much of its speed.
struct Keep {
  std::size_t workload = 0;
  double speed = 0;
};
[[nodiscard]] bool keeps(const Beside& way, std::span<const Keep> keeps);

/// Whether all have the memory they need at least: each in its slice, one after the other, or all at once;
/// where the device's is not known, nothing is in the way.
[[nodiscard]] bool has_room(const Beside& way, std::span<const Workload* const> workloads,
                            const hardware::Device& device);

struct Choice {
  std::vector<Beside> ways;  ///< the best first
  bool kept = true;          ///< the best keeps what was asked for
  std::string why;
};

/// Tries every way: turns, MPS, MPS with caps, slices of the GPU where it has them.
[[nodiscard]] Result<Choice> choose(std::span<const Workload* const> workloads,
                                    const hardware::Device& device, const SharingFigures& figures,
                                    const Conditions& conditions, Goal goal, std::span<const Keep> keeps);

}  // namespace plimsoll::share
