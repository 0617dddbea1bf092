#include "learn/joint_trials.hpp"

#include <algorithm>
#include <limits>
#include <ranges>

#include <fmt/format.h>

#include "base/files.hpp"
#include "job/fields.hpp"
#include "job/safetensors.hpp"

namespace plimsoll::learn {
namespace {

using plan::merge::Sharing;
using plan::merge::Trial;

constexpr int kVersion = 1;
constexpr const char* kFile = "trials.json";
constexpr std::size_t kLargestFile = std::size_t{64} << 20;
constexpr int kLevels = 4;  // document, trials, trial, its lists
constexpr std::int64_t kMostMembers = 1 << 20;

bool shares_nothing(const Sharing& sharing) {
  return std::ranges::all_of(sharing, [](int members) { return members < 2; });
}

/// Of the model that fares worst: what is left of what it may lose.
double margin_of(const std::vector<double>& accuracies, const std::vector<double>& own,
                 const std::vector<double>& floors) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < accuracies.size(); ++i) {
    const double may_lose = std::max(own[i] - floors[i], 1e-9);
    least = std::min(least, (accuracies[i] - floors[i]) / may_lose);
  }
  return std::clamp(least, -1e3, 1e3);
}

job::Json sharing_json(const Sharing& sharing) {
  return job::Json(sharing);
}
Sharing read_sharing(const job::Fields& fields, std::string_view key, std::size_t groups) {
  Sharing out;
  for (const std::int64_t members : fields.wholes(key, 0, kMostMembers))
    out.push_back(static_cast<int>(members));
  if (fields.good() && out.size() != groups) fields.complain(key, "is not of as many groups");
  return out;
}

job::Json trial_json(const JointTrial& trial) {
  return {{"held", sharing_json(trial.held)},
          {"wanted", sharing_json(trial.wanted)},
          {"holds", trial.came.holds},
          {"epochs", job::real_json(trial.came.epochs)},
          {"margin", job::real_json(trial.came.margin)},
          {"accuracies", job::reals_json(trial.accuracies)}};
}
JointTrial read_trial(const job::Fields& fields, std::size_t groups, std::size_t models) {
  JointTrial trial{.held = read_sharing(fields, "held", groups),
                   .wanted = read_sharing(fields, "wanted", groups),
                   .came = {.holds = fields.flag("holds"),
                            .epochs = fields.not_negative("epochs"),
                            .margin = fields.real("margin")},
                   .accuracies = fields.not_negatives("accuracies")};
  if (fields.good() && trial.accuracies.size() != models)
    fields.complain("accuracies", "are not of as many models");
  return trial;
}

/// The weights of a model as a joint training left them.
Status take_weights(job::Job& job, const std::filesystem::path& path) {
  const auto arrays = job::read_safetensors(path);
  PLIMSOLL_TRY(arrays);
  const auto file = static_cast<std::uint32_t>(job.files.size());
  job.files.push_back(path.string());
  std::vector<bool> located(job.network.tensors.size());
  const auto locate = [&](network::TensorId id) -> const job::StoredArray* {
    const auto found = arrays->find(std::string(job.network.name_of(id)));
    return found == arrays->end() ? nullptr : &found->second;
  };
  for (job::WeightLocation& weight : job.weights) {
    located[static_cast<std::size_t>(weight.tensor)] = true;
    if (const job::StoredArray* array = locate(weight.tensor))
      weight = {.tensor = weight.tensor, .file = file, .offset = array->offset, .bytes = array->bytes};
  }
  for (std::size_t i = 0; i < job.network.tensors.size(); ++i) {
    const auto id = static_cast<network::TensorId>(i);
    const network::Role role = job.network.tensor(id).role;
    if (located[i] || (role != network::Role::parameter && role != network::Role::buffer)) continue;
    if (const job::StoredArray* array = locate(id))
      job.weights.push_back({.tensor = id, .file = file, .offset = array->offset, .bytes = array->bytes});
  }
  return {};
}

}  // namespace

std::vector<plan::merge::Group> sharing_groups(const std::vector<plan::merge::Group>& groups,
                                               const Sharing& sharing) {
  std::vector<plan::merge::Group> out;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (sharing[i] < 2) continue;
    out.push_back(groups[i]);
    out.back().members.resize(std::min(out.back().members.size(), static_cast<std::size_t>(sharing[i])));
  }
  return out;
}

Result<JointTrials> JointTrials::open(JointMerge merge, std::filesystem::path folder, RunJob run) {
  JointTrials trials(std::move(merge), std::move(folder), std::move(run));
  std::error_code problem;
  std::filesystem::create_directories(trials.folder_, problem);
  if (problem)
    return std::unexpected(Error{"cannot be made: " + problem.message(), trials.folder_.string(), {}});
  PLIMSOLL_TRY(trials.read());
  if (trials.own_.empty()) PLIMSOLL_TRY(trials.measure_own());
  return trials;
}

std::vector<double> JointTrials::floors() const {
  std::vector<double> out;
  for (const double own : own_) out.push_back(merge_.target * own);
  return out;
}

std::filesystem::path JointTrials::folder_of(std::size_t trial) const {
  return folder_ / fmt::format("trial-{}", trial);
}

Status JointTrials::read() {
  std::error_code ignored;
  if (!std::filesystem::exists(folder_ / kFile, ignored)) return {};
  const Result<std::string> text = read_file(folder_ / kFile, kLargestFile);
  PLIMSOLL_TRY(text);
  const Result<job::Json> document = job::parse_within(*text, kLargestFile, kLevels);
  const auto at = [&](Error error) {
    return std::unexpected(std::move(error).within((folder_ / kFile).string()));
  };
  if (!document) return at(document.error());
  std::optional<Error> error;
  const job::Fields fields(*document, "", error);
  const bool same = fields.whole("version") == kVersion && fields.text("asked") == merge_.asked;
  if (!error && !same)
    return std::unexpected(Error{"holds another merge, or the same with other options", folder_.string(),
                                 "Another folder, or an empty one, begins anew."});
  own_ = fields.not_negatives("own");
  if (!error && own_.size() != merge_.jobs.size()) fields.complain("own", "is not of as many models");
  fields.each("trials", [&](const job::Fields& item) {
    trials_.push_back(read_trial(item, merge_.groups.size(), merge_.jobs.size()));
  });
  if (error) return at(*std::move(error));
  return {};
}

Status JointTrials::write() const {
  job::Json trials = job::Json::array();
  for (const JointTrial& trial : trials_) trials.push_back(trial_json(trial));
  return write_file(folder_ / kFile, job::dump({{"version", kVersion},
                                                {"asked", job::text_json(merge_.asked)},
                                                {"own", job::reals_json(own_)},
                                                {"trials", std::move(trials)}}));
}

Status JointTrials::measure_own() {
  const Sharing none(merge_.groups.size(), 0);
  Result<job::Job> job = job_of(none, none);
  PLIMSOLL_TRY(job);
  job->joining.epochs = 0;
  std::vector<double> own;
  PLIMSOLL_TRY(run_(*job, [&](const job::Answer& answer) {
    if (const auto* joined = std::get_if<job::Joined>(&answer)) own = joined->accuracies;
  }));
  if (own.size() != merge_.jobs.size()) return fail("the engine did not say how good the models are");
  own_ = std::move(own);
  return write();
}

Result<job::Job> JointTrials::job_of(const Sharing& held, const Sharing& wanted) const {
  job::Job job{.task = job::Task::join,
               .network = {},
               .binding = {},
               .device = merge_.jobs.front().device,
               .setting = {},
               .execution = merge_.jobs.front().execution,
               .protocol = {},
               .files = {},
               .weights = {},
               .inputs_file = {},
               .outputs_file = {},
               .data = {},
               .members = merge_.jobs};
  if (const auto weights = weights_of(held))
    for (std::size_t i = 0; i < job.members.size(); ++i)
      PLIMSOLL_TRY(take_weights(job.members[i], *weights / job::member_file(i)));
  const auto sets = plan::merge::shared_tensors(merge_.models, sharing_groups(merge_.groups, wanted));
  for (const plan::merge::TensorSet& set : sets) {
    std::vector<job::MemberWeight> tie;
    for (const plan::merge::TensorPlace& place : set)
      tie.push_back({place.model, merge_.models[place.model].tensors[place.tensor].id});
    job.joining.ties.push_back(std::move(tie));
  }
  // What is shared already is the same in all, and its mean what it is.
  job.joining.averaged = merge_.averaged;
  job.joining.floors = own_.empty() ? std::vector<double>(job.members.size(), 0.0) : floors();
  job.joining.epochs = merge_.epochs;
  return job;
}

const JointTrial* JointTrials::found(const Sharing& sharing) const {
  const auto it = std::ranges::find_if(
      trials_, [&](const JointTrial& trial) { return trial.came.holds && trial.wanted == sharing; });
  return it == trials_.end() ? nullptr : &*it;
}

std::optional<std::filesystem::path> JointTrials::weights_of(const Sharing& sharing) const {
  if (shares_nothing(sharing)) return std::nullopt;
  const JointTrial* const trial = found(sharing);
  if (trial == nullptr) return std::nullopt;
  return folder_of(static_cast<std::size_t>(trial - trials_.data()));
}

std::vector<double> JointTrials::accuracies_with(const Sharing& sharing) const {
  const JointTrial* const trial = shares_nothing(sharing) ? nullptr : found(sharing);
  return trial == nullptr ? own_ : trial->accuracies;
}

Result<std::optional<std::filesystem::path>> JointTrials::trained_weights(const Sharing& sharing) {
  std::optional<std::filesystem::path> folder = weights_of(sharing);
  if (!folder || failure_) return folder;
  const JointTrial trial = *found(sharing);
  std::error_code ignored;
  const bool all = std::ranges::all_of(
      std::views::iota(std::size_t{0}, merge_.jobs.size()),
      [&](std::size_t i) { return std::filesystem::exists(*folder / job::member_file(i), ignored); });
  if (all) return folder;
  // A search that tries everything from the beginning keeps no weights but the last.
  const Result<JointTrial> again = train(trial.held, trial.wanted, *folder);
  PLIMSOLL_TRY(again);
  if (!again->came.holds) return fail("a joint training that held does not hold when it is run again");
  return folder;
}

/// A search goes on from what holds, and never back.
void JointTrials::drop_weights_but(const Sharing& held) const {
  const auto kept = weights_of(held);
  for (std::size_t i = 0; i <= trials_.size(); ++i)
    if (std::error_code ignored; !kept || folder_of(i) != *kept)
      std::filesystem::remove_all(folder_of(i), ignored);
}

Trial JointTrials::try_out(const Sharing& held, const Sharing& wanted) {
  if (failure_) return {};
  const auto known = std::ranges::find_if(
      trials_, [&](const JointTrial& trial) { return trial.held == held && trial.wanted == wanted; });
  if (known != trials_.end()) return known->came;
  if (on_begin) on_begin(wanted);
  Result<JointTrial> trial = train(held, wanted, folder_of(trials_.size()));
  if (!trial) {
    failure_ = std::move(trial).error();
    return {};
  }
  trials_.push_back(*trial);
  if (Status written = write(); !written) {
    trials_.pop_back();
    failure_ = std::move(written).error();
    return {};
  }
  if (on_end) on_end(*trial);
  return trial->came;
}

Result<JointTrial> JointTrials::train(const Sharing& held, const Sharing& wanted,
                                      const std::filesystem::path& folder) {
  drop_weights_but(held);
  Result<job::Job> job = job_of(held, wanted);
  PLIMSOLL_TRY(job);
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) return std::unexpected(Error{"cannot be made: " + problem.message(), folder.string(), {}});
  job->joining.folder = folder.string();
  std::optional<job::Joined> last;
  PLIMSOLL_TRY(run_(*job, [&](const job::Answer& answer) {
    if (const auto* joined = std::get_if<job::Joined>(&answer)) {
      last = *joined;
      if (on_epoch) on_epoch(*joined);
    }
  }));
  if (!last || last->accuracies.size() != own_.size())
    return fail("the engine did not say what came of a trial");
  JointTrial trial{.held = held,
                   .wanted = wanted,
                   .came = {.holds = last->held,
                            .epochs = static_cast<double>(last->epoch),
                            .margin = margin_of(last->accuracies, own_, floors())},
                   .accuracies = last->accuracies};
  if (!trial.came.holds) std::filesystem::remove_all(folder, problem);
  return trial;
}

}  // namespace plimsoll::learn
