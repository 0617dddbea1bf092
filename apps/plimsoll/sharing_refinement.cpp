#include "sharing_refinement.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "alone_run.hpp"
#include "base/files.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "diagnose/recording_reader.hpp"
#include "diagnose/together.hpp"
#include "hardware/sharing_figures_file.hpp"
#include "json_output.hpp"
#include "report/paragraph.hpp"
#include "setting_options.hpp"
#include "share/refine.hpp"
#include "sharing_figures_file.hpp"
#include "workload_source.hpp"

namespace plimsoll {
namespace {

using diagnose::Recording;

constexpr std::size_t kMostRuns = 1000;
constexpr diagnose::ReadLimits kLittle{.samples = 50'000, .own_metrics = 20};

/// Runs that were predicted together, the newest first.
using GroupOfRuns = std::vector<store::Run>;
std::vector<GroupOfRuns> groups_of(const std::vector<store::Run>& runs) {
  std::map<std::string, const store::Run*> by_id;
  for (const store::Run& run : runs) by_id[run.id] = &run;
  std::set<std::string> seen;
  std::vector<GroupOfRuns> out;
  for (const store::Run& run : runs) {
    if (seen.contains(run.id)) continue;
    std::vector<std::string> ids = diagnose::companions_of(run);
    ids.push_back(run.id);
    std::ranges::sort(ids);
    GroupOfRuns group;
    for (const std::string& id : ids) {
      seen.insert(id);
      if (const auto found = by_id.find(id); found != by_id.end()) group.push_back(*found->second);
    }
    if (group.size() == ids.size()) out.push_back(std::move(group));
  }
  return out;
}

std::string tag_of(const store::Run& run, const std::string& name) {
  const auto found = run.tags.find(name);
  return found == run.tags.end() ? "" : found->second;
}

/// Nothing where one of them told no steps while all worked.
Result<std::optional<share::Observation>> observed(store::Store& store, const GroupOfRuns& group,
                                                   const EstimateTarget& on) {
  std::vector<Recording> recordings;
  for (const store::Run& run : group) {
    auto recording = diagnose::read_recording(store, run, kLittle);
    PLIMSOLL_TRY(recording);
    recordings.push_back(*std::move(recording));
  }
  share::Observation out;
  out.sharing.way = tag_of(group.front(), "plimsoll.beside.sharing").starts_with("mps") ? share::Way::mps
                                                                                        : share::Way::naive;
  bool capped = false;
  for (const Recording& recording : recordings) {
    const auto together = diagnose::together_of(recording, recordings);
    if (!together || !together->speed()) return std::nullopt;
    auto requests = read_workloads(fmt::format("[{}]", tag_of(recording.run, "plimsoll.beside.workload")),
                                   "run " + recording.run.id);
    PLIMSOLL_TRY(requests);
    WorkloadRequest& request = requests->front();
    if (!request.alone_run.empty())
      if (const auto alone = alone_of_run(store, request.alone_run)) request.alone = alone->alone;
    auto workload = place_workload(request, on);
    PLIMSOLL_TRY(workload);
    out.workloads.push_back(*std::move(workload));
    out.speeds.push_back(*together->speed());
    const auto percentage = recording.number_tag("plimsoll.mps.percentage");
    capped = capped || percentage;
    out.sharing.caps.push_back(percentage ? *percentage / 100 : 1);
  }
  if (!capped) out.sharing.caps.clear();
  return out;
}

double percent_off(double log_error) {
  return 100 * (std::exp(log_error) - 1);
}

nlohmann::ordered_json refinement_json(const share::Refinement& found, const std::string& device) {
  return {{"device", printable(device, 96)},
          {"groups", found.groups},
          {"left_out", {{"error_before", found.before}, {"error_after", found.after}}},
          {"better", found.is_better()},
          {"figures", hardware::sharing_figures_json(found.figures)}};
}

}  // namespace

Result<int> refine_sharing(const RefinementTask& task, const report::TextStyle& style) {
  const auto store = store::open(task.store, {.create = false});
  PLIMSOLL_TRY(store);
  store::Search search;
  search.filter = "tags.`plimsoll.beside.workload` != ''";
  search.limit = kMostRuns;
  const auto runs = (*store)->search(search);
  PLIMSOLL_TRY(runs);
  if (runs->empty())
    return std::unexpected(Error{"no run was predicted beside others", (*store)->location(),
                                 "`plimsoll run` predicts jobs of a workload that have an `estimate`"});
  const std::string device_name = tag_of(runs->front(), "plimsoll.beside.device");
  const auto targets = estimate_targets({device_name}, "");
  PLIMSOLL_TRY(targets);
  const EstimateTarget& on = targets->front();
  std::vector<share::Observation> observations;
  std::size_t without = 0;
  for (const GroupOfRuns& group : groups_of(*runs)) {
    if (observations.size() >= share::kMostObservations) break;
    if (tag_of(group.front(), "plimsoll.beside.device") != device_name) continue;
    auto observation = observed(**store, group, on);
    PLIMSOLL_TRY(observation);
    if (*observation)
      observations.push_back(**std::move(observation));
    else
      ++without;
  }
  const auto figures = sharing_figures_of(on.device(), "");
  PLIMSOLL_TRY(figures);
  const auto found = share::refine(observations, on.device(), *figures);
  PLIMSOLL_TRY(found);
  if (task.json) {
    print_json(refinement_json(*found, on.device().name));
  } else {
    fmt::print("{}",
               report::paragraph(
                   fmt::format("{} groups of recorded runs on {}. Speeds in groups left out of what was "
                               "fitted were off by {:.1f} % in the mean, and are by {:.1f} % with what the "
                               "others say: {}.",
                               found->groups, printable(on.device().name), percent_off(found->before),
                               percent_off(found->after),
                               found->is_better() ? "better" : "no better; the figures stay as they are"),
                   style));
    if (without > 0)
      fmt::print(
          "{}", report::hanging(
                    "note: ", fmt::format("{} more told no steps while all of them worked", without), style));
  }
  if (!found->is_better()) return 1;
  std::filesystem::path file = task.output;
  if (file.empty()) {
    const auto own = own_sharing_file(on.device());
    if (!own) return std::unexpected(Error{"no place is known for the figures", "", "name a file with -o"});
    std::error_code failed;
    std::filesystem::create_directories(own->parent_path(), failed);
    file = *own;
  }
  nlohmann::ordered_json written = {{"device", printable(on.device().name, 96)}, {"date", task.date}};
  written.update(hardware::sharing_figures_json(found->figures));
  PLIMSOLL_TRY(write_file(file, written.dump(2) + "\n"));
  fmt::print(stderr, "the figures are in {}\n", printable(file.string()));
  return 0;
}

}  // namespace plimsoll
