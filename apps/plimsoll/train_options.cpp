#include "train_options.hpp"

#include <cmath>
#include <map>

#include "base/printable.hpp"
#include "dataset/fit.hpp"
#include "dataset/image.hpp"
#include "learn/target.hpp"
#include "measure_options.hpp"
#include "quantity.hpp"
#include "setting_options.hpp"

namespace plimsoll {
namespace {

constexpr std::int64_t kBatch = 128;
constexpr double kMostEpochs = 1e6, kMostLearningRate = 1e6;

void add_data_options(CommandLine& command, TrainOptions& o) {
  command
      .add_option("--data", o.data.path, "What to learn from: a folder or a file; see docs/commands/train.md")
      ->required()
      ->option_text("PATH");
  command.add_option("--labels", o.data.labels, "Labels of a NumPy or IDX file of examples")
      ->option_text("FILE");
  command
      .add_option("--test", o.data.test, "A file of examples to test on; folders are known by their names")
      ->option_text("FILE");
  command.add_option("--test-labels", o.data.test_labels, "Labels of --test")->option_text("FILE");
  command
      .add_option("--hold-out", o.hold_out,
                  "Share of the examples to test on, where the data has no others: 0.1")
      ->option_text("SHARE");
  command
      .add_option("--other-data", o.other.path,
                  "Test the trained network on another data set, too: in its own folder or file, as --data")
      ->option_text("PATH");
  command.add_option("--other-labels", o.other.labels, "Labels of --other-data")->option_text("FILE");
  command.add_option("--examples", o.learned.examples, "Learn from so many examples, drawn by the seed")
      ->positive()
      ->option_text("N");
  command.add_option("--image-size", o.image_size, "Scale and cut images to this size")
      ->option_text("HEIGHTxWIDTH");
  command.add_option("--channels", o.data.images.channels, "Make images grey (1) or coloured (3)")
      ->check([](const std::string& n) { return n == "1" || n == "3" ? "" : "is neither 1 nor 3"; })
      ->option_text("N");
  command
      .add_option("--crop", o.learning.augmentation.crop,
                  "Cut images to learn from out of a margin of so many black pixels, at a place drawn")
      ->in_range<std::int64_t>(0, intake::kMostSide)
      ->option_text("PIXELS");
  command.add_flag("--flip", o.learning.augmentation.flip,
                   "Turn half of the images to learn from, left to right");
  command.add_flag("--normalize", o.normalize,
                   "By mean and deviation of each channel over the images to learn from");
}

void add_learning_options(CommandLine& command, TrainOptions& o) {
  static const std::map<std::string, job::Decline> kDeclines = {{"none", job::Decline::none},
                                                                {"step", job::Decline::step},
                                                                {"cosine", job::Decline::cosine},
                                                                {"one-cycle", job::Decline::one_cycle}};
  command.add_option("--epochs,-e", o.learned.epochs, "Times to go through the examples (default: 10)")
      ->in_range<std::int64_t>(1, static_cast<std::int64_t>(kMostEpochs))
      ->option_text("N");
  command
      .add_option("--lr", o.execution.learning_rate,
                  "Learning rate, the largest of the schedule (default: 0.01)")
      ->in_range(0.0, kMostLearningRate)
      ->option_text("RATE");
  add_optimizer_option(command, o.setting.optimizer);
  command.add_option("--weight-decay", o.learning.weight_decay, "Default: 0.01 of adamw, else none")
      ->in_range(0.0, kMostLearningRate)
      ->option_text("DECAY");
  command
      .add_choice("--schedule", o.learning.schedule.decline, kDeclines,
                  "How the learning rate falls: none (default), step, cosine, one-cycle")
      ->option_text("SCHEDULE");
  command
      .add_option("--warm-up", o.learning.schedule.warm_up_epochs,
                  "Epochs in which it grows first; parts of one, too")
      ->in_range(0.0, kMostEpochs)
      ->option_text("EPOCHS");
  command
      .add_option("--step-epochs", o.learning.schedule.step_epochs,
                  "With --schedule step: every so many (default: 30)")
      ->in_range(1e-3, kMostEpochs)
      ->option_text("EPOCHS");
  command
      .add_option("--step-factor", o.learning.schedule.step_factor,
                  "With --schedule step: times this (default: 0.1)")
      ->in_range(0.0, 1.0)
      ->option_text("FACTOR");
  add_loss_option(command, o.setting.loss);
  command
      .add_option("--target", o.target,
                  "End with the epoch that reaches it; exit code 1 where none does: accuracy=0.9")
      ->option_text("METRIC=VALUE");
}

void add_run_options(CommandLine& command, TrainOptions& o) {
  o.binding.add_to(command, o.setting);
  command.add_option("--device,-d", o.device, "cpu, cuda or cuda:N (default: the first GPU, else the CPU)")
      ->offers({"cpu", "cuda", "cuda:0"})
      ->option_text("DEVICE");
  add_precision_option(command, o.setting.precision);
  add_layout_option(command, o.setting.layout);
  command.add_option("--weights", o.weights.file, "Begin with the weights of a safetensors file, by name")
      ->option_text("FILE");
  command.add_flag("--random-weights", o.weights.random, "Begin anew, as is always done for zoo names");
  command.add_option("--freeze", o.setting.frozen, "Do not train parameters whose names begin with this")
      ->delimiter(',')
      ->option_text("PREFIX,…");
  command
      .add_option("--seed", o.execution.seed,
                  "Of weights, order, augmentation, Dropout and --hold-out (default: 0)")
      ->option_text("N");
  command.add_option("--threads", o.execution.threads, "Threads of the CPU (default: 0, all cores)")
      ->in_range<std::int64_t>(0, 65536)
      ->option_text("N");
}

void add_record_options(CommandLine& command, TrainOptions& o) {
  command.add_option("--save", o.save, "Folder for the trained weights and for saves to go on from")
      ->option_text("FOLDER");
  command
      .add_option("--save-every", o.learning.save_every,
                  "Save after so many steps (default: after each epoch)")
      ->positive()
      ->option_text("STEPS");
  command.add_flag("--resume", o.go_on, "Go on from the save in --save, where there is one");
  command.add_option("--name,-n", o.name, "Name of the run")->option_text("NAME");
  command.add_option("--experiment", o.experiment, "Experiment to record under")->option_text("NAME");
  command
      .add_option("--store", o.store,
                  "The store to record in (default: PLIMSOLL_STORE, else plimsoll.db in your data folder)")
      ->option_text("PATH");
  command.add_flag("--no-track", o.no_track, "Do not record it");
  command.add_flag("--json", o.json, "Print one JSON document at the end");
}

Result<double> target_of(const std::string& text) {
  const Result<learn::Target> target = learn::parse_target(text);
  if (target && target->metric == "accuracy" && target->direction == learn::Direction::at_least &&
      target->value > 0 && target->value <= 1)
    return target->value;
  return std::unexpected(Error{fmt::format("--target is '{}'", printable(text)),
                               {},
                               "Write accuracy=0.9: a share above 0, at most 1."});
}

/// Another data set is of the same form and the same classes as the one that is learned from.
Status ready_other(const TrainOptions& options, const intake::Request& learned,
                   const std::filesystem::path& folder, const dataset::Dataset& data,
                   const network::Shapes& shapes, const intake::OnProgress& progress, ReadyTraining& ready) {
  if (options.other.path.empty()) {
    if (!options.other.labels.empty()) return fail("--other-labels needs --other-data");
    return {};
  }
  intake::Request request = options.other;
  request.images = learned.images;
  request.classes = data.class_names();
  const auto within = [](const Error& error) { return std::unexpected(Error(error).within("--other-data")); };
  const Result<std::filesystem::path> file = intake::prepare(request, folder, progress);
  if (!file) return within(file.error());
  const Result<dataset::Dataset> other = dataset::Dataset::open(*file);
  if (!other) return within(other.error());
  if (!other->class_names().empty() && !data.class_names().empty() &&
      other->class_names() != data.class_names())
    return within(Error{"its classes are others than those that are learned",
                        printable(request.path.string()),
                        "Their names, in the order of their numbers, must be the same."});
  const dataset::Part& part = other->test() ? *other->test() : other->training();
  const std::int64_t batch = ready.job.setting.batch.value_or(1);  // of tests one need not be full
  const auto ends = dataset::check_fit(ready.job.network, shapes, *other, ready.job.setting.loss, batch);
  if (!ends) return within(ends.error());
  if (const Status fits = dataset::check_augmentation(part.inputs, ready.job.learning.augmentation); !fits)
    return within(fits.error());
  std::error_code ignored;
  ready.job.data->other_file = std::filesystem::absolute(*file, ignored).string();
  ready.other_examples = part.count();
  return {};
}

/// The folder is made, and what it holds is looked at: another training's save is not written over unasked.
Status ready_folder(const TrainOptions& options, job::Learning& learning) {
  if (options.save.empty()) {
    if (options.go_on || learning.save_every > 0) return fail("--resume and --save-every need --save FOLDER");
    return {};
  }
  std::error_code problem;
  const std::filesystem::path folder = std::filesystem::absolute(options.save, problem);
  std::filesystem::create_directories(folder, problem);
  if (problem)
    return std::unexpected(Error{"cannot be made: " + problem.message(), printable(folder.string())});
  if (!options.go_on && std::filesystem::exists(folder / job::kSaveFile, problem))
    return std::unexpected(Error{"holds a training already", printable(options.save),
                                 "--resume goes on with it; another folder, or an empty one, begins anew."});
  learning.folder = folder.string();
  learning.go_on = options.go_on;
  return {};
}

Status check_sizes(ReadyTraining& ready, const dataset::Dataset& data) {
  const job::Data& asked = *ready.job.data;
  std::int64_t examples = data.training().count();
  if (data.test()) {
    if (asked.held_out > 0)
      return std::unexpected(
          Error{"the data has examples to test on: --hold-out is not for it", {}, "Leave --hold-out out."});
    ready.test_examples = data.test()->count();
  } else {
    ready.test_examples = std::llround(static_cast<double>(examples) * asked.held_out);
    examples -= ready.test_examples;
  }
  ready.examples = asked.examples > 0 ? std::min(examples, asked.examples) : examples;
  ready.classes = data.classes();
  ready.class_names = data.class_names();
  if (ready.job.learning.target_accuracy && ready.test_examples == 0)
    return std::unexpected(Error{"--target needs examples to test on, and the data has none",
                                 {},
                                 "--hold-out 0.1 keeps a tenth for that."});
  return {};
}

}  // namespace

void TrainOptions::add_to(CommandLine& command) {
  learned.epochs = 10;
  command.add_option("model", model, kModelWords)->required()->option_text("MODEL");
  add_data_options(command, *this);
  add_learning_options(command, *this);
  add_run_options(command, *this);
  add_record_options(command, *this);
}

Result<ReadyTraining> make_ready(const TrainOptions& options, bool has_gpu,
                                 const intake::OnProgress& progress) {
  Result<std::string> device =
      engine_device(options.device.empty() ? (has_gpu ? "cuda" : "cpu") : options.device);
  PLIMSOLL_TRY(device);
  job::Learning learning = options.learning;
  learning.framework_weights = true;
  intake::Request request = options.data;
  if (!options.image_size.empty()) {
    const auto size = parse_size(options.image_size, true, "--image-size");
    PLIMSOLL_TRY(size);
    if (size->first > intake::kMostSide || size->second > intake::kMostSide)
      return fail("--image-size is more than {} pixels", intake::kMostSide);
    request.images.height = size->first;
    request.images.width = size->second;
  }
  if (!options.target.empty()) {
    const Result<double> target = target_of(options.target);
    PLIMSOLL_TRY(target);
    learning.target_accuracy = *target;
  }
  network::Setting setting = options.setting;
  setting.mode = network::Mode::train;
  if (setting.loss == network::Loss::none) return fail("--loss none has nothing to learn");
  if (!setting.batch) setting.batch = kBatch;
  Result<ReadyModel> model = make_ready({options.model,
                                         options.binding,
                                         {*setting.batch},
                                         setting,
                                         options.execution.seed,
                                         options.weights,
                                         {}});
  PLIMSOLL_TRY(model);
  const Result<std::filesystem::path> folder = intake::prepared_folder();
  PLIMSOLL_TRY(folder);
  const Result<std::filesystem::path> file = intake::prepare(request, *folder, progress);
  PLIMSOLL_TRY(file);
  const Result<dataset::Dataset> data = dataset::Dataset::open(*file);
  PLIMSOLL_TRY(data);
  if (options.normalize) {
    if (data->mean().empty()) return fail("--normalize needs images, of whose channels the mean is known");
    learning.augmentation.mean = data->mean();
    learning.augmentation.deviation = data->deviation();
    for (double& deviation : learning.augmentation.deviation)
      if (deviation <= 0) deviation = 1;  // a channel that is the same everywhere
  }
  PLIMSOLL_TRY(dataset::check_augmentation(data->training().inputs, learning.augmentation));

  ReadyTraining ready{.model = *std::move(model), .job = {}, .label = {}, .classes = {}, .class_names = {}};
  ready.label = ready.model.loaded.label;
  ready.job = job_for(ready.model, ready.model.batches.front(), *device, setting, options.execution, {});
  ready.job.task = job::Task::train;
  ready.job.learning = learning;
  ready.job.data = options.learned;
  std::error_code ignored;
  ready.job.data->file = std::filesystem::absolute(*file, ignored).string();
  if (!options.hold_out.empty()) {
    const Result<double> share = parse_share(options.hold_out, "--hold-out");
    PLIMSOLL_TRY(share);
    if (*share >= 1) return fail("--hold-out keeps all examples from being learned from");
    ready.job.data->held_out = *share;
  }
  PLIMSOLL_TRY(check_sizes(ready, *data));
  const Result<network::Shapes> shapes = network::infer(ready.job.network, ready.job.binding);
  PLIMSOLL_TRY(shapes);
  const auto ends = dataset::check_fit(ready.job.network, *shapes, *data, setting.loss, ready.examples);
  if (!ends) return std::unexpected(Error(ends.error()).within(printable(options.model)));
  PLIMSOLL_TRY(ready_other(options, request, *folder, *data, *shapes, progress, ready));
  PLIMSOLL_TRY(ready_folder(options, ready.job.learning));
  return ready;
}

}  // namespace plimsoll
