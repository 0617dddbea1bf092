#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/all_errors.hpp"

namespace plimsoll {

/// Speeds of those in a group, by the way in which they shared a GPU and their names in order.
using MeasuredGroups = std::map<std::pair<std::string, std::vector<std::string>>, std::vector<double>>;

/// A JSON object a line: {"workloads": ["a", "b"], "sharing": "mps", "speed": [0.8, 0.7], …}. Rows of
/// one alone, of services (kind), and of groups with caps, are passed over; all that is wrong is told by
/// line.
[[nodiscard]] AllErrors<MeasuredGroups> read_measured_groups(std::string_view text);

}  // namespace plimsoll
