#pragma once
#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "probe/gpu_run.hpp"

namespace plimsoll::probe {

/// NVIDIA's MPS for the time of a study, with pipes and logs of its own: it meets no other one. The room
/// `run`, which has one for workloads with a supervisor and a record of it, is above this one; a study needs
/// no more than a daemon that is told to quit.
class PrivateMps {
 public:
  /// Serves the GPU of that UUID; answers when this returns. machine_lacks where it is not installed or does
  /// not come up.
  [[nodiscard]] static Result<std::unique_ptr<PrivateMps>> start(const std::string& uuid);
  PrivateMps(const PrivateMps&) = delete;
  PrivateMps& operator=(const PrivateMps&) = delete;
  ~PrivateMps();  ///< tells it to quit, and waits until it has

  /// What makes a program its client. The GPU is number 0 for it.
  [[nodiscard]] Environment client_environment() const;

 private:
  PrivateMps(TemporaryDirectory folder, std::string uuid)
      : folder_(std::move(folder)), uuid_(std::move(uuid)) {}
  /// A command of its own language.
  [[nodiscard]] Status tell(const std::string& command) const;

  TemporaryDirectory folder_;
  std::string uuid_;
};

}  // namespace plimsoll::probe
