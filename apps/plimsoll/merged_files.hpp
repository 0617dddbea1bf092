#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "model_source.hpp"
#include "plan/merge/groups.hpp"
#include "plan/merge/manifest.hpp"

namespace plimsoll {

/// Models that may be merged: how the plan sees them, and where they came from, in the same order.
struct MergeModels {
  std::vector<LoadedModel> loaded;
  std::vector<plan::merge::Model> models;
};

/// Movable tensors of one type and shape that hold the same bytes, in one model or in several. Fails where a
/// model's weights are not there.
[[nodiscard]] Result<std::vector<plan::merge::TensorSet>> identical_tensors(MergeModels& of);

/// Writes the models into a new folder, with one file of weights in which each set of tensors is once, with
/// the contents of its first, and a manifest. The folder appears whole or not at all.
[[nodiscard]] Result<plan::merge::Manifest> write_merged(MergeModels& of,
                                                         const std::vector<plan::merge::TensorSet>& sets,
                                                         bool trained, const std::filesystem::path& folder);

}  // namespace plimsoll
