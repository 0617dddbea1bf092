#pragma once
#include <filesystem>
#include <vector>

#include "base/error.hpp"
#include "plan/choose.hpp"

namespace plimsoll {

/// What `plimsoll precision --json` wrote: each form's accuracy, with its interval, goes to the variants of
/// its width (all of them where it tells none), before what they had.
[[nodiscard]] Status add_measured_accuracies(const std::filesystem::path& file,
                                             std::vector<plan::Variant>& variants);

}  // namespace plimsoll
