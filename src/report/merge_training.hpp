#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "learn/joint_trials.hpp"
#include "plan/merge/search.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// What came of training models together.
struct MergeTrainingReport {
  std::vector<std::string> models;
  double target = 0;  ///< of its own accuracy, that each keeps
  std::vector<double> own, floors, accuracies;
  std::vector<plan::merge::Candidate> candidates;
  plan::merge::Found found;
  std::vector<learn::JointTrial> trials;
};

[[nodiscard]] std::string merge_training_text(const MergeTrainingReport& report, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json merge_training_json(const MergeTrainingReport& report);

/// "13.5 MiB saved: holds after 2 epochs; the worst has 91.20 %, at least 90.50 % is wanted".
[[nodiscard]] std::string trial_words(const learn::JointTrial& trial,
                                      const std::vector<plan::merge::Candidate>& candidates,
                                      const std::vector<double>& floors);

}  // namespace plimsoll::report
