// The task "train": epochs over a data set, tested after each, saved on the way.
#include <chrono>
#include <future>
#include <numeric>

#include <c10/core/GradMode.h>

#include "dataset/fit.hpp"
#include "dataset/image.hpp"
#include "dataset/split.hpp"
#include "engine/batches.hpp"
#include "engine/precision.hpp"
#include "engine/saving.hpp"
#include "engine/session.hpp"
#include "engine/training.hpp"

namespace plimsoll::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenAnswers = std::chrono::seconds(1);

std::vector<std::int64_t> all_of(const dataset::Part& part) {
  std::vector<std::int64_t> examples(static_cast<std::size_t>(part.count()));
  std::iota(examples.begin(), examples.end(), 0);
  return examples;
}

std::string text_of(const job::Augmentation& a) {
  return fmt::format("crop {}, flip {}, mean {}, deviation {}", a.crop, a.flip, fmt::join(a.mean, " "),
                     fmt::join(a.deviation, " "));
}

/// What a test set shows.
struct Test {
  std::optional<double> accuracy;
  double loss = 0, seconds = 0;
};

/// One network that learns one data set.
class Student {
 public:
  static Result<std::unique_ptr<Student>> make(Session& session) {
    std::unique_ptr<Student> student(new Student(session));
    if (Status ready = student->prepare(); !ready) return std::unexpected(std::move(ready).error());
    return student;
  }

  [[nodiscard]] std::int64_t steps_per_epoch() const { return training_->whole(); }
  [[nodiscard]] std::int64_t steps() const { return steps_per_epoch() * job_.data->epochs; }
  [[nodiscard]] Optimizer& optimizer() { return *optimizer_; }
  [[nodiscard]] Executor& executor() { return *session_.executor; }
  [[nodiscard]] std::int64_t batch() const { return training_->size(); }

  /// From the first batch of an epoch that is not done yet.
  void begin_epoch(std::int64_t epoch, std::int64_t first) {
    training_->begin_epoch(epoch, job_.data->shuffle);
    fetch(first);
  }

  [[nodiscard]] double learning_rate(std::int64_t step) const {
    return job::learning_rate_at(job_.learning.schedule, job_.execution.learning_rate, step,
                                 steps_per_epoch(), steps());
  }

  /// One step; while the device computes the next batch is read. The loss stays on the device.
  at::Tensor learn(std::int64_t step, std::int64_t batch_number) {
    const ExampleBatch batch = next_.get();
    if (batch_number + 1 < steps_per_epoch()) fetch(batch_number + 1);
    optimizer_->set_learning_rate(learning_rate(step));
    return training_step(job_.setting, *session_.executor, on_device(batch.inputs), labels_on_device(batch),
                         *optimizer_);
  }

  /// How well it does on the examples that were held out; nothing where there are none.
  std::optional<Test> test() { return test_ ? std::optional(test(*test_)) : std::nullopt; }

  /// And on another data set; nothing where none was named.
  std::optional<job::Tested> test_elsewhere() {
    if (!other_) return std::nullopt;
    const Test found = test(*other_);
    return job::Tested{.examples = other_->examples(),
                       .accuracy = found.accuracy,
                       .loss = found.loss,
                       .seconds = found.seconds};
  }

  /// Of the training, for a save to be compared with.
  [[nodiscard]] Identity identity() const {
    const job::Learning& learning = job_.learning;
    const job::Schedule& s = learning.schedule;
    return {{"batch", std::to_string(batch())},
            {"optimizer", std::string(network::name(job_.setting.optimizer))},
            {"loss", std::string(network::name(job_.setting.loss))},
            {"precision", std::string(network::name(job_.setting.precision))},
            {"learning rate", fmt::format("{}", job_.execution.learning_rate)},
            {"weight decay", learning.weight_decay ? fmt::format("{}", *learning.weight_decay) : "its own"},
            {"schedule", fmt::format("{}, warm-up {}, every {} times {}", job::name(s.decline),
                                     s.warm_up_epochs, s.step_epochs, s.step_factor)},
            {"augmentation", text_of(learning.augmentation)},
            {"seed", std::to_string(job_.execution.seed)},
            {"number of epochs", std::to_string(job_.data->epochs)},
            {"frozen", fmt::format("{}", fmt::join(job_.setting.frozen, " "))},
            {"shuffling", job_.data->shuffle ? "on" : "off"},
            {"number of examples", std::to_string(training_->examples())},
            {"number of examples to test on", std::to_string(test_ ? test_->examples() : 0)},
            {"form of examples", dataset::shape_text(data_.training().inputs.dims)}};
  }

 private:
  explicit Student(Session& session) : session_(session), job_(session.job) {}

  Test test(const Batches& batches) {
    const auto begin = Clock::now();
    const c10::NoGradGuard no_gradients;
    std::int64_t right = 0;
    double loss = 0;
    for (std::int64_t number = 0; number < batches.all(); ++number) {
      const ExampleBatch batch = batches.batch(number);
      at::Tensor output;
      {
        const Autocast autocast(job_.setting.precision, session_.device->torch_device());
        output = tester_->run(on_device(batch.inputs))[0].tensor.slice(0, 0, batch.counted);
      }
      output = output.to(at::kFloat);
      const at::Tensor labels = labels_on_device(batch).slice(0, 0, batch.counted);
      loss +=
          loss_of(job_.setting.loss, output, labels).item().toDouble() * static_cast<double>(batch.counted);
      if (classes_) right += output.argmax(1).eq(labels).sum().item().toLong();
    }
    const auto examples = static_cast<double>(batches.examples());
    return {.accuracy = classes_ ? std::optional(static_cast<double>(right) / examples) : std::nullopt,
            .loss = loss / examples,
            .seconds = seconds_since(begin)};
  }

  Status prepare() {
    const job::Data& data = *job_.data;
    Result<dataset::Dataset> opened =
        dataset::Dataset::open(data.file, {data.inputs, data.labels, data.test_inputs, data.test_labels});
    PLIMSOLL_TRY(opened);
    data_ = *std::move(opened);
    dataset::Split parts{.training = all_of(data_.training()), .held_out = {}};
    if (!data_.test() && data.held_out > 0)
      parts = dataset::split(data_.training().count(), data.held_out, job_.execution.seed);
    if (data.examples > 0)
      parts.training = dataset::some_of(std::move(parts.training), data.examples, job_.execution.seed);
    const Result<dataset::Ends> ends = dataset::check_fit(job_.network, session_.shapes, data_,
                                                          job_.setting.loss, std::ssize(parts.training));
    PLIMSOLL_TRY(ends);
    PLIMSOLL_TRY(dataset::check_augmentation(data_.training().inputs, job_.learning.augmentation));
    input_ = ends->input;
    input_type_ = scalar_type(session_.shapes.type(input_)).value_or(at::kFloat);
    classes_ = job_.setting.loss == network::Loss::cross_entropy;
    training_.emplace(data_.training(), std::move(parts.training), ends->batch, job_.learning.augmentation,
                      job_.execution.seed);
    if (data_.test())
      test_.emplace(*data_.test(), all_of(*data_.test()), ends->batch, job_.learning.augmentation,
                    job_.execution.seed);
    else if (!parts.held_out.empty())
      test_.emplace(data_.training(), std::move(parts.held_out), ends->batch, job_.learning.augmentation,
                    job_.execution.seed);
    if (job_.learning.target_accuracy && (!test_ || !classes_))
      return std::unexpected(Error{"an accuracy is to be reached, but there is nothing to test on",
                                   {},
                                   "--hold-out 0.1 keeps a tenth of the examples for that."});
    PLIMSOLL_TRY(prepare_other(ends->batch));
    Result<std::unique_ptr<Executor>> tester = other_mode(session_, network::Mode::infer, test_setting_);
    PLIMSOLL_TRY(tester);
    tester_ = std::move(*tester);
    optimizer_.emplace(job_.setting.optimizer, job_.execution.learning_rate,
                       trained_parameters(job_, *session_.executor), job_.learning.weight_decay);
    if (optimizer_->parameters().empty()) return fail("all parameters are frozen: there is nothing to learn");
    return {};
  }

  /// Normalised as the examples that were learned from.
  Status prepare_other(std::int64_t batch) {
    const std::string& file = job_.data->other_file;
    if (file.empty()) return {};
    Result<dataset::Dataset> opened = dataset::Dataset::open(file);
    PLIMSOLL_TRY(opened);
    other_data_ = *std::move(opened);
    // Of tests the last batch need not be full: there may be fewer examples than one holds.
    PLIMSOLL_TRY(dataset::check_fit(job_.network, session_.shapes, other_data_, job_.setting.loss, batch));
    const dataset::Part& part = other_data_.test() ? *other_data_.test() : other_data_.training();
    PLIMSOLL_TRY(dataset::check_augmentation(part.inputs, job_.learning.augmentation));
    other_.emplace(part, all_of(part), batch, job_.learning.augmentation, job_.execution.seed);
    return {};
  }

  void fetch(std::int64_t number) {
    next_ = std::async(std::launch::async, [this, number] { return training_->batch(number); });
  }

  [[nodiscard]] GivenInputs on_device(at::Tensor inputs) const {
    const Numbers numbers = numbers_of(job_.setting.precision);
    inputs = inputs.to(session_.device->torch_device(), numbers.stored(input_type_));
    if (job_.setting.layout == network::Layout::channels_last && inputs.dim() == 4)
      inputs = inputs.contiguous(at::MemoryFormat::ChannelsLast);
    return {{input_, inputs}};
  }
  [[nodiscard]] at::Tensor labels_on_device(const ExampleBatch& batch) const {
    return batch.labels.to(session_.device->torch_device());
  }

  Session& session_;
  const job::Job& job_;
  dataset::Dataset data_, other_data_;
  network::TensorId input_ = network::kNoTensor;
  at::ScalarType input_type_ = at::kFloat;
  bool classes_ = true;
  std::optional<Batches> training_, test_, other_;
  network::Setting test_setting_;
  std::unique_ptr<Executor> tester_;
  std::optional<Optimizer> optimizer_;
  std::future<ExampleBatch> next_;  ///< the last member: its thread ends before what it reads goes
};

/// Epochs, answers and saves of a training.
class Course {
 public:
  Course(Session& session, Student& student, const Emit& emit)
      : session_(session), job_(session.job), student_(student), emit_(emit), identity_(student.identity()) {
    // Two networks of one form, say of two exported files, are told apart by their names alone.
    identity_["network"] = fmt::format("{}, {} parameters in {} tensors", job_.network.name, numel(),
                                       student.optimizer().parameters().size());
  }

  Status run() {
    PLIMSOLL_TRY(go_on());
    while (!at_.ended) {
      PLIMSOLL_TRY(learn_epoch());
      const bool reached = end_epoch();
      at_.ended = reached || at_.epoch == job_.data->epochs;
      PLIMSOLL_TRY(save());
    }
    if (const auto tested = student_.test_elsewhere()) emit_(*tested);
    if (!job_.learning.folder.empty())
      PLIMSOLL_TRY(write_trained(file(job::kTrainedFile), student_.executor()));
    return {};
  }

 private:
  [[nodiscard]] std::int64_t numel() const {
    std::int64_t sum = 0;
    for (const at::Tensor& p : student_.optimizer().parameters()) sum += p.numel();
    return sum;
  }
  [[nodiscard]] std::string file(std::string_view name) const {
    return (std::filesystem::path(job_.learning.folder) / name).string();
  }

  Status go_on() {
    if (!job_.learning.go_on || job_.learning.folder.empty()) return {};
    const std::string save = file(job::kSaveFile);
    std::error_code ignored;
    if (!std::filesystem::exists(save, ignored)) return {};
    Result<Progression> at = read_save(save, student_.executor(), student_.optimizer(), identity_);
    PLIMSOLL_TRY(at);
    at_ = *std::move(at);
    emit_(job::WentOn{.step = at_.step, .epoch = at_.epoch});
    for (const job::Epoch& epoch : at_.epochs) emit_(epoch);
    return {};
  }

  Status learn_epoch() {
    const std::int64_t batches = student_.steps_per_epoch(), first = at_.step - at_.epoch * batches;
    if (first >= batches) return {};  // saved between its last step and its test
    student_.begin_epoch(at_.epoch, first);
    const double seconds_before = at_.seconds;
    const auto begin = Clock::now();
    told_ = begin;
    losses_.clear();
    for (std::int64_t b = first; b < batches; ++b) {
      waiting_.push_back(student_.learn(at_.step, b));
      ++at_.step;
      const std::int64_t every = job_.learning.save_every;
      const bool due = every > 0 && at_.step % every == 0;
      if (due || b + 1 == batches || Clock::now() - told_ >= kBetweenAnswers) tell();
      at_.seconds = seconds_before + seconds_since(begin);
      if (due) PLIMSOLL_TRY(save());
    }
    return {};
  }

  /// The losses of the steps since the last time: waits for the device.
  void tell() {
    job::Learned learned{.epoch = at_.epoch,
                         .first_step = at_.step - std::ssize(waiting_),
                         .losses = {},
                         .learning_rate = student_.learning_rate(at_.step - 1),
                         .examples = std::ssize(waiting_) * student_.batch(),
                         .seconds = 0};
    for (const at::Tensor& loss : waiting_) {
      learned.losses.push_back(loss.to(at::kDouble).item().toDouble());
      at_.loss_sum += learned.losses.back();
      ++at_.loss_count;
    }
    waiting_.clear();
    losses_.insert(losses_.end(), learned.losses.begin(), learned.losses.end());
    learned.seconds = seconds_since(std::exchange(told_, Clock::now()));
    emit_(learned);
    emit_(job::Progress{.phase = "training",
                        .done = static_cast<double>(at_.step) / static_cast<double>(student_.steps()),
                        .seconds_left = {}});
  }

  /// Tests, tells, and says whether the target is reached.
  bool end_epoch() {
    session_.device->synchronize();
    job::Epoch told{.epoch = at_.epoch,
                    .losses = std::exchange(losses_, {}),
                    .seconds = at_.seconds,
                    .accuracy = {},
                    .loss = at_.loss_sum / static_cast<double>(std::max<std::int64_t>(at_.loss_count, 1)),
                    .test_loss = {},
                    .test_seconds = {}};
    if (const std::optional<Test> test = student_.test()) {
      told.accuracy = test->accuracy;
      told.test_loss = test->loss;
      told.test_seconds = test->seconds;
    }
    emit_(told);
    told.losses.clear();
    at_.epochs.push_back(told);
    ++at_.epoch;
    at_.loss_sum = at_.seconds = 0;
    at_.loss_count = 0;
    return job_.learning.target_accuracy && told.accuracy && *told.accuracy >= *job_.learning.target_accuracy;
  }

  Status save() {
    if (job_.learning.folder.empty()) return {};
    const std::string save = file(job::kSaveFile);
    PLIMSOLL_TRY(write_save(save, student_.executor(), student_.optimizer(), at_, identity_));
    emit_(job::Saved{.step = at_.step, .epoch = at_.epoch, .file = save});
    return {};
  }

  Session& session_;
  const job::Job& job_;
  Student& student_;
  const Emit& emit_;
  Identity identity_;
  Progression at_;
  std::vector<at::Tensor> waiting_;  ///< losses that nobody has read yet
  std::vector<double> losses_;       ///< of the epoch
  Clock::time_point told_;
};

}  // namespace

Status train(Session& session, const Emit& emit) {
  session.phase = "running";
  if (!session.job.data) return fail("the job names no data to learn from");
  if (session.job.setting.mode != network::Mode::train) return fail("learning needs the mode train");
  const Result<std::unique_ptr<Student>> student = Student::make(session);
  if (!student) return std::unexpected(student.error());
  return Course(session, **student, emit).run();
}

}  // namespace plimsoll::engine
