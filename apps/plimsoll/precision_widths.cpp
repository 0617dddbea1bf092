#include "precision_widths.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "measure/engine_run.hpp"
#include "network/zoo/zoo.hpp"
#include "progress_line.hpp"
#include "trained_files.hpp"

namespace plimsoll {
namespace {

constexpr std::int64_t kWidthTrainingBatch = 64;
constexpr measure::EngineLimits kWidthTrainingLimits{.whole = std::chrono::hours(24 * 365),
                                                     .silence = std::chrono::hours(24)};
constexpr std::string_view kWidthOption = "alpha";

}  // namespace

Result<std::string> at_width(const std::string& model, double depth) {
  const network::zoo::Entry* entry = network::zoo::find(model);
  if (entry == nullptr)
    return std::unexpected(Error{"--depth is for networks of the zoo that can be built at any width",
                                 printable(model),
                                 "A file has the width that it has: measure each by itself."});
  const bool wide =
      std::ranges::any_of(entry->options, [](const auto& option) { return option.name == kWidthOption; });
  if (!wide)
    return std::unexpected(Error{"the zoo builds it at one width alone", printable(model),
                                 "mobilenet_v1 has widths; `plimsoll zoo` tells the options of each."});
  if (model.find(fmt::format("{}=", kWidthOption)) != model.npos)
    return std::unexpected(Error{"its width is said twice: by alpha and by --depth", printable(model), {}});
  return fmt::format("{}{}{}={:g}", model, model.find(':') == model.npos ? ":" : ",", kWidthOption, depth);
}

Result<std::optional<std::filesystem::path>> trained_width(const PrecisionOptions& options, double depth,
                                                           const std::filesystem::path& folder,
                                                           const std::filesystem::path& engine,
                                                           Interruption& interruption,
                                                           report::PrecisionStudy& study) {
  TrainOptions asked = options.train;
  Result<std::string> model = at_width(asked.model, depth);
  PLIMSOLL_TRY(model);
  asked.model = *std::move(model);
  asked.save = folder.string();
  asked.go_on = true;
  asked.no_track = true;
  asked.setting.optimizer = network::Optimizer::adamw;
  asked.learning.schedule.decline = job::Decline::one_cycle;
  if (!asked.setting.batch) asked.setting.batch = kWidthTrainingBatch;
  Result<ReadyTraining> training = make_ready(asked, false, {});
  PLIMSOLL_TRY(training);
  report::PrecisionTraining told{
      .depth = depth, .epochs = asked.learned.epochs, .examples = training->examples, .found = false};
  std::optional<Error> failed;
  ProgressLine progress(1, 0);
  progress.begin_row(fmt::format("training at {:g}", depth));
  const measure::EngineListener listener{
      .on_answer =
          [&](const job::Answer& answer) {
            if (const auto* at = std::get_if<job::Progress>(&answer)) progress.show(*at);
            if (const auto* save = std::get_if<job::WentOn>(&answer)) told.found = save->epoch >= told.epochs;
            if (const auto* epoch = std::get_if<job::Epoch>(&answer)) {
              told.accuracy = epoch->accuracy;
              told.seconds += epoch->seconds;
            }
            if (const auto* failure = std::get_if<job::Failure>(&answer))
              failed = Error{failure->message, failure->where, failure->hint};
            if (const auto* full = std::get_if<job::DoesNotFit>(&answer))
              failed = Error{"it does not fit: " + full->message, {}, "A smaller --train-batch takes less."};
          },
      .on_turn = {},
      .interrupted = [&] { return interruption.came(); }};
  const auto end = measure::run_engine(engine, training->job, kWidthTrainingLimits, listener);
  PLIMSOLL_TRY(end);
  if (*end == measure::EngineEnd::interrupted) return std::nullopt;
  if (failed) return std::unexpected(*failed);
  Result<std::filesystem::path> file = write_trained_onnx(*training);
  PLIMSOLL_TRY(file);
  study.trainings.push_back(told);
  return *std::move(file);
}

}  // namespace plimsoll
