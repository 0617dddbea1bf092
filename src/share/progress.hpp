#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "share/simulation.hpp"

namespace plimsoll::share {

/// How far a player is, and when its next launch is there.
class Progress {
 public:
  /// `draw`: another for each player, so that requests of two services do not come at the same moments.
  Progress(const Player& player, std::uint64_t draw) : player_(&player), draws_(2 + 7919 * draw) {
    for (const Kernel& kernel : *player.kernels) whole_ += length(kernel);
    if (player.arrivals > 0) arrive();
  }

  [[nodiscard]] const Kernel& kernel() const { return (*player_->kernels)[at_]; }
  [[nodiscard]] double steps() const { return static_cast<double>(steps_) + done_ / whole_; }
  /// When the first kernel of all is there.
  [[nodiscard]] double first() const { return arrival_; }
  /// How long the request has waited that is to be answered next.
  [[nodiscard]] double behind(double now) const {
    return player_->arrivals > 0 ? std::max(0.0, now - arrival_) : 0;
  }
  /// Of all requests that were answered so far.
  [[nodiscard]] const std::vector<double>& latencies() const { return latencies_; }
  /// More of its requests are late than may be.
  [[nodiscard]] bool has_missed() const { return player_->most_late > 0 && late_ >= player_->most_late; }
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
    if (at_ == 0 && player_->arrivals > 0) {
      latencies_.push_back(now - arrival_);
      late_ += now - arrival_ > player_->limit ? 1 : 0;
      arrive();
      return host_ = std::max(now, arrival_) + player_->returns + player_->host;
    }
    if (at_ == 0 && player_->steps_per_wait > 0 && ++since_wait_ >= player_->steps_per_wait) {
      since_wait_ = 0;
      host_ = now + player_->returns + player_->host;
    }
    return host_;
  }

 private:
  static constexpr double kQueue = 1000;  // launches

  /// The next request, as a Poisson process has them; drawn alike each time.
  void arrive() { arrival_ -= std::log(draws_.uniform() + 0x1p-53) / player_->arrivals; }
  static double length(const Kernel& kernel) { return static_cast<double>(kernel.seconds) + kernel.gap; }

  const Player* player_;
  std::size_t at_ = 0;
  std::int64_t steps_ = 0;
  double done_ = 0, whole_ = 0;  ///< s of the step, as alone
  int since_wait_ = 0;
  double host_ = 0;
  double arrival_ = 0;  ///< of the request that is answered, or awaited
  std::vector<double> latencies_;
  std::size_t late_ = 0;  ///< of them, beyond the player's limit
  Draws draws_;
};

}  // namespace plimsoll::share
