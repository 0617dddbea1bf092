#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/file_descriptor.hpp"
#include "job/answer.hpp"
#include "train_options.hpp"

namespace plimsoll {

/// Says what a training does to the Plimsoll that runs and records it ($PLIMSOLL_SOCKET), in the statements
/// of docs/commands/run.md; to nobody where there is none.
class Statements {
 public:
  [[nodiscard]] static Statements of_this_process();
  void say(const std::string& statement);
  /// Until all that was said is in the store, or nobody answers any more.
  void finish();
  [[nodiscard]] bool heard() const { return static_cast<bool>(socket_); }

 private:
  void take_answers();
  FileDescriptor socket_;
};

/// The param that says how a training with a target ended: "true" or "false". A run that says false was
/// looked at to its end, whatever its exit code.
inline constexpr std::string_view kTargetReached = "target_reached";

/// Hears an engine that trains: keeps what is told at the end, says metrics, and shows a person how it goes.
class TrainRecord {
 public:
  /// `show`: lines on standard output.
  TrainRecord(const ReadyTraining& training, Statements& statements, bool show)
      : training_(training), statements_(statements), show_(show) {}

  void begin();
  void end();  ///< says what is known only then
  void hear(const job::Answer& answer);

  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  [[nodiscard]] const std::optional<job::DoesNotFit>& does_not_fit() const { return does_not_fit_; }
  /// Nothing where no target was named.
  [[nodiscard]] std::optional<bool> reached() const;
  [[nodiscard]] nlohmann::ordered_json json() const;
  [[nodiscard]] std::string summary() const;

 private:
  void take(const job::Learned& learned);
  void take(const job::Epoch& told);
  void take(const job::Saved& saved);
  void take(const job::WentOn& went_on);
  void take(const job::Tested& tested);
  void take(const job::Loaded& loaded);
  void take(const job::Failure& failure);
  void take(const job::Unsupported& unsupported);
  void take(const job::DoesNotFit& full) { does_not_fit_ = full; }
  template <class Other>
  void take(const Other&) {}

  const ReadyTraining& training_;
  Statements& statements_;
  bool show_;
  bool past_ = false;  ///< epochs that come were told before a save
  std::vector<job::Epoch> epochs_;
  std::optional<job::WentOn> went_on_;
  std::optional<job::Tested> other_;
  std::int64_t steps_ = 0, parameters_ = 0;
  double test_seconds_ = 0;  ///< so far, those before a save among them
  double examples_per_second_ = 0;
  std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
  std::optional<Error> failure_;
  std::optional<job::DoesNotFit> does_not_fit_;
};

}  // namespace plimsoll
