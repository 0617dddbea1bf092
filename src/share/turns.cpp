// Without MPS: contexts take turns on the whole GPU.
#include "share/progress.hpp"

namespace plimsoll::share {
namespace {

constexpr double kLeastWindow = 1.0;  // s: turns are milliseconds long
constexpr double kTurnSteps = 6;      // of the longest, for each player

constexpr std::size_t kMostTurnEvents = 8'000'000;  // a second or so

/// What is looked at: what comes before depends on how all began.
struct Window {
  double begin = 0, end = 0;
};

class Turns {
 public:
  Turns(std::span<const Player> players, const SharingFigures& figures)
      : players_(players), figures_(figures) {
    for (std::size_t i = 0; i < players.size(); ++i) {
      const Progress progress(players[i], i);
      states_.push_back({progress, length(players[i], progress.kernel()), progress.first()});
    }
  }

  std::vector<Played> play(const Window& window) {
    std::vector<double> before(players_.size());
    bool begun = false;
    double begin = 0;
    turn_ends_ = figures_.slice;
    // What takes more than that is told by what was seen till then.
    for (std::size_t count = 0; now_ < window.end && count < kMostTurnEvents; ++count) {
      if (!begun && (now_ >= window.begin || count > kMostTurnEvents / 2)) {
        begun = true;
        begin = now_;
        for (std::size_t i = 0; i < players_.size(); ++i) before[i] = states_[i].progress.steps();
      }
      advance();
      if (states_[turn_].progress.has_missed()) break;
    }
    std::vector<Played> out;
    for (std::size_t i = 0; i < players_.size(); ++i)
      out.push_back(
          {.steps_per_second = (states_[i].progress.steps() - before[i]) / std::max(now_ - begin, 1e-12),
           .behind = states_[i].progress.behind(now_) / std::max(now_ - begin, 1e-12),
           .latencies = states_[i].progress.latencies()});
    return out;
  }

 private:
  struct State {
    Progress progress;
    double left;       ///< s of its kernel
    double ready = 0;  ///< when its host has launched it
  };
  static double length(const Player& player, const Kernel& kernel) {
    return static_cast<double>(kernel.seconds) + kernel.gap + player.launch;
  }

  void advance() {
    State& own = states_[turn_];
    const bool idle = own.ready > now_;
    if ((idle || now_ >= turn_ends_) && pass_on()) return;
    if (idle) return wait();
    if (now_ >= turn_ends_) turn_ends_ = now_ + figures_.slice;
    const double runs = std::min(own.left, turn_ends_ - now_);
    now_ += runs;
    own.left -= runs;
    if (own.left > 0) return;
    own.ready = own.progress.next(now_);
    own.left = length(players_[turn_], own.progress.kernel());
  }
  /// To the next one that has something to run; false where none has.
  bool pass_on() {
    for (std::size_t later = 1; later < states_.size(); ++later) {
      const std::size_t other = (turn_ + later) % states_.size();
      if (states_[other].ready > now_) continue;
      take(other);
      return true;
    }
    return false;
  }
  void take(std::size_t other) {
    now_ += figures_.change;
    turn_ = other;
    states_[other].left += figures_.refill;
    turn_ends_ = now_ + figures_.slice;
  }
  /// For whose host is ready first.
  void wait() {
    std::size_t first = turn_;
    for (std::size_t i = 0; i < states_.size(); ++i)
      if (states_[i].ready < states_[first].ready) first = i;
    now_ = std::max(now_, states_[first].ready);
    if (first != turn_) take(first);
    turn_ends_ = now_ + figures_.slice;
  }

  std::span<const Player> players_;
  const SharingFigures& figures_;
  std::vector<State> states_;
  std::size_t turn_ = 0;
  double now_ = 0, turn_ends_ = 0;
};

}  // namespace

std::vector<Played> play_in_turns(std::span<const Player> players, const SharingFigures& figures,
                                  std::size_t requests) {
  double longest = 0;
  for (const Player& player : players) longest = std::max(longest, player.step);
  const double steps = kTurnSteps * static_cast<double>(players.size());
  double length = std::max(kLeastWindow, steps * longest);
  for (const Player& player : players)
    if (player.arrivals > 0) length = std::max(length, static_cast<double>(requests) / player.arrivals);
  const Window window{longest, longest + length};
  return Turns(players, figures).play(window);
}

}  // namespace plimsoll::share
