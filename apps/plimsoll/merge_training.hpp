#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "learn/joint_trials.hpp"
#include "merge_tasks.hpp"
#include "plan/merge/plan.hpp"
#include "train_options.hpp"

namespace plimsoll {

/// The options of `plimsoll merge` that say how models are trained together.
struct MergeTrainingOptions {
  std::string tasks;     ///< a file of [[task]]; empty: nothing is trained
  std::string progress;  ///< the folder in which trials are kept, to go on from
  double target = 0.95;
  std::int64_t epochs = 4;
  TrainOptions common = {};

  void add_to(CommandLine& command);
};

/// Models that were trained together, whatever came of it.
struct MergeTraining {
  std::vector<ReadyTraining> members;
  std::vector<plan::merge::Model> models;          ///< of the networks that were trained
  std::vector<plan::merge::Group> tried;           ///< candidates, in the order of the search's numbers
  std::vector<plan::merge::Candidate> candidates;  ///< the same for the search
  plan::merge::Found found;
  std::vector<double> own, floors, accuracies;
  std::vector<learn::JointTrial> trials;
  /// Of each model, an ONNX file with the weights it ended with.
  std::vector<std::filesystem::path> files;
};

/// How a search is told while it goes on.
using TellMerge = std::function<void(const std::string& line)>;

/// Nothing where somebody ended it; what was tried is kept then, and the next start goes on.
[[nodiscard]] Result<std::optional<MergeTraining>> train_merge(const MergeTrainingOptions& options,
                                                               const std::vector<std::string>& models,
                                                               const plan::merge::Scope& scope,
                                                               plan::merge::Method method, std::uint64_t seed,
                                                               const TellMerge& tell);

}  // namespace plimsoll
