#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "command.hpp"
#include "json_output.hpp"
#include "merge_training.hpp"
#include "merged_files.hpp"
#include "report/merge_report.hpp"

namespace plimsoll {
namespace {

using plan::merge::Method;

struct MergeOptions {
  std::vector<std::string> models;
  Method method = Method::plimsoll;
  plan::merge::Scope scope;
  std::int64_t seed = 0;
  bool all = false, untrained = false, json = false;
  std::string html, output;
  MergeTrainingOptions training;
};

Result<MergeModels> load(const MergeOptions& options) {
  if (options.models.size() < 2 && !options.scope.within)
    return std::unexpected(Error{.message = "one model has nothing to share with",
                                 .hint = "name another, or let its own layers share: --within"});
  if (options.models.size() > plan::merge::kMostModels)
    return fail("more than {} models", plan::merge::kMostModels);
  MergeModels out;
  for (const std::string& spec : options.models) {
    // A GGUF file is planned with; its weights are in blocks that no ONNX file holds.
    auto loaded = load_model({.spec = spec, .keep_file = !spec.ends_with(".gguf")});
    PLIMSOLL_TRY(loaded);
    out.models.push_back(plan::merge::describe(loaded->label, loaded->network));
    out.loaded.push_back(*std::move(loaded));
  }
  return out;
}

bool hold_weights(const MergeModels& models) {
  for (const LoadedModel& loaded : models.loaded) {
    if (!loaded.file) return false;
    for (const onnx::WeightData& weight : loaded.file->weights)
      if (weight.storage == onnx::Storage::none) return false;
  }
  return true;
}

/// What can be shared as it is; a note where the weights are not to be had.
std::vector<plan::merge::TensorSet> look_for_identical(MergeModels& models, report::MergeReport& report) {
  if (!hold_weights(models)) return {};
  auto sets = identical_tensors(models);
  if (!sets) {
    report.notes.push_back(fmt::format("weights were not compared: {}", sets.error().text()));
    return {};
  }
  // Of all that is stored: what holds the same numbers may be a head, too.
  report.identical = totals(models.models, *sets, {});
  return *std::move(sets);
}

Status write(MergeModels& models, std::vector<plan::merge::TensorSet> identical, const MergeOptions& options,
             report::MergeReport& report) {
  std::vector<plan::merge::TensorSet> sets;
  if (options.untrained)
    sets = shared_tensors(models.models, report.plan.chosen);
  else if (options.method != Method::none)
    sets = std::move(identical);
  const auto manifest = write_merged(models, sets, !options.untrained, options.output);
  PLIMSOLL_TRY(manifest);
  report.written = options.output;
  report.trained = manifest->trained;
  return {};
}

Status show(const report::MergeReport& report, const MergeOptions& options, const report::TextStyle& style) {
  if (!options.html.empty()) {
    PLIMSOLL_TRY(write_file(options.html, report::merge_page(report)));
    fmt::print(stderr, "the page is in {}\n", printable(options.html));
  }
  if (options.json)
    print_json(report::merge_json(report));
  else
    fmt::print("{}", report::merge_text(report, options.all, style));
  return {};
}

/// The models with the weights that they ended with, under the names that they were given.
Result<MergeModels> load_trained(const MergeOptions& options, const MergeTraining& training) {
  if (training.files.empty()) return load(options);
  MergeModels out;
  for (std::size_t i = 0; i < training.files.size(); ++i) {
    auto loaded = load_model({.spec = training.files[i].string(), .keep_file = true});
    PLIMSOLL_TRY(loaded);
    out.models.push_back(plan::merge::describe(options.models[i], loaded->network));
    out.loaded.push_back(*std::move(loaded));
  }
  return out;
}

/// Trains them together first.
Result<int> run_trained(const MergeOptions& options, const report::TextStyle& style) {
  if (options.output.empty())
    return std::unexpected(Error{.message = "--data trains models, but there is no place for them",
                                 .hint = "name a new folder: --output merged"});
  if (options.untrained) return fail("--data trains what --untrained leaves untrained: leave one out");
  // Not after hours of training.
  if (std::error_code ignored;
      std::filesystem::exists(options.output, ignored) && !std::filesystem::is_empty(options.output, ignored))
    return std::unexpected(
        Error{"is there already, and not empty", printable(options.output), "--output names a new folder."});
  MergeTrainingOptions asked = options.training;
  if (asked.progress.empty()) asked.progress = options.output + ".progress";
  const auto seed = static_cast<std::uint64_t>(options.seed);
  const auto trained =
      train_merge(asked, options.models, options.scope, options.method, seed,
                  [](const std::string& line) { fmt::print(stderr, "plimsoll: {}\n", line); });
  PLIMSOLL_TRY(trained);
  if (!*trained) {
    fmt::print(stderr, "plimsoll: interrupted; the same command goes on from what is in {}\n",
               printable(asked.progress));
    return 130;
  }
  const MergeTraining& training = **trained;
  auto models = load_trained(options, training);
  PLIMSOLL_TRY(models);
  report::MergeReport report{
      .models = models->models, .scope = options.scope, .method = options.method, .plan = {}};
  report.plan = make_plan(models->models, options.scope, options.method, seed);
  report.plan.chosen = learn::sharing_groups(training.tried, training.found.sharing);
  auto identical = identical_tensors(*models);
  PLIMSOLL_TRY(identical);
  report.plan.saved = report.identical.emplace(totals(models->models, *identical, {}));
  report.training = report::MergeTrainingReport{.models = options.models,
                                                .target = asked.target,
                                                .own = training.own,
                                                .floors = training.floors,
                                                .accuracies = training.accuracies,
                                                .candidates = training.candidates,
                                                .found = training.found,
                                                .trials = training.trials};
  PLIMSOLL_TRY(write_merged(*models, *identical, true, options.output));
  report.written = options.output;
  PLIMSOLL_TRY(show(report, options, style));
  return report.plan.chosen.empty() ? 1 : 0;
}

Result<int> run(const MergeOptions& options, const report::TextStyle& style) {
  if (!options.training.tasks.empty()) return run_trained(options, style);
  auto models = load(options);
  PLIMSOLL_TRY(models);
  report::MergeReport report{.models = models->models,
                             .scope = options.scope,
                             .method = options.method,
                             .plan = make_plan(models->models, options.scope, options.method,
                                               static_cast<std::uint64_t>(options.seed))};
  auto identical = look_for_identical(*models, report);
  if (!options.output.empty()) PLIMSOLL_TRY(write(*models, std::move(identical), options, report));
  PLIMSOLL_TRY(show(report, options, style));
  return report.plan.groups.empty() ? 1 : 0;
}

void add_output(CommandLine& command, MergeOptions& options) {
  auto* const output =
      command
          .add_option("--output,-o", options.output,
                      "Write the models, with one file of weights and a manifest, into this new folder: "
                      "tensors that hold the same numbers once")
          ->option_text("FOLDER");
  command
      .add_flag("--untrained", options.untrained,
                "Write what the method shares, too, with the first model's weights: the others are to be "
                "trained anew")
      ->needs(output);
  command
      .add_option("--html", options.html, "Write a page with the models side by side, shared layers joined")
      ->option_text("FILE");
  command.add_flag("--all", options.all, "Show every group");
  command.add_flag("--json", options.json, "Print one JSON document");
}

}  // namespace

void add_merge(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<MergeOptions>();
  CommandLine* command =
      app.add_subcommand("merge", "Which layers models can have in common, and the memory that saves");
  command->add_option("model", options->models, kModelWords)->required()->option_text("MODEL…");
  command
      ->add_choice<Method>(
          "--method", options->method,
          {{"none", Method::none},
           {"stem", Method::stem},
           {"greedy", Method::greedy},
           {"all-at-once", Method::all_at_once},
           {"random", Method::random},
           {"plimsoll", Method::plimsoll},
           {"exact", Method::exact}},
          "What is shared, and what is tried first: plimsoll (default), greedy, stem, all-at-once, "
          "random, exact or none")
      ->option_text("METHOD");
  command->add_option("--seed", options->seed, "Of the random order (default 0)")
      ->in_range<std::int64_t>(0, INT64_MAX)
      ->option_text("N");
  command->add_flag("--within", options->scope.within, "Layers of one model may share with each other, too");
  command->add_flag("--heads", options->scope.heads, "Heads may be shared: the models have one task");
  command->add_flag("--as-published", options->scope.as_published,
                    "Count convolutions and linear layers without heads alone, as published tables do");
  options->training.add_to(*command);
  add_output(*command, *options);
  command->footer(
      "Examples:\n"
      "  plimsoll merge vgg16 vgg19\n"
      "  plimsoll merge resnet50 resnet101 --method stem --as-published\n"
      "  plimsoll merge resnet18 resnet34 resnet50 --html merge.html\n"
      "  plimsoll merge tiny.onnx model.onnx --output merged\n"
      "  plimsoll merge a.onnx b.onnx --data tasks.toml --target 0.95 --output merged\n"
      "Exit code 1: there is no common layer, or none can be shared at that target. Whether models stay as "
      "good as they are, "
      "only training says: --data trains them, which needs plimsoll-engine (`make engine`).");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation] { return run(*options, output_style(invocation)); };
  });
}

}  // namespace plimsoll
