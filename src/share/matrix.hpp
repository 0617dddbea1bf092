#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "share/beside.hpp"

namespace plimsoll::share {

/// Every pair of some workloads, themselves beside themselves included.
struct Matrix {
  Sharing sharing;
  std::size_t size = 0;
  std::vector<double> speeds = {};  ///< of the row's workload beside the column's
  [[nodiscard]] double speed(std::size_t row, std::size_t column) const {
    return speeds[row * size + column];
  }
  [[nodiscard]] double combined(std::size_t a, std::size_t b) const { return speed(a, b) + speed(b, a); }
  /// Beside which other one the two do most together.
  [[nodiscard]] std::optional<std::size_t> best_partner(std::size_t row) const;
};

/// Pure; on all cores. A pair is known with a standard error of 2 %.
[[nodiscard]] Result<Matrix> matrix(std::span<const Workload* const> workloads,
                                    const hardware::Device& device, const Sharing& sharing,
                                    const SharingFigures& figures);

}  // namespace plimsoll::share
