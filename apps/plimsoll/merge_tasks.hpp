#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/all_errors.hpp"
#include "train_options.hpp"

namespace plimsoll {

/// What each of the models learns: the tables [[task]] of a TOML file, keys as the options of `plimsoll
/// train`. One with a key `model` is of the model of that name, one without it of all others. `common`: what
/// is asked of every training. Paths are from `folder`. All that is wrong is told at once.
[[nodiscard]] AllErrors<std::vector<TrainOptions>> read_merge_tasks(std::string_view text,
                                                                    const std::filesystem::path& folder,
                                                                    const std::vector<std::string>& models,
                                                                    const TrainOptions& common);

}  // namespace plimsoll
