#include "engine/student.hpp"

#include <numeric>

#include <c10/core/GradMode.h>
#include <fmt/ranges.h>

#include "dataset/fit.hpp"
#include "dataset/image.hpp"
#include "dataset/split.hpp"
#include "engine/precision.hpp"
#include "engine/training.hpp"

namespace plimsoll::engine {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::int64_t> all_of(const dataset::Part& part) {
  std::vector<std::int64_t> examples(static_cast<std::size_t>(part.count()));
  std::iota(examples.begin(), examples.end(), 0);
  return examples;
}

std::string text_of(const job::Augmentation& a) {
  return fmt::format("crop {}, flip {}, mean {}, deviation {}", a.crop, a.flip, fmt::join(a.mean, " "),
                     fmt::join(a.deviation, " "));
}

}  // namespace

Result<std::unique_ptr<Student>> Student::make(Session& session) {
  std::unique_ptr<Student> student(new Student(session));
  if (Status ready = student->prepare(); !ready) return std::unexpected(std::move(ready).error());
  return student;
}

Status Student::prepare() {
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
  const Result<dataset::Ends> ends =
      dataset::check_fit(job_.network, session_.shapes, data_, job_.setting.loss, std::ssize(parts.training));
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
  return {};
}

/// Normalised as the examples that were learned from.
Status Student::prepare_other(std::int64_t batch) {
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

void Student::begin_epoch(std::int64_t epoch, std::int64_t first) {
  training_->begin_epoch(epoch, job_.data->shuffle);
  fetch(first);
}

at::Tensor Student::learn(std::int64_t batch_number, double weight) {
  const ExampleBatch batch = next_.get();
  if (batch_number + 1 < steps_per_epoch()) fetch(batch_number + 1);
  return add_gradients(job_.setting, *session_.executor, on_device(batch.inputs), labels_on_device(batch),
                       weight);
}

std::optional<job::Tested> Student::test_elsewhere() {
  if (!other_) return std::nullopt;
  const Test found = test(*other_);
  return job::Tested{.examples = other_->examples(),
                     .accuracy = found.accuracy,
                     .loss = found.loss,
                     .seconds = found.seconds};
}

Test Student::test(const Batches& batches) {
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
    loss += loss_of(job_.setting.loss, output, labels).item().toDouble() * static_cast<double>(batch.counted);
    if (classes_) right += output.argmax(1).eq(labels).sum().item().toLong();
  }
  const auto examples = static_cast<double>(batches.examples());
  return {.accuracy = classes_ ? std::optional(static_cast<double>(right) / examples) : std::nullopt,
          .loss = loss / examples,
          .seconds = seconds_since(begin)};
}

Identity Student::identity() const {
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

void Student::fetch(std::int64_t number) {
  next_ = std::async(std::launch::async, [this, number] { return training_->batch(number); });
}

GivenInputs Student::on_device(at::Tensor inputs) const {
  const Numbers numbers = numbers_of(job_.setting.precision);
  inputs = inputs.to(session_.device->torch_device(), numbers.stored(input_type_));
  if (job_.setting.layout == network::Layout::channels_last && inputs.dim() == 4)
    inputs = inputs.contiguous(at::MemoryFormat::ChannelsLast);
  return {{input_, inputs}};
}

at::Tensor Student::labels_on_device(const ExampleBatch& batch) const {
  return batch.labels.to(session_.device->torch_device());
}

}  // namespace plimsoll::engine
