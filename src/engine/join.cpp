// The task "join": networks that learn at once, each its own data, and hold some weights in common.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <set>

#include <c10/core/GradMode.h>

#include "engine/saving.hpp"
#include "engine/session.hpp"
#include "engine/student.hpp"
#include "engine/training.hpp"

namespace plimsoll::engine {
namespace {

using Clock = std::chrono::steady_clock;

// Whoever is below its floor weighs more; as GEMEL's loss does (Padmanabhan et al., NSDI 2023, public code).
constexpr double kMostWeight = 10, kSteepness = 0.75;

/// A network among others.
struct Member {
  Session session;
  std::unique_ptr<Student> student;
  double floor = 0;
  std::int64_t epochs = 0, next = 0;  ///< of its own data: begun, and the batch that comes
  double accuracy = 0;
  double loss_sum = 0;
  std::vector<at::Tensor> waiting;  ///< losses that nobody has read yet

  [[nodiscard]] double weight() const {
    if (accuracy <= 0) return kMostWeight;
    return std::min(kMostWeight, std::pow(floor / accuracy, kSteepness));
  }
};
using Members = std::vector<std::unique_ptr<Member>>;

/// From now on the weights of a tie are one tensor.
void tie(const std::vector<job::MemberWeight>& weights, bool averaged, Members& members) {
  const c10::NoGradGuard no_gradients;
  const auto executor = [&](const job::MemberWeight& w) -> Executor& {
    return *members[w.member]->session.executor;
  };
  const at::Tensor one = executor(weights[0]).kept(weights[0].tensor);
  if (averaged) {
    at::Tensor sum = one.clone();
    for (std::size_t i = 1; i < weights.size(); ++i) sum.add_(executor(weights[i]).kept(weights[i].tensor));
    one.copy_(sum.div_(static_cast<double>(weights.size())));
  }
  for (std::size_t i = 1; i < weights.size(); ++i) executor(weights[i]).keep(weights[i].tensor, one);
}

Status check_tie(const std::vector<job::MemberWeight>& weights, const Members& members) {
  const auto kept = [&](const job::MemberWeight& w) -> const at::Tensor* {
    const Executor& executor = *members[w.member]->session.executor;
    const auto& used = executor.routine().weights;
    return std::ranges::find(used, w.tensor) == used.end() ? nullptr : &executor.kept(w.tensor);
  };
  for (const job::MemberWeight& weight : weights) {
    const at::Tensor *first = kept(weights[0]), *other = kept(weight);
    const std::string_view name = members[weight.member]->session.job.network.name_of(weight.tensor);
    if (first == nullptr || other == nullptr)
      return fail("nothing reads the weight '{}' that is to be shared", name);
    if (!at::isFloatingType(other->scalar_type()))
      return fail("the weight '{}' that is to be shared holds no numbers that can be learned", name);
    if (first->sizes() != other->sizes() || first->scalar_type() != other->scalar_type() ||
        first->requires_grad() != other->requires_grad())
      return fail("the weight '{}' is not of the form of what it is to be shared with", name);
  }
  return {};
}

/// All that is learned, what is shared once.
std::vector<at::Tensor> parameters_of(const Members& members) {
  std::vector<at::Tensor> found;
  std::set<const void*> seen;
  for (const auto& member : members)
    for (const at::Tensor& p : trained_parameters(member->session.job, *member->session.executor))
      if (seen.insert(p.unsafeGetTensorImpl()).second) found.push_back(p);
  return found;
}

class JointCourse {
 public:
  JointCourse(const job::Job& job, Members& members, const Emit& emit)
      : job_(job),
        members_(members),
        emit_(emit),
        optimizer_(first().setting.optimizer, first().execution.learning_rate, parameters_of(members),
                   first().learning.weight_decay) {
    for (const auto& member : members) steps_ = std::max(steps_, member->student->steps_per_epoch());
  }

  Status run() {
    if (optimizer_.parameters().empty() && job_.joining.epochs > 0)
      return fail("all parameters are frozen: there is nothing to learn");
    bool held = end_epoch(0, Clock::now());
    for (std::int64_t epoch = 1; epoch <= job_.joining.epochs && !held; ++epoch) {
      const auto begin = Clock::now();
      learn_epoch(epoch);
      held = end_epoch(epoch, begin);
    }
    if (job_.joining.folder.empty()) return {};
    for (std::size_t i = 0; i < members_.size(); ++i)
      PLIMSOLL_TRY(write_trained((std::filesystem::path(job_.joining.folder) / job::member_file(i)).string(),
                                 members_[i]->student->executor()));
    return {};
  }

 private:
  [[nodiscard]] const job::Job& first() const { return job_.members.front(); }

  void learn_epoch(std::int64_t epoch) {
    auto told = Clock::now();
    for (const auto& member : members_) member->loss_sum = 0;
    for (std::int64_t step = 0; step < steps_; ++step) {
      const std::int64_t done = (epoch - 1) * steps_ + step;
      optimizer_.set_learning_rate(job::learning_rate_at(first().learning.schedule,
                                                         first().execution.learning_rate, done, steps_,
                                                         steps_ * job_.joining.epochs));
      optimizer_.forget_gradients();
      for (const auto& member : members_) member->waiting.push_back(learn(*member));
      optimizer_.step();
      if (step + 1 < steps_ && Clock::now() - told < kBetweenAnswers) continue;
      read_losses();
      told = Clock::now();
      emit_(job::Progress{
          .phase = "training",
          .done = static_cast<double>(done + 1) / static_cast<double>(steps_ * job_.joining.epochs),
          .seconds_left = {}});
    }
  }

  /// One whose data has come to its end begins it anew.
  static at::Tensor learn(Member& member) {
    if (member.next == 0) member.student->begin_epoch(member.epochs++, 0);
    const std::int64_t number =
        std::exchange(member.next, (member.next + 1) % member.student->steps_per_epoch());
    return member.student->learn(number, member.weight());
  }

  /// Waits for the device.
  void read_losses() {
    for (const auto& member : members_) {
      for (const at::Tensor& loss : member->waiting)
        member->loss_sum += loss.to(at::kDouble).item().toDouble();
      member->waiting.clear();
    }
  }

  /// Tests, tells, and says whether everybody keeps its floor.
  bool end_epoch(std::int64_t epoch, Clock::time_point begin) {
    job::Joined told{.epoch = epoch, .accuracies = {}, .losses = {}, .seconds = 0, .held = true};
    for (const auto& member : members_) {
      member->accuracy = member->student->test()->accuracy.value_or(0);
      told.accuracies.push_back(member->accuracy);
      if (epoch > 0) told.losses.push_back(member->loss_sum / static_cast<double>(steps_));
      told.held = told.held && member->accuracy >= member->floor;
    }
    told.seconds = seconds_since(begin);
    emit_(told);
    return told.held;
  }

  const job::Job& job_;
  Members& members_;
  const Emit& emit_;
  Optimizer optimizer_;
  std::int64_t steps_ = 0;  ///< of a joint epoch
};

}  // namespace

Result<bool> join(Session& whole, const Emit& emit) {
  const job::Job& job = whole.job;
  Members members;
  for (std::size_t i = 0; i < job.members.size(); ++i) {
    const job::Job& of = job.members[i];
    if (!of.data) return fail("a member of the job names no data to learn from");
    if (of.setting.mode != network::Mode::train) return fail("learning needs the mode train");
    members.push_back(std::make_unique<Member>(Session{of, {}, {}, {}, "starting"}));
    Member& member = *members.back();
    member.floor = job.joining.floors[i];
    const Result<bool> ready = open_session(member.session, emit);
    if (!ready || !*ready) return ready;
  }
  whole.phase = "running";
  for (const auto& weights : job.joining.ties) PLIMSOLL_TRY(check_tie(weights, members));
  for (const auto& weights : job.joining.ties) tie(weights, job.joining.averaged, members);
  for (const auto& member : members) {
    Result<std::unique_ptr<Student>> student = Student::make(member->session);
    PLIMSOLL_TRY(student);
    member->student = *std::move(student);
    if (!member->student->can_be_tested() || !member->student->tells_classes())
      return std::unexpected(Error{"an accuracy is to be kept, but there are no classes to test on",
                                   {},
                                   "--hold-out 0.1 keeps a tenth of the examples for that."});
  }
  const Status done = JointCourse(job, members, emit).run();
  if (!done) return std::unexpected(done.error());
  return true;
}

}  // namespace plimsoll::engine
