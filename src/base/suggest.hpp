#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal string
/// alignment), counted in bytes, without regard to ASCII case and to whether '-', '_' or a space separates.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidates that are nearest to `name`, all equally near; none where all are far off. Names that
/// continue what was written ("resnet" for "resnet50") count as near.
[[nodiscard]] std::vector<std::string_view> nearest_names(std::string_view name,
                                                          std::span<const std::string_view> candidates,
                                                          std::size_t limit = 3);

/// "Did you mean resnet50, resnet101 or resnet152?", for an Error's hint; empty where nothing is near.
[[nodiscard]] std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace plimsoll
