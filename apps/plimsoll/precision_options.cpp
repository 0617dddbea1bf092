#include "precision_options.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "setting_options.hpp"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 4> kFormats = {"fp32", "bf16", "fp16", "int8"};
constexpr double kMostEpochs = 1e6, kMostLearningRate = 1e6;

void add_format_options(CommandLine& command, PrecisionOptions& o) {
  command.add_option("--formats,-f", o.formats, "Number formats (default: fp32,bf16,fp16,int8)")
      ->delimiter(',')
      ->offers({kFormats.begin(), kFormats.end()})
      ->option_text("FORMAT,…");
  command
      .add_option(
          "--loss", o.loss,
          "Points of accuracy that int8 may lose: layers that cost most stay in fp32 until it holds on "
          "examples that nothing was chosen by; exit code 1 where it does not")
      ->in_range(0.0, 100.0)
      ->option_text("POINTS");
  command
      .add_option(
          "--range", o.range,
          "What 8-bit activations reach over: largest, percentile, entropy, or best (default): the one "
          "of them that costs least")
      ->one_of({"best", "largest", "percentile", "entropy"})
      ->option_text("RULE");
  command.add_flag("--reduce-range", o.reduced,
                   "Weights in 7 bits, for x86 processors without VNNI, whose sums saturate");
  command
      .add_option("--calibration", o.calibration,
                  "Examples to learn from that ranges are taken from (default: 512)")
      ->in_range<std::int64_t>(1, 1'000'000)
      ->option_text("N");
  command
      .add_option("--sensitivity", o.sensitivity,
                  "Examples by which layers are told that cost most (default: 2000)")
      ->in_range<std::int64_t>(1, 10'000'000)
      ->option_text("N");
  command.add_flag("--no-layers", o.no_layers, "Leave out what each layer costs (--loss needs it)");
  command
      .add_option("--kernels", o.kernels,
                  "Library of 8-bit kernels, as the answer names it (default: the best there is)")
      ->option_text("LIBRARY");
  command
      .add_option("--output,-o", o.output,
                  "Write the int8 network as ONNX: a file, or a folder for several widths")
      ->option_text("PATH");
}

void add_data_options(CommandLine& command, TrainOptions& o) {
  command.add_option("--data", o.data.path, "Examples, as for plimsoll train: see docs/commands/train.md")
      ->option_text("PATH");
  command.add_option("--labels", o.data.labels, "Labels of a NumPy or IDX file of examples")
      ->option_text("FILE");
  command.add_option("--test", o.data.test, "A file of examples to test on")->option_text("FILE");
  command.add_option("--test-labels", o.data.test_labels, "Labels of --test")->option_text("FILE");
  command
      .add_option("--hold-out", o.hold_out,
                  "Share of the examples to test on, where the data has no others: 0.1")
      ->option_text("SHARE");
  command.add_option("--image-size", o.image_size, "Scale and cut images to this size")
      ->option_text("HEIGHTxWIDTH");
  command.add_option("--channels", o.data.images.channels, "Make images grey (1) or coloured (3)")
      ->check([](const std::string& n) { return n == "1" || n == "3" ? "" : "is neither 1 nor 3"; })
      ->option_text("N");
  command.add_flag("--normalize", o.normalize,
                   "By mean and deviation of each channel over the images to learn from");
}

void add_training_options(CommandLine& command, PrecisionOptions& o) {
  const auto group = [](CommandLineOption* option) { option->group("Widths"); };
  group(
      command
          .add_option("--depth", o.depths,
                      "Width multipliers of a network of the zoo that has them (alpha), each trained first: "
                      "1,0.75,0.5,0.25")
          ->delimiter(',')
          ->in_range(0.01, 16.0)
          ->option_text("X,…"));
  group(command
            .add_option(
                "--keep", o.keep,
                "Folder in which the trainings are kept; the next start with it goes on (FOLDER/depth-0.5)")
            ->option_text("FOLDER"));
  group(
      command
          .add_option("--epochs,-e", o.train.learned.epochs, "Times to go through the examples (default: 10)")
          ->in_range<std::int64_t>(1, static_cast<std::int64_t>(kMostEpochs))
          ->option_text("N"));
  group(command
            .add_option("--examples", o.train.learned.examples,
                        "Learn from so many examples, drawn by the seed")
            ->positive()
            ->option_text("N"));
  group(command.add_option("--lr", o.train.execution.learning_rate, "Largest learning rate (default: 0.002)")
            ->in_range(0.0, kMostLearningRate)
            ->option_text("RATE"));
  group(command.add_option("--train-batch", o.train.setting.batch, "Examples in a step (default: 64)")
            ->positive()
            ->option_text("N"));
}

void add_run_options(CommandLine& command, PrecisionOptions& o) {
  command.add_option("--batch,-b", o.batch, "Examples in a pass that is timed (default: 1)")
      ->positive()
      ->option_text("N");
  command.add_option("--device,-d", o.train.device, "cpu, cuda or cuda:N (default: cpu)")
      ->offers({"cpu", "cuda", "cuda:0"})
      ->option_text("DEVICE");
  command.add_option("--threads", o.train.execution.threads, "Threads of the CPU (default: 0, all cores)")
      ->in_range<std::int64_t>(0, 65536)
      ->option_text("N");
  command.add_option("--seed", o.train.execution.seed, "Of splits, samples and trainings (default: 0)")
      ->option_text("N");
  command.add_option("--rounds", o.rounds, "Times that the formats are timed in turn (default: 5)")
      ->in_range<std::int64_t>(1, 1000)
      ->option_text("N");
  command.add_option("--seconds", o.seconds, "Of one round of a format (default: 2)")
      ->in_range(0.01, 3600.0)
      ->option_text("S");
  command.add_flag("--no-time", o.no_time, "Sizes and accuracies alone");
  command
      .add_option("--watts", o.watts, "Power while it runs, to tell energy by where no counter can be read")
      ->in_range(1e-3, 1e6)
      ->option_text("W");
}

}  // namespace

void PrecisionOptions::add_to(CommandLine& command) {
  train.learned.epochs = 10;
  train.execution.learning_rate = 0.002;
  command.add_option("model", train.model, kModelWords)->option_text("MODEL");
  add_data_options(command, train);
  add_format_options(command, *this);
  add_training_options(command, *this);
  add_run_options(command, *this);
  command.add_flag("--published", published,
                   "Accuracies that others published, of MODEL or of all; nothing is measured");
  command.add_option("--html", html, "Write a page with pictures")->option_text("FILE");
  auto* as_json = command.add_flag("--json", json, "Print one JSON document");
  command.add_flag("--csv", csv, "Print CSV, in SI base units")->excludes(as_json);
}

Status PrecisionOptions::check() const {
  std::set<std::string> seen;
  for (const std::string& format : formats) {
    if (std::ranges::find(kFormats, format) == kFormats.end())
      return std::unexpected(
          Error{fmt::format("{} is not a number format that is measured here", quote(format)), "--formats",
                fmt::format("There are {}.", fmt::join(kFormats, ", "))});
    if (!seen.insert(format).second) return fail("--formats names {} twice", format);
  }
  if (train.model.empty())
    return std::unexpected(
        Error{"MODEL is missing", {}, "Name an ONNX file, or a network of the zoo with --depth."});
  if (train.data.path.empty())
    return std::unexpected(Error{"--data is missing: accuracy is that on your data",
                                 {},
                                 "docs/commands/train.md says what it may be."});
  if (loss && !seen.contains("int8")) return fail("--loss is of int8, which --formats leaves out");
  if (!output.empty() && !seen.contains("int8"))
    return fail("--output writes int8, which --formats leaves out");
  if (loss && no_layers)
    return fail("--loss keeps the layers that cost most: --no-layers cannot be given with it");
  if (!keep.empty() && depths.empty()) return fail("--keep is of use only with --depth");
  if (std::set<double>(depths.begin(), depths.end()).size() != depths.size())
    return fail("--depth names a width twice");
  return {};
}

}  // namespace plimsoll
