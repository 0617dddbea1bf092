#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "command.hpp"
#include "interruption.hpp"
#include "json_output.hpp"
#include "measure/engine_program.hpp"
#include "nvml/library.hpp"
#include "precision_run.hpp"
#include "precision_widths.hpp"
#include "progress_line.hpp"
#include "published_accuracy.hpp"
#include "report/precision_report.hpp"

namespace plimsoll {
namespace {

/// 8-bit products of x86 processors without VNNI saturate in the sums of two.
std::optional<std::string> saturation_note(const PrecisionOptions& options) {
#if defined(__x86_64__)
  if (options.reduced || std::ranges::find(options.formats, "int8") == options.formats.end())
    return std::nullopt;
  const Result<std::string> about = read_file("/proc/cpuinfo", std::size_t{16} << 20);
  const bool has = about && about->find("vnni") != about->npos;
  return has ? "this processor has VNNI: 8-bit sums do not saturate. On x86 without it they may; "
               "--reduce-range makes files for such"
             : "this processor has no VNNI: sums of 8-bit products may saturate; --reduce-range avoids that";
#else
  (void)options;
  return std::nullopt;
#endif
}

Result<std::vector<PrecisionSubject>> subjects_of(const PrecisionOptions& options,
                                                  const std::filesystem::path& engine,
                                                  const std::filesystem::path& folder,
                                                  Interruption& interruption, report::PrecisionStudy& study) {
  std::vector<PrecisionSubject> out;
  if (options.depths.empty()) {
    out.push_back({.depth = {}, .file = options.train.model, .output = options.output});
    return out;
  }
  for (const double depth : options.depths) {
    const std::filesystem::path kept = folder / fmt::format("depth-{:g}", depth);
    const auto file = trained_width(options, depth, kept, engine, interruption, study);
    PLIMSOLL_TRY(file);
    if (!*file) return out;
    PrecisionSubject subject{.depth = depth, .file = (*file)->string(), .output = {}};
    if (!options.output.empty()) {
      std::error_code problem;
      std::filesystem::create_directories(options.output, problem);
      if (problem) return fail("{} cannot be made: {}", quote(options.output), problem.message());
      subject.output =
          (std::filesystem::path(options.output) / fmt::format("depth-{:g}-int8.onnx", depth)).string();
    }
    out.push_back(std::move(subject));
  }
  return out;
}

/// The data, and whether the network fits it.
Result<ReadyTraining> ready_data(const PrecisionOptions& options, const std::string& model) {
  TrainOptions asked = options.train;
  asked.model = model;
  asked.setting.batch = 1;
  ProgressLine progress(1, 0);
  progress.begin_row("data");
  Result<ReadyTraining> ready = make_ready(asked, false, [&](double done) {
    progress.show({.phase = "preparing", .done = done, .seconds_left = {}});
  });
  PLIMSOLL_TRY(ready);
  if (!ready->model.loaded.file)
    return std::unexpected(
        Error{"has no weights: nothing was learned whose accuracy could be told", printable(model),
              "Name an ONNX file (plimsoll train --save writes one), or train widths by --depth."});
  if (ready->test_examples == 0 || !ready->classes)
    return std::unexpected(Error{"there are no examples of classes to test on",
                                 printable(options.train.data.path.string()),
                                 "--hold-out 0.1 keeps a tenth for that."});
  return ready;
}

int conclude(const PrecisionOptions& options, const report::PrecisionStudy& study,
             const report::TextStyle& style) {
  if (options.json)
    print_json(precision_json(study));
  else if (options.csv)
    fmt::print("{}", precision_csv(study));
  else
    fmt::print("{}", precision_text(study, style));
  const bool broken = std::ranges::any_of(study.forms, [](const report::PrecisionForm& form) {
    return form.kept_promise.has_value() && !*form.kept_promise;
  });
  return broken ? 1 : 0;
}

Result<int> measure_all(const PrecisionOptions& options, const report::TextStyle& style) {
  for (const double depth : options.depths) PLIMSOLL_TRY(at_width(options.train.model, depth));
  const Result<std::filesystem::path> program =
      measure::find_engine(measure::EngineSearch::of_this_process());
  PLIMSOLL_TRY(program);
  Result<running::SignalSource> signals = running::SignalSource::open();
  PLIMSOLL_TRY(signals);
  Interruption interruption(*std::move(signals));
  const Result<std::unique_ptr<nvml::Library>> nvml = nvml::open();
  report::PrecisionStudy study{.model = options.train.model,
                               .data = options.train.data.path.string(),
                               .device = options.train.device.empty() ? "cpu" : options.train.device,
                               .batch = options.batch,
                               .calibration = options.calibration};
  if (options.loss) study.limit = *options.loss / 100;
  std::optional<TemporaryDirectory> scratch;
  std::filesystem::path folder = options.keep;
  if (folder.empty()) {
    Result<TemporaryDirectory> made = TemporaryDirectory::make("plimsoll-precision");
    PLIMSOLL_TRY(made);
    scratch = *std::move(made);
    folder = scratch->path();
  }
  const auto subjects = subjects_of(options, *program, folder, interruption, study);
  PLIMSOLL_TRY(subjects);
  const auto stopped = [&] {
    fmt::print(stderr, "plimsoll: interrupted; the engine was ended{}\n",
               options.keep.empty() ? "" : ", and the same command goes on");
    return 128 + interruption.signal();
  };
  if (interruption.signal() != 0) return stopped();
  for (const PrecisionSubject& subject : *subjects) {
    const Result<ReadyTraining> training = ready_data(options, subject.file);
    PLIMSOLL_TRY(training);
    PrecisionEngine engine(options, training->job, *program, nvml ? nvml->get() : nullptr, interruption);
    study.calibration = std::min(options.calibration, training->examples);
    const Result<bool> whole = measure_precisions(options, subject, engine, study);
    PLIMSOLL_TRY(whole);
    if (!*whole) return stopped();
  }
  if (const auto note = saturation_note(options)) study.notes.push_back(*note);
  if (std::ranges::none_of(study.forms, [](const auto& f) { return f.joules.has_value(); }) &&
      !options.no_time)
    study.notes.emplace_back(
        "energy is not known: no counter can be read here; --watts tells the power to reckon with");
  mark_fronts(study);
  if (!options.html.empty()) PLIMSOLL_TRY(write_file(options.html, precision_page(study)));
  return conclude(options, study, style);
}

Result<int> run(const PrecisionOptions& options, const report::TextStyle& style) {
  if (options.published) return print_published(options.train.model, options.json, options.csv, style);
  PLIMSOLL_TRY(options.check());
  return measure_all(options, style);
}

}  // namespace

void add_precision(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<PrecisionOptions>();
  CommandLine* command = app.add_subcommand(
      "precision", "What number formats and widths cost: size, time, energy against accuracy on your data");
  options->add_to(*command);
  command->footer(
      "Examples:\n"
      "  plimsoll precision model.onnx --data photos --image-size 224x224 --hold-out 0.2\n"
      "  plimsoll precision model.onnx --data photos --hold-out 0.2 --formats fp32,int8 --loss 0.5 -o "
      "int8.onnx\n"
      "  plimsoll precision mobilenet_v1:classes=2 --data photos --hold-out 0.2 --depth 1,0.5 --keep widths "
      "--json\n"
      "  plimsoll precision --published resnet50\n"
      "Runs plimsoll-engine (`make engine`). `plimsoll choose --accuracy measured.json` takes the answer.\n"
      "Exit code 1: --loss cannot be kept.");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation] { return run(*options, output_style(invocation)); };
  });
}

}  // namespace plimsoll
