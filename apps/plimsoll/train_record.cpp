#include "train_record.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "run/unix_socket.hpp"

namespace plimsoll {
namespace {

constexpr int kMostWaitMs = 60'000;  // for the store's last answer
constexpr auto kBetweenLines = std::chrono::seconds(10);

/// With as many digits as tell it apart.
std::string number(double value) {
  return fmt::format("{}", value);
}

nlohmann::ordered_json if_any(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json epoch_json(const job::Epoch& epoch) {
  return {{"epoch", epoch.epoch + 1},           {"loss", if_any(epoch.loss)},
          {"accuracy", if_any(epoch.accuracy)}, {"test_loss", if_any(epoch.test_loss)},
          {"seconds", epoch.seconds},           {"test_seconds", if_any(epoch.test_seconds)}};
}

}  // namespace

Statements Statements::of_this_process() {
  Statements out;
  const char* const path = std::getenv("PLIMSOLL_SOCKET");
  if (path == nullptr || *path == '\0') return out;
  if (Result<FileDescriptor> socket = running::connect_to(path)) out.socket_ = *std::move(socket);
  return out;
}

void Statements::say(const std::string& statement) {
  if (!socket_) return;
  take_answers();
  if (socket_ && !running::send_all(socket_.get(), statement + "\n")) socket_.reset();
}

/// "ok N" lines are of no use here, but unread ones would fill the socket.
void Statements::take_answers() {
  char unread[4096];
  while (socket_) {
    const ssize_t got = ::recv(socket_.get(), unread, sizeof unread, MSG_DONTWAIT);
    if (got == 0) socket_.reset();
    if (got <= 0) return;
  }
}

void Statements::finish() {
  if (!socket_) return;
  ::shutdown(socket_.get(), SHUT_WR);
  pollfd wanted{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  while (socket_ && ::poll(&wanted, 1, kMostWaitMs) > 0) take_answers();
}

void TrainRecord::begin() {
  const job::Job& job = training_.job;
  const auto param = [this](std::string_view name, const std::string& value) {
    statements_.say(fmt::format("param {} {}", name, value));
  };
  param("model", printable(training_.label, 200));
  param("optimizer", std::string(network::name(job.setting.optimizer)));
  param("lr", number(job.execution.learning_rate));
  param("batch", std::to_string(job.setting.batch.value_or(0)));
  param("epochs", std::to_string(job.data->epochs));
  param("schedule", std::string(job::name(job.learning.schedule.decline)));
  param("seed", std::to_string(job.execution.seed));
  param("precision", std::string(network::name(job.setting.precision)));
  param("device", job.device);
  param("examples", std::to_string(training_.examples));
  if (job.learning.weight_decay) param("weight_decay", number(*job.learning.weight_decay));
  if (job.learning.target_accuracy) param("target_accuracy", number(*job.learning.target_accuracy));
  if (!show_) return;
  std::string data = fmt::format("{} examples", training_.examples);
  if (training_.classes) data += fmt::format(" of {} classes", *training_.classes);
  data += training_.test_examples > 0 ? fmt::format(", tested on {}", training_.test_examples)
                                      : ", none to test on";
  fmt::print("{} learns {}, on {}\n", printable(training_.label), data, job.device);
  std::fflush(stdout);
}

void TrainRecord::end() {
  // Who judges this run by its target must tell one that came to its end from one that failed.
  if (const auto target = reached())
    statements_.say(fmt::format("param {} {}", kTargetReached, *target ? "true" : "false"));
}

void TrainRecord::hear(const job::Answer& answer) {
  std::visit([this](const auto& a) { take(a); }, answer);
}

void TrainRecord::take(const job::Loaded& loaded) {
  parameters_ = loaded.parameters;
}

void TrainRecord::take(const job::WentOn& went_on) {
  went_on_ = went_on;
  steps_ = went_on.step;
  past_ = true;
  statements_.say(fmt::format("param went_on_from_step {}", went_on.step));
  if (show_) fmt::print("goes on after step {}, in epoch {}\n", went_on.step, went_on.epoch + 1);
}

void TrainRecord::take(const job::Learned& learned) {
  past_ = false;
  const std::int64_t epoch = learned.epoch + 1;
  std::int64_t step = learned.first_step;
  for (const double loss : learned.losses)
    statements_.say(fmt::format("metric loss {} step {} epoch {}", number(loss), ++step, epoch));
  steps_ = step;
  const std::string at = fmt::format("step {} epoch {}", step, epoch);
  statements_.say(fmt::format("metric lr {} {}", number(learned.learning_rate), at));
  if (learned.seconds > 0) {
    examples_per_second_ = static_cast<double>(learned.examples) / learned.seconds;
    statements_.say(fmt::format("metric examples_per_second {} {}", number(examples_per_second_), at));
  }
  const auto now = std::chrono::steady_clock::now();
  if (!show_ || now - shown_ < kBetweenLines || learned.losses.empty()) return;
  shown_ = now;
  fmt::print("  step {}, epoch {}: loss {:.4f}, {:.0f} examples/s\n", step, epoch, learned.losses.back(),
             examples_per_second_);
  std::fflush(stdout);
}

void TrainRecord::take(const job::Epoch& told) {
  epochs_.push_back(told);
  job::Epoch& epoch = epochs_.back();
  epoch.losses.clear();
  const std::int64_t number_of_epoch = epoch.epoch + 1;
  test_seconds_ += epoch.test_seconds.value_or(0);
  if (!past_) {
    const std::string at = fmt::format("step {} epoch {}", steps_, number_of_epoch);
    if (epoch.accuracy) statements_.say(fmt::format("metric accuracy {} {}", number(*epoch.accuracy), at));
    if (epoch.test_loss) statements_.say(fmt::format("metric test_loss {} {}", number(*epoch.test_loss), at));
    statements_.say(fmt::format("metric epoch {} {}", number_of_epoch, at));
    statements_.say(
        fmt::format("metric samples {} {}", steps_ * training_.job.setting.batch.value_or(0), at));
    if (epoch.test_seconds)
      statements_.say(fmt::format("metric evaluation_seconds {} {}", number(test_seconds_), at));
    statements_.say(fmt::format("epoch {}", number_of_epoch));
  }
  if (!show_) return;
  std::string line = fmt::format("epoch {}/{}: loss {:.4f}", number_of_epoch, training_.job.data->epochs,
                                 epoch.loss.value_or(0));
  if (epoch.accuracy) line += fmt::format(", accuracy {:.2f} %", 100 * *epoch.accuracy);
  if (epoch.test_loss) line += fmt::format(", test loss {:.4f}", *epoch.test_loss);
  fmt::print("{}, {}\n", line, text(Seconds(epoch.seconds + epoch.test_seconds.value_or(0))));
  std::fflush(stdout);
  shown_ = std::chrono::steady_clock::now();
}

void TrainRecord::take(const job::Tested& tested) {
  other_ = tested;
  const std::string at = fmt::format("step {}", steps_);
  if (tested.accuracy)
    statements_.say(fmt::format("metric other_accuracy {} {}", number(*tested.accuracy), at));
  if (tested.loss) statements_.say(fmt::format("metric other_loss {} {}", number(*tested.loss), at));
  if (!show_) return;
  fmt::print("on {} examples of other data: {}\n", tested.examples,
             tested.accuracy ? fmt::format("accuracy {:.2f} %", 100 * *tested.accuracy)
                             : fmt::format("loss {:.4f}", tested.loss.value_or(0)));
}

void TrainRecord::take(const job::Saved& saved) {
  statements_.say(fmt::format("saved step {}", saved.step));
}

void TrainRecord::take(const job::Failure& failure) {
  failure_ = Error{.message = failure.message,
                   .where = failure.where,
                   .hint = failure.hint,
                   .kind = failure.kind == "bad-input"       ? Error::Kind::bad_input
                           : failure.kind == "machine-lacks" ? Error::Kind::machine_lacks
                                                             : Error::Kind::internal};
}

void TrainRecord::take(const job::Unsupported& unsupported) {
  std::vector<std::string> names;
  for (const auto& item : unsupported.operators)
    names.push_back(fmt::format("{} ({})", item.op, item.reason));
  failure_ = Error{
      fmt::format("the engine cannot execute {}", printable(fmt::format("{}", fmt::join(names, ", ")), 500)),
      printable(training_.label)};
}

std::optional<bool> TrainRecord::reached() const {
  const auto& target = training_.job.learning.target_accuracy;
  if (!target) return std::nullopt;
  return std::ranges::any_of(epochs_,
                             [&](const job::Epoch& e) { return e.accuracy && *e.accuracy >= *target; });
}

nlohmann::ordered_json TrainRecord::json() const {
  const job::Job& job = training_.job;
  nlohmann::ordered_json out{
      {"model", printable(training_.label)},
      {"device", job.device},
      {"parameters", parameters_},
      {"data",
       {{"file", printable(job.data->file)},
        {"examples", training_.examples},
        {"test_examples", training_.test_examples},
        {"classes", training_.classes ? nlohmann::ordered_json(*training_.classes) : nullptr}}}};
  out["went_on_from_step"] = went_on_ ? nlohmann::ordered_json(went_on_->step) : nullptr;
  out["steps"] = steps_;
  out["epochs"] = nlohmann::ordered_json::array();
  double seconds = 0;
  std::optional<double> best, last;
  nlohmann::ordered_json target = nullptr;
  if (job.learning.target_accuracy)
    target = {{"accuracy", *job.learning.target_accuracy},
              {"reached", false},
              {"epoch", nullptr},
              {"seconds", nullptr}};
  for (const job::Epoch& epoch : epochs_) {
    out["epochs"].push_back(epoch_json(epoch));
    seconds += epoch.seconds + epoch.test_seconds.value_or(0);
    last = epoch.accuracy;
    if (epoch.accuracy) best = std::max(best.value_or(0), *epoch.accuracy);
    if (target.is_object() && !target["reached"] && epoch.accuracy &&
        *epoch.accuracy >= *job.learning.target_accuracy) {
      target["reached"] = true;
      target["epoch"] = epoch.epoch + 1;
      target["seconds"] = seconds;
    }
  }
  out["accuracy"] = if_any(last);
  out["best_accuracy"] = if_any(best);
  out["target"] = target;
  out["other"] = nullptr;
  if (other_)
    out["other"] = {{"examples", other_->examples},
                    {"accuracy", if_any(other_->accuracy)},
                    {"loss", if_any(other_->loss)}};
  out["seconds"] = seconds;
  return out;
}

std::string TrainRecord::summary() const {
  const auto reached_target = reached();
  std::string out;
  if (reached_target)
    out += fmt::format("accuracy {} was {}reached\n", *training_.job.learning.target_accuracy,
                       *reached_target ? "" : "not ");
  return out;
}

}  // namespace plimsoll
