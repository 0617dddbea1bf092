#pragma once
#include <cstddef>

namespace plimsoll::store::mlflow_limits {

// What MLflow's servers take at most, and so do ours; lengths are in characters.
inline constexpr std::size_t kMostBatchMetrics = 1000, kMostBatchParams = 100, kMostBatchTags = 100,
                             kMostBatchEntities = 1000, kMostBatchBytes = 1'000'000;
inline constexpr std::size_t kLongestKey = 250, kLongestParam = 6000, kLongestTag = 8000,
                             kLongestExperimentTag = 20'000, kLongestExperimentName = 500,
                             kLongestLocation = 2048;
inline constexpr std::size_t kLongestDatasetName = 500, kLongestDatasetDigest = 36,
                             kLongestDatasetSource = 65'535, kLongestDatasetSchema = 1'048'575,
                             kLongestDatasetProfile = 16'777'215, kLongestInputTagKey = 255,
                             kLongestInputTagValue = 500;

}  // namespace plimsoll::store::mlflow_limits
