#pragma once
#include <cstddef>
#include <vector>

#include "store/run.hpp"

namespace plimsoll::store {

/// The order of samples: step, then time, then value, a NaN last.
[[nodiscard]] bool steps_before(const Point& a, const Point& b);

/// `most` of the points, evenly by their rank in that order, with the first and the last among them: what
/// MLflow's get-history-bulk-interval answers.
[[nodiscard]] std::vector<Point> sampled(std::vector<Point> points, std::size_t most);

}  // namespace plimsoll::store
