#pragma once
#include <cstddef>
#include <vector>

#include "store/run.hpp"

namespace plimsoll::serve::mlflow {

/// `most` of the points, evenly by their rank in the order of step, time and value, with the first and the
/// last among them: what MLflow's get-history-bulk-interval answers.
[[nodiscard]] std::vector<store::Point> sampled(std::vector<store::Point> points, std::size_t most);

}  // namespace plimsoll::serve::mlflow
