#pragma once
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "dataset/dataset.hpp"
#include "engine/batches.hpp"
#include "engine/saving.hpp"
#include "engine/session.hpp"

namespace plimsoll::engine {

/// How often those who learn tell how far they are.
inline constexpr std::chrono::seconds kBetweenAnswers{1};

/// What a test set shows.
struct Test {
  std::optional<double> accuracy;  ///< of classes alone
  double loss = 0, seconds = 0;
};

/// One network that learns one data set: its examples in batches, its loss's gradients, its test. Who changes
/// the parameters by them is told elsewhere, since several networks may hold one parameter.
class Student {
 public:
  /// Session and its job outlive it. Weights that another network is to share are shared before.
  [[nodiscard]] static Result<std::unique_ptr<Student>> make(Session& session);

  [[nodiscard]] std::int64_t steps_per_epoch() const { return training_->whole(); }
  [[nodiscard]] std::int64_t batch() const { return training_->size(); }
  [[nodiscard]] Executor& executor() { return *session_.executor; }
  [[nodiscard]] bool can_be_tested() const { return test_.has_value(); }
  [[nodiscard]] bool tells_classes() const { return classes_; }

  /// From the first batch of an epoch that is not done yet.
  void begin_epoch(std::int64_t epoch, std::int64_t first);
  /// Adds the gradients of `weight` times the loss of one batch; meanwhile the next is read. The loss, which
  /// is not weighted, stays on the device.
  [[nodiscard]] at::Tensor learn(std::int64_t batch_number, double weight = 1);
  /// How well it does on the examples that were held out; nothing where there are none.
  [[nodiscard]] std::optional<Test> test() { return test_ ? std::optional(test(*test_)) : std::nullopt; }
  /// And on another data set; nothing where none was named.
  [[nodiscard]] std::optional<job::Tested> test_elsewhere();
  /// Of the training, for a save to be compared with.
  [[nodiscard]] Identity identity() const;

 private:
  explicit Student(Session& session) : session_(session), job_(session.job) {}
  Status prepare();
  Status prepare_other(std::int64_t batch);
  [[nodiscard]] Test test(const Batches& batches);
  void fetch(std::int64_t number);
  [[nodiscard]] GivenInputs on_device(at::Tensor inputs) const;
  [[nodiscard]] at::Tensor labels_on_device(const ExampleBatch& batch) const;

  Session& session_;
  const job::Job& job_;
  dataset::Dataset data_, other_data_;
  network::TensorId input_ = network::kNoTensor;
  at::ScalarType input_type_ = at::kFloat;
  bool classes_ = true;
  std::optional<Batches> training_, test_, other_;
  network::Setting test_setting_;
  std::unique_ptr<Executor> tester_;
  std::future<ExampleBatch> next_;  ///< the last member: its thread ends before what it reads goes
};

}  // namespace plimsoll::engine
