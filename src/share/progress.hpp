#pragma once
#include <algorithm>
#include <cstddef>

#include "share/simulation.hpp"

namespace plimsoll::share {

/// How far a player is, and when its next launch is there.
class Progress {
 public:
  explicit Progress(const Player& player) : player_(&player) {
    for (const Kernel& kernel : *player.kernels) whole_ += length(kernel);
  }

  [[nodiscard]] const Kernel& kernel() const { return (*player_->kernels)[at_]; }
  [[nodiscard]] double steps() const { return static_cast<double>(steps_) + done_ / whole_; }
  /// The kernel has ended; gives when the host has the next one ready.
  double next(double now) {
    done_ += length(kernel());
    if (++at_ == player_->kernels->size()) {
      at_ = 0;
      done_ = 0;
      ++steps_;
    }
    // The host is as far ahead as the queue is long.
    host_ = std::max(host_ + player_->host, now - kQueue * player_->host);
    if (at_ == 0 && player_->steps_per_wait > 0 && ++since_wait_ >= player_->steps_per_wait) {
      since_wait_ = 0;
      host_ = now + player_->returns + player_->host;
    }
    return host_;
  }

 private:
  static constexpr double kQueue = 1000;  // launches

  static double length(const Kernel& kernel) { return static_cast<double>(kernel.seconds) + kernel.gap; }

  const Player* player_;
  std::size_t at_ = 0;
  std::int64_t steps_ = 0;
  double done_ = 0, whole_ = 0;  ///< s of the step, as alone
  int since_wait_ = 0;
  double host_ = 0;
};

}  // namespace plimsoll::share
