#pragma once
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "run/child.hpp"
#include "run/devices.hpp"
#include "run/job.hpp"
#include "run/runtime_directory.hpp"

namespace plimsoll::running {

/// NVIDIA's MPS control daemon, started for one workload and stopped with it. Its pipes and logs are in a
/// directory of its own, so that it meets no other daemon on the machine.
class MpsDaemon {
 public:
  /// `devices`: the GPUs that it serves. machine_lacks where nvidia-cuda-mps-control is not installed. It is
  /// of use once wait_for_answer() has ended well. To be called by the thread that lives as long as the
  /// process (run/child.hpp).
  [[nodiscard]] static Result<std::unique_ptr<MpsDaemon>> start(const RuntimeDirectory& directory,
                                                                const std::vector<ChosenDevice>& devices,
                                                                bool outlives_caller = false);
  MpsDaemon(const MpsDaemon&) = delete;
  MpsDaemon& operator=(const MpsDaemon&) = delete;
  ~MpsDaemon();  ///< asks it to quit, then ends it

  /// Waits until it answers, a minute at most; from any thread.
  [[nodiscard]] Status wait_for_answer() const;
  /// It is not needed any more, also where it does not answer yet.
  void hurry() const { child_.signal_group(SIGTERM); }
  [[nodiscard]] bool has_ended() { return child_.has_ended(); }
  [[nodiscard]] int exit_descriptor() const { return child_.exit_descriptor(); }
  [[nodiscard]] pid_t pid() const { return child_.pid(); }
  /// What a client needs in its environment.
  [[nodiscard]] Variables client_variables(std::optional<double> percentage,
                                           std::optional<Bytes> memory) const;
  /// A command of its own language, such as "get_server_list"; its answer.
  [[nodiscard]] Result<std::string> ask(const std::string& command) const;
  [[nodiscard]] std::vector<pid_t> servers() const;
  /// The end of its log, for the record where something went wrong.
  [[nodiscard]] std::string log_tail() const;

 private:
  MpsDaemon(Child child, std::filesystem::path pipes, std::filesystem::path logs)
      : child_(std::move(child)), pipes_(std::move(pipes)), logs_(std::move(logs)) {}
  [[nodiscard]] Variables variables() const;

  Child child_;
  std::filesystem::path pipes_;
  std::filesystem::path logs_;
};

}  // namespace plimsoll::running
