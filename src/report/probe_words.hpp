#pragma once
#include <string>
#include <string_view>

#include "probe/study.hpp"

namespace plimsoll::report {

// Names for programs, and words for people.

[[nodiscard]] std::string_view name(probe::Place place);      ///< "gpu-managed-prefetch"
[[nodiscard]] std::string_view name(probe::Workers workers);  ///< "many-blocks"
[[nodiscard]] std::string_view name(probe::Method method);    ///< "blocked"

[[nodiscard]] std::string_view words(probe::Place place);      ///< "GPU, unified memory, prefetched"
[[nodiscard]] std::string_view words(probe::Workers workers);  ///< "many blocks of 256"
[[nodiscard]] std::string_view words(probe::Method method, bool gpu);

/// A figure with a prefix before its unit: "4.80 TB/s", "1.23 ms", "2.10 pJ/B".
[[nodiscard]] std::string figure_text(double value, std::string_view unit);
[[nodiscard]] std::string percent_text(double share);  ///< "93.1 %"

}  // namespace plimsoll::report
