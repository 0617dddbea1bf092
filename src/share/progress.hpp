#pragma once
#include <algorithm>
#include <cstddef>

#include "share/simulation.hpp"

namespace plimsoll::share {

/// How far a player is, and when its next launch is there.
class Progress {
 public:
  explicit Progress(const Player& player) : player_(&player) {}

  [[nodiscard]] const Kernel& kernel() const { return (*player_->kernels)[at_]; }
  [[nodiscard]] double steps() const {
    return static_cast<double>(steps_) + static_cast<double>(at_) / static_cast<double>(player_->kernels->size());
  }
  /// The kernel has ended; gives when the host has the next one ready.
  double next(double now) {
    if (++at_ == player_->kernels->size()) {
      at_ = 0;
      ++steps_;
    }
    // The host is as far ahead as the queue is long.
    host_ = std::max(host_ + player_->host, now - kQueue * player_->host);
    if (at_ == 0 && player_->steps_per_wait > 0 && ++since_wait_ >= player_->steps_per_wait) {
      since_wait_ = 0;
      host_ = now + kLook + player_->host;
    }
    return host_;
  }

 private:
  static constexpr double kQueue = 1000;  // launches
  static constexpr double kLook = 1.5e-5;  // s until a host that waited has launched again

  const Player* player_;
  std::size_t at_ = 0;
  long steps_ = 0;
  int since_wait_ = 0;
  double host_ = 0;
};

/// The window that is looked at: what comes before it depends on how all began.
struct Window {
  double begin = 0, end = 0;
  [[nodiscard]] static Window over(std::span<const Player> players, double longest_steps) {
    double longest = 0;
    for (const Player& player : players) longest = std::max(longest, player.step);
    return {longest, longest * (1 + longest_steps)};
  }
};

}  // namespace plimsoll::share
