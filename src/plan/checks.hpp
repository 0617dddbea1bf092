#pragma once
#include <span>
#include <vector>

#include "plan/choose.hpp"

namespace plimsoll::plan {

/// Whether a device's runtime computes in that arithmetic.
[[nodiscard]] Standing runs(const hardware::Device& device, hardware::Arithmetic arithmetic);

/// One check per limit that was set, and for memory and precision always.
[[nodiscard]] std::vector<Check> checks_of(const Candidate& candidate, const Question& question,
                                           std::span<const hardware::Offer> offers,
                                           const Estimators& estimators);

}  // namespace plimsoll::plan
