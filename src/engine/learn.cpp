// The task "train": epochs over a data set, tested after each, saved on the way.
#include <chrono>

#include "engine/saving.hpp"
#include "engine/session.hpp"
#include "engine/student.hpp"
#include "engine/training.hpp"

namespace plimsoll::engine {
namespace {

using Clock = std::chrono::steady_clock;

/// Epochs, answers and saves of a training.
class Course {
 public:
  Course(Session& session, Student& student, const Emit& emit)
      : session_(session),
        job_(session.job),
        student_(student),
        emit_(emit),
        optimizer_(job_.setting.optimizer, job_.execution.learning_rate,
                   trained_parameters(job_, *session.executor), job_.learning.weight_decay),
        identity_(student.identity()) {
    // Two networks of one form, say of two exported files, are told apart by their names alone.
    identity_["network"] = fmt::format("{}, {} parameters in {} tensors", job_.network.name, numel(),
                                       optimizer_.parameters().size());
  }

  Status run() {
    if (optimizer_.parameters().empty()) return fail("all parameters are frozen: there is nothing to learn");
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
  [[nodiscard]] std::int64_t steps() const { return student_.steps_per_epoch() * job_.data->epochs; }
  [[nodiscard]] double learning_rate(std::int64_t step) const {
    return job::learning_rate_at(job_.learning.schedule, job_.execution.learning_rate, step,
                                 student_.steps_per_epoch(), steps());
  }
  [[nodiscard]] std::int64_t numel() const {
    std::int64_t sum = 0;
    for (const at::Tensor& p : optimizer_.parameters()) sum += p.numel();
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
    Result<Progression> at = read_save(save, student_.executor(), optimizer_, identity_);
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
      optimizer_.set_learning_rate(learning_rate(at_.step));
      optimizer_.forget_gradients();
      waiting_.push_back(student_.learn(b));
      optimizer_.step();
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
                         .learning_rate = learning_rate(at_.step - 1),
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
                        .done = static_cast<double>(at_.step) / static_cast<double>(steps()),
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
    PLIMSOLL_TRY(write_save(save, student_.executor(), optimizer_, at_, identity_));
    emit_(job::Saved{.step = at_.step, .epoch = at_.epoch, .file = save});
    return {};
  }

  Session& session_;
  const job::Job& job_;
  Student& student_;
  const Emit& emit_;
  Optimizer optimizer_;
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
