#include "report/merge_training.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestModel = 60;

std::string percent(double share) {
  return fmt::format("{:.2f} %", 100 * share);
}

std::string epochs_words(double epochs) {
  return fmt::format("{:g} epoch{}", epochs, epochs == 1 ? "" : "s");
}

Json sharing_json(const plan::merge::Sharing& sharing) {
  return Json(sharing);
}

}  // namespace

std::string trial_words(const learn::JointTrial& trial, const std::vector<plan::merge::Candidate>& candidates,
                        const std::vector<double>& floors) {
  std::size_t worst = 0;
  for (std::size_t i = 1; i < floors.size(); ++i)
    if (trial.accuracies[i] - floors[i] < trial.accuracies[worst] - floors[worst]) worst = i;
  return fmt::format("{} saved: {} after {}; the worst has {}, at least {} is wanted",
                     text(saved_by(candidates, trial.wanted)), trial.came.holds ? "holds" : "does not hold",
                     epochs_words(trial.came.epochs), percent(trial.accuracies[worst]),
                     percent(floors[worst]));
}

std::string merge_training_text(const MergeTrainingReport& report, const TextStyle& style) {
  using enum Importance;
  Table table{{{"Model", Align::left, true, always},
               {"Alone", Align::right, false, always},
               {"At least", Align::right, false, telling},
               {"Merged", Align::right, false, always}},
              {}};
  for (std::size_t i = 0; i < report.models.size(); ++i)
    table.rows.push_back({printable(short_path(report.models[i]), kLongestModel), percent(report.own[i]),
                          percent(report.floors[i]), percent(report.accuracies[i])});
  const auto trials = report.trials.size();
  return to_text(table, style) + "\n" +
         hanging("trained   ",
                 fmt::format("{} saved of what was tried, in {} trial{} and {} together. Each model keeps "
                             "{:g} % of its own "
                             "accuracy on the examples that are tested on",
                             text(report.found.saved), trials, trials == 1 ? "" : "s",
                             epochs_words(report.found.epochs), 100 * report.target),
                 style);
}

Json merge_training_json(const MergeTrainingReport& report) {
  Json models = Json::array(), trials = Json::array(), sharing = Json::array();
  for (std::size_t i = 0; i < report.models.size(); ++i)
    models.push_back({{"name", report.models[i]},
                      {"own_accuracy", report.own[i]},
                      {"least_accuracy", report.floors[i]},
                      {"accuracy", report.accuracies[i]}});
  for (const learn::JointTrial& trial : report.trials)
    trials.push_back({{"held", sharing_json(trial.held)},
                      {"wanted", sharing_json(trial.wanted)},
                      {"saves_bytes", saved_by(report.candidates, trial.wanted).count()},
                      {"holds", trial.came.holds},
                      {"epochs", trial.came.epochs},
                      {"accuracies", trial.accuracies}});
  return {{"target", report.target},
          {"models", std::move(models)},
          {"sharing", sharing_json(report.found.sharing)},
          {"saved_bytes", report.found.saved.count()},
          {"epochs", report.found.epochs},
          {"trials", std::move(trials)}};
}

}  // namespace plimsoll::report
