#pragma once
#include <filesystem>
#include <memory>
#include <optional>

#include "run/mps.hpp"
#include "run/process_identity.hpp"

namespace plimsoll::queue {

/// The MPS daemon of one GPU, whose clients the queue's jobs are. It outlives the queue's daemon, as the jobs
/// do; the next one finds it by what stands in its folder.
class MpsKeeper {
 public:
  /// `folder`: of its own; short, since sockets stand in it.
  MpsKeeper(std::filesystem::path folder, running::ChosenDevice device);
  MpsKeeper(MpsKeeper&&) = default;
  MpsKeeper& operator=(MpsKeeper&&) = delete;
  MpsKeeper(const MpsKeeper&) = delete;
  MpsKeeper& operator=(const MpsKeeper&) = delete;
  ~MpsKeeper();  ///< the daemon goes on, but where it was told to end with this

  /// Starts one where none lives. To be called by the thread that lives as long as the process.
  [[nodiscard]] Status ensure();
  [[nodiscard]] bool lives();
  void end_with_this() { ends_ = true; }
  [[nodiscard]] const running::MpsPlace& place() const { return place_; }
  /// How often one was started, or found: what was a client of an earlier one has lost it.
  [[nodiscard]] int generation() const { return generation_; }

 private:
  std::filesystem::path folder_;
  running::ChosenDevice device_;
  running::MpsPlace place_;
  std::unique_ptr<running::Child> child_;
  std::optional<running::ProcessIdentity> identity_;
  int generation_ = 0;
  bool ends_ = false;
};

/// Waits until a daemon answers, a minute at most; from any thread.
[[nodiscard]] Status wait_for_mps(const running::MpsPlace& place);

}  // namespace plimsoll::queue
