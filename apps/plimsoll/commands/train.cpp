#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "command.hpp"
#include "interruption.hpp"
#include "json_output.hpp"
#include "measure/engine_program.hpp"
#include "measure/engine_run.hpp"
#include "nvml/library.hpp"
#include "progress_line.hpp"
#include "run/session.hpp"
#include "run/supervision.hpp"
#include "run_ends.hpp"
#include "train_options.hpp"
#include "train_record.hpp"
#include "trained_files.hpp"

namespace plimsoll {
namespace {

/// Names the file in which a training that is run and recorded leaves its answer for who started it.
constexpr const char* kAnswerVariable = "PLIMSOLL_TRAIN_ANSWER";
constexpr std::size_t kMostAnswerBytes = std::size_t{256} << 20;
constexpr auto kDay = std::chrono::hours(24);  // a test of a large data set is silent for long

bool machine_has_gpu() {
  const Result<std::unique_ptr<nvml::Library>> nvml = nvml::open();
  const auto gpus = nvml ? (*nvml)->device_count() : Result<unsigned>(0);
  return gpus && *gpus > 0;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// Trains, in this process's run where it is one.
Result<int> learn(const TrainOptions& options, ReadyTraining training, const std::filesystem::path& engine) {
  Result<running::SignalSource> signals = running::SignalSource::open();
  PLIMSOLL_TRY(signals);
  Interruption interruption(*std::move(signals));
  Statements statements = Statements::of_this_process();
  TrainRecord record(training, statements, !options.json);
  record.begin();
  Result<measure::EngineEnd> end = measure::EngineEnd::finished;
  {
    ProgressLine progress(1, 0);
    progress.begin_row(training.label);
    const measure::EngineListener listener{.on_answer =
                                               [&](const job::Answer& answer) {
                                                 record.hear(answer);
                                                 if (const auto* at = std::get_if<job::Progress>(&answer))
                                                   progress.show(*at);
                                               },
                                           .on_turn = {},
                                           .interrupted = [&] { return interruption.came(); }};
    end = measure::run_engine(engine, training.job, {.whole = 365 * kDay, .silence = kDay}, listener);
  }
  statements.finish();
  if (!end) return std::unexpected(std::move(end).error());
  if (*end == measure::EngineEnd::interrupted) {
    fmt::print(stderr, "plimsoll: interrupted; the engine was ended{}\n",
               options.save.empty() ? "" : ", and --resume goes on from the last save");
    return 128 + interruption.signal();
  }
  if (record.does_not_fit()) {
    fmt::print(stderr, "plimsoll: it does not fit: {}\n  A smaller --batch takes less.\n",
               printable(record.does_not_fit()->message));
    return 1;
  }
  if (record.failure()) return std::unexpected(*record.failure());
  nlohmann::ordered_json answer = record.json();
  answer["files"] = nullptr;
  if (!training.job.learning.folder.empty()) {
    const std::filesystem::path folder = training.job.learning.folder;
    const Result<std::filesystem::path> onnx = write_trained_onnx(training);
    PLIMSOLL_TRY(onnx);
    answer["files"] = {{"weights", printable((folder / job::kTrainedFile).string())},
                       {"onnx", printable(onnx->string())},
                       {"save", printable((folder / job::kSaveFile).string())}};
    if (!options.json) fmt::print("trained weights: {}, {}\n", job::kTrainedFile, printable(onnx->string()));
  }
  if (!options.json) fmt::print("{}", record.summary());
  const std::string file = variable(kAnswerVariable);
  if (!file.empty()) {
    PLIMSOLL_TRY(write_file(file, json_text(answer)));
    return 0;  // the run itself went well; whether the target was reached is for who started it to say
  }
  if (options.json) print_json(answer);
  return record.reached().value_or(true) ? 0 : 1;
}

/// This program's own words, as they were given.
Result<std::vector<std::string>> own_command() {
  std::error_code problem;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", problem);
  const Result<std::string> text = read_file("/proc/self/cmdline", std::size_t{16} << 20);
  PLIMSOLL_TRY(text);
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\0', at), text->size());
    words.push_back(text->substr(at, end - at));
    at = end + 1;
  }
  if (problem || words.empty())
    return std::unexpected(Error{.message = "this program cannot be found again: /proc is not there",
                                 .kind = Error::Kind::machine_lacks});
  words.front() = program.string();
  return words;
}

/// Runs itself, watched and recorded as any command is.
Result<int> learn_recorded(const TrainOptions& options, const ReadyTraining& training) {
  Result<std::vector<std::string>> words = own_command();
  PLIMSOLL_TRY(words);
  const Result<TemporaryDirectory> folder = TemporaryDirectory::make("plimsoll-train");
  PLIMSOLL_TRY(folder);
  const std::filesystem::path file = folder->path() / "answer.json";
  running::JobSpec job;
  job.command = *std::move(words);
  if (!options.experiment.empty()) job.experiment = options.experiment;
  job.name = options.name.empty()
                 ? fmt::format("train {}", std::filesystem::path(training.label).filename().string())
                 : options.name;
  job.environment = {{kAnswerVariable, file.string()}};
  running::SessionOptions session;
  session.store = options.store;
  session.show_output = true;
  session.output_to_error = options.json;
  const std::vector<running::JobSpec> jobs{job};
  running::Listener listener;
  listener.warn = [](const std::string& line) { tell(printable(line)); };
  listener.ended = [&](const running::Ended& ended) {
    if (ended.exit_code != 0 || ended.signal != 0 || ended.unkept || ended.metrics_lost > 0)
      tell_end(ended, "train");
  };
  const auto result = running::run_session(
      {.jobs = jobs, .options = session, .mlflow_uri = {}, .no_mlflow = true, .quiet = true}, listener);
  PLIMSOLL_TRY(result);
  if (result->ended.empty()) return 130;
  const running::Ended& ended = result->ended.front();
  const int code = exit_code_of(ended);
  if (code != 0) return code;
  const Result<std::string> text = read_file(file, kMostAnswerBytes);
  PLIMSOLL_TRY(text);
  nlohmann::ordered_json answer = nlohmann::ordered_json::parse(*text, nullptr, false);
  if (answer.is_discarded()) return fail("the training left no answer that can be read");
  answer["run"] = ended.run;
  if (options.json)
    print_json(answer);
  else
    fmt::print("recorded as run {}\n", ended.run.substr(0, 8));
  const auto& target = answer["target"];
  return target.is_object() && !target.value("reached", false) ? 1 : 0;
}

Result<int> run(const TrainOptions& options) {
  const bool inside = !variable("PLIMSOLL_SOCKET").empty();
  Result<ReadyTraining> training = [&] {
    ProgressLine progress(1, 0);
    progress.begin_row("data");
    return make_ready(options, machine_has_gpu(), [&](double done) {
      progress.show({.phase = "preparing", .done = done, .seconds_left = {}});
    });
  }();
  PLIMSOLL_TRY(training);
  const Result<std::filesystem::path> engine = measure::find_engine(measure::EngineSearch::of_this_process());
  PLIMSOLL_TRY(engine);
  if (inside || options.no_track) return learn(options, *std::move(training), *engine);
  for (const std::string& note : training->model.notes) fmt::print(stderr, "plimsoll: {}\n", printable(note));
  return learn_recorded(options, *training);
}

}  // namespace

void add_train(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<TrainOptions>();
  CommandLine* command = app.add_subcommand(
      "train", "Train a network on your data, recorded, to a number of epochs or an accuracy");
  options->add_to(*command);
  command->footer(
      "Examples:\n"
      "  plimsoll train resnet18:input=1x32x32,classes=10 --image-size 32 "
      "--data /usr/share/datasets/fashion-mnist --optimizer adamw --lr 0.001\n"
      "  plimsoll train model.onnx --data photos --image-size 224x224 "
      "--hold-out 0.1 --target accuracy=0.9\n"
      "  plimsoll train model.onnx --data x.npy --labels y.npy --save out --resume\n"
      "Data: MNIST's IDX files, CIFAR's binary files, NumPy arrays, folders of PNG\n"
      "and JPEG files by class, or safetensors. It runs plimsoll-engine (`make\n"
      "engine`). Exit code 1: the target was not reached, or it does not fit.");
  command->callback([options, &invocation] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace plimsoll
