#pragma once
#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include "engine/swapping/planned_runs.hpp"
#include "engine/swapping/turns.hpp"
#include "swapping/frame_queue.hpp"

namespace plimsoll::engine {

/// Decides which frame is next and what gives way for it, and moves the weights: one run ahead of what is
/// computed.
class Mover {
 public:
  Mover(const TurnsQuestion& question, BlockMemory& memory, PlannedRuns& runs,
        std::chrono::steady_clock::time_point start);

  /// Until all frames have been decided on, or who computes has failed.
  void move();

  struct Account {
    std::int64_t blocks = 0, most_taken = 0;
  };
  /// What the policy accounts for; once move() is over.
  [[nodiscard]] const Account& account() const { return account_; }

 private:
  [[nodiscard]] Seconds now() const;
  /// False where it would be late and is dropped.
  bool plan(PlannedRun& run, std::size_t request, Seconds known);
  [[nodiscard]] swapping::Clock clock_now() const;
  /// How much later runs have lately ended than they were thought to. A frame that would be in time by less
  /// is late: where all frames are decided on at the last moment, all would be missed by a little.
  [[nodiscard]] Seconds lateness() const;
  void take_account(const swapping::Decision& decision);
  [[nodiscard]] bool bring(const std::shared_ptr<PlannedRun>& run);
  [[nodiscard]] bool bring(const swapping::Load& load);
  [[nodiscard]] bool give_way(const swapping::Eviction& eviction);

  const TurnsQuestion& question_;
  BlockMemory& blocks_;
  PlannedRuns& runs_;
  std::chrono::steady_clock::time_point start_;
  swapping::FrameQueue queue_;
  swapping::Memory memory_;           ///< as the policy accounts for it
  std::vector<std::int64_t> mapped_;  ///< blocks of each chunk, its first ones
  /// The last layer that was decided on and needs a chunk. Shared with who computes: either may need the run
  /// longer.
  struct LastUse {
    std::shared_ptr<PlannedRun> run = {};
    std::size_t layer = 0;
  };
  std::vector<LastUse> last_use_;
  std::shared_ptr<PlannedRun> previous_;
  std::deque<std::shared_ptr<PlannedRun>> lately_;
  Account account_;
};

}  // namespace plimsoll::engine
