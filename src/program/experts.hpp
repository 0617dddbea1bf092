#pragma once
#include <cstdint>

#include "program/work_table.hpp"

namespace plimsoll::program {

/// How many of a layer's experts are chosen by at least one row: which, only the data tell.
struct ChosenExperts {
  std::int64_t least = 0;  ///< all rows choose the same
  std::int64_t most = 0;
  /// Where rows choose independently and all experts are as likely: E (1 - (1 - k/E)^T), rounded.
  std::int64_t expected = 0;
};
[[nodiscard]] ChosenExperts chosen_experts(std::int64_t experts, std::int64_t per_row, std::int64_t rows);

/// Bytes of a stacked weight that are read: those of the fewest or the most experts, as the Site is the lower
/// or the upper corner.
[[nodiscard]] std::int64_t bytes_of_chosen(const Site& site, network::TensorId stacked);

}  // namespace plimsoll::program
