#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "job/answer.hpp"
#include "job/job.hpp"
#include "plan/merge/groups.hpp"
#include "plan/merge/search.hpp"

namespace plimsoll::learn {

/// Runs one job and hands over what it answers. Fails where it did not come to its end.
using RunJob = std::function<Status(const job::Job&, const std::function<void(const job::Answer&)>&)>;

/// What is merged, and how its joint trainings are run.
struct JointMerge {
  /// How each model is trained; all on one device. Its weights are those that it has alone.
  std::vector<job::Job> jobs = {};
  std::vector<plan::merge::Model> models = {};  ///< of the jobs' networks
  std::vector<plan::merge::Group> groups = {};  ///< candidates of the search, in its order
  double target = 0.95;                         ///< of its own accuracy, that each model keeps
  std::int64_t epochs = 4;                      ///< of one trial, at most
  bool averaged = true;                         ///< a shared layer begins as the mean of its copies
  std::string asked =
      {};  ///< all else that decides what comes out, as text: a folder of something else is refused
};

/// A trial as it stands in the folder.
struct JointTrial {
  plan::merge::Sharing held = {}, wanted = {};
  plan::merge::Trial came = {};
  std::vector<double> accuracies = {};  ///< by model, at its end
  friend bool operator==(const JointTrial&, const JointTrial&) = default;
};

/// The groups that share, with as many members as do.
[[nodiscard]] std::vector<plan::merge::Group> sharing_groups(const std::vector<plan::merge::Group>& groups,
                                                             const plan::merge::Sharing& sharing);

/// Joint trainings as trials of a search. Each that has ended is in the folder before its result is told, so
/// that the same search, begun anew, is told what came of them without training again: who was killed goes
/// on.
class JointTrials {
 public:
  /// Measures what every model reaches alone, unless the folder knows. Refuses a folder of another merge.
  [[nodiscard]] static Result<JointTrials> open(JointMerge merge, std::filesystem::path folder, RunJob run);

  /// After a failure nothing is trained any more, and nothing holds.
  [[nodiscard]] plan::merge::Trial try_out(const plan::merge::Sharing& held,
                                           const plan::merge::Sharing& wanted);
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

  [[nodiscard]] const std::vector<double>& own() const { return own_; }  ///< accuracies, by model
  [[nodiscard]] std::vector<double> floors() const;
  [[nodiscard]] const std::vector<JointTrial>& trials() const { return trials_; }
  /// The folder of the members' weights (job::member_file) of the trial that held with this sharing, trained
  /// again where they are gone; nothing where no layer is shared.
  [[nodiscard]] Result<std::optional<std::filesystem::path>> trained_weights(
      const plan::merge::Sharing& sharing);
  /// Accuracies with this sharing: of the trial that held, or each model's own.
  [[nodiscard]] std::vector<double> accuracies_with(const plan::merge::Sharing& sharing) const;

  std::function<void(const plan::merge::Sharing& wanted)> on_begin = {};
  std::function<void(const job::Joined&)> on_epoch = {};
  std::function<void(const JointTrial&)> on_end = {};

 private:
  JointTrials(JointMerge merge, std::filesystem::path folder, RunJob run)
      : merge_(std::move(merge)), folder_(std::move(folder)), run_(std::move(run)) {}
  Status read();
  Status measure_own();
  [[nodiscard]] Status write() const;
  Result<JointTrial> train(const plan::merge::Sharing& held, const plan::merge::Sharing& wanted,
                           const std::filesystem::path& folder);
  [[nodiscard]] std::optional<std::filesystem::path> weights_of(const plan::merge::Sharing& sharing) const;
  [[nodiscard]] Result<job::Job> job_of(const plan::merge::Sharing& held,
                                        const plan::merge::Sharing& wanted) const;
  [[nodiscard]] const JointTrial* found(const plan::merge::Sharing& sharing) const;
  [[nodiscard]] std::filesystem::path folder_of(std::size_t trial) const;
  void drop_weights_but(const plan::merge::Sharing& held) const;

  JointMerge merge_;
  std::filesystem::path folder_;
  RunJob run_;
  std::vector<double> own_;
  std::vector<JointTrial> trials_;
  std::optional<Error> failure_;
};

}  // namespace plimsoll::learn
