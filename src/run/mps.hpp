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

/// Where an MPS daemon has its pipes and its logs: by which it is spoken to, whoever started it.
struct MpsPlace {
  std::filesystem::path pipes, logs;

  [[nodiscard]] Variables variables() const;
  /// What a client needs in its environment.
  [[nodiscard]] Variables client_variables(std::optional<double> percentage,
                                           std::optional<Bytes> memory) const;
  /// A command of its own language, such as "get_server_list"; its answer.
  [[nodiscard]] Result<std::string> ask(const std::string& command) const;
  [[nodiscard]] std::vector<pid_t> servers() const;
  /// The end of its log, for the record where something went wrong.
  [[nodiscard]] std::string log_tail() const;
  /// How the daemon is started, both directories being made.
  [[nodiscard]] Result<Child> start(const std::vector<ChosenDevice>& devices, bool outlives_caller) const;
  /// The processes that were started for it.
  [[nodiscard]] std::vector<ProcessIdentity> processes() const;
};

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
  [[nodiscard]] const MpsPlace& place() const { return place_; }
  [[nodiscard]] Variables client_variables(std::optional<double> percentage,
                                           std::optional<Bytes> memory) const {
    return place_.client_variables(percentage, memory);
  }
  [[nodiscard]] Result<std::string> ask(const std::string& command) const { return place_.ask(command); }
  [[nodiscard]] std::vector<pid_t> servers() const { return place_.servers(); }
  [[nodiscard]] std::string log_tail() const { return place_.log_tail(); }

 private:
  MpsDaemon(Child child, MpsPlace place) : child_(std::move(child)), place_(std::move(place)) {}

  Child child_;
  MpsPlace place_;
};

}  // namespace plimsoll::running
