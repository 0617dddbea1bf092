// Under MPS: kernels of several processes in the SMs at once.
#include <cmath>

#include "base/largest_first.hpp"
#include "share/progress.hpp"

namespace plimsoll::share {
namespace {

// In parts as long as the longest step.
constexpr int kFewestParts = 4, kMostParts = 100;

constexpr double kRequestParts = 20;
constexpr double kNothing = 1e-4;               // of the GPU: less room is none
constexpr double kStagger = 1e-5;               // s between the first launches
constexpr std::size_t kMostEvents = 8'000'000;  // a second or so

class Together {
 public:
  Together(std::span<const Player> players, const SharingFigures& figures, double enough,
           std::size_t requests)
      : players_(players), figures_(figures), enough_(enough), requests_(requests) {
    for (std::size_t i = 0; i < players.size(); ++i) states_.push_back(State{Progress(players[i], i)});
    for (std::size_t i = 0; i < players.size(); ++i)
      events_.push({std::max(static_cast<double>(i) * kStagger, states_[i].progress.first()),
                    static_cast<std::uint32_t>(i), kLaunch});
  }

  /// Until what each does is known well enough.
  std::vector<Played> play(double longest_step) {
    run_until(longest_step, kMostEvents / 2);  // what comes before depends on how all began
    const double begin = now_;
    const std::vector<State> before = states_;
    Spreads spreads(players_.size());
    std::vector<double> last = steps();
    // Long enough for some requests of every service.
    double length = longest_step;
    for (const Player& player : players_)
      if (player.arrivals > 0)
        length = std::max(length, static_cast<double>(requests_) / player.arrivals / kRequestParts);
    for (int part = 1; part <= kMostParts && events_seen_ < kMostEvents; ++part) {
      const double from = now_;
      run_until(begin + part * length, kMostEvents);
      if (now_ <= from) continue;  // nothing happened
      const std::vector<double> now = steps();
      for (std::size_t i = 0; i < now.size(); ++i) spreads.add(i, (now[i] - last[i]) / (now_ - from));
      last = now;
      if (std::ranges::any_of(states_, [](const State& state) { return state.progress.has_missed(); })) break;
      if (part >= kFewestParts && fewest_requests() >= requests_ && spreads.largest() < enough_) break;
    }
    std::vector<Played> out;
    const double all = std::max(now_ - begin, 1e-12);
    for (std::size_t i = 0; i < states_.size(); ++i)
      out.push_back({.steps_per_second = (states_[i].progress.steps() - before[i].progress.steps()) / all,
                     .waiting = (states_[i].waited - before[i].waited) / all,
                     .crowded = (states_[i].crowded - before[i].crowded) / all,
                     .behind = states_[i].progress.behind(now_) / all,
                     .latencies = states_[i].progress.latencies()});
    return out;
  }

 private:
  static constexpr float kLaunch = -1;
  struct Event {
    double at;
    std::uint32_t player;
    float room;  ///< that a group of blocks gives back; kLaunch: its kernel comes
    bool operator<(const Event& other) const { return at > other.at; }  // the queue has the largest on top
  };
  struct State {
    Progress progress;
    double undispatched = 0;  ///< blocks, as a share of what fits the GPU
    double resident = 0;      ///< room that its blocks have
    int groups = 0;           ///< of blocks that run
    double busy = 0;          ///< of the SMs' throughput
    double bandwidth = 0;
    double came = 0;
    double waited = 0, crowded = 0;  ///< s, so far
  };

  /// How far the mean of each player's parts is from sure.
  class Spreads {
   public:
    explicit Spreads(std::size_t players) : sums_(players), squares_(players) {}
    void add(std::size_t player, double value) {
      sums_[player] += value;
      squares_[player] += value * value;
      if (player == 0) ++parts_;
    }
    /// Standard error over the mean, of the player for whom that is largest.
    [[nodiscard]] double largest() const {
      double most = 0;
      for (std::size_t i = 0; i < sums_.size(); ++i) {
        const double mean = sums_[i] / parts_, variance = std::max(0.0, squares_[i] / parts_ - mean * mean);
        most = std::max(most, mean > 0 ? std::sqrt(variance / parts_) / mean : 1);
      }
      return most;
    }

   private:
    std::vector<double> sums_, squares_;
    int parts_ = 0;
  };

  void run_until(double end, std::size_t most_events) {
    for (; now_ < end && events_seen_ < most_events; ++events_seen_) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      event.room == kLaunch ? launch(event.player) : end_group(event);
      hand_out();
    }
  }
  /// That any service has answered.
  [[nodiscard]] std::size_t fewest_requests() const {
    std::size_t fewest = requests_;
    for (std::size_t i = 0; i < players_.size(); ++i)
      if (players_[i].arrivals > 0) fewest = std::min(fewest, states_[i].progress.latencies().size());
    return fewest;
  }
  [[nodiscard]] std::vector<double> steps() const {
    std::vector<double> out;
    for (const State& state : states_) out.push_back(state.progress.steps());
    return out;
  }

  void launch(std::uint32_t player) {
    State& state = states_[player];
    state.undispatched = state.progress.kernel().waves;
    state.came = now_;
    const auto comes_before = [&](std::uint32_t other) {
      return players_[player].first && !players_[other].first;
    };
    queue_.insert(std::ranges::find_if(queue_, comes_before), player);
  }

  void end_group(const Event& event) {
    State& state = states_[event.player];
    free_ += event.room;
    state.resident -= event.room;
    --state.groups;
    if (state.groups == 0 && state.undispatched <= kLeft) {
      free_ += state.resident;  // what rounding left
      state.resident = state.busy = state.bandwidth = 0;
      const Player& player = players_[event.player];
      const double ready = state.progress.next(now_);
      const double follows = now_ + state.progress.kernel().gap + player.launch;
      events_.push({std::max(ready, follows), event.player, kLaunch});
    } else {
      occupy(state);
    }
  }
  void occupy(State& state) const {
    const Kernel& kernel = state.progress.kernel();
    const double of_all = state.resident / std::min(1.0, static_cast<double>(kernel.waves));
    state.busy = kernel.reach * of_all;
    state.bandwidth = kernel.bandwidth * of_all;
  }

  /// In the order in which kernels came, those that come first before all others: a later one gets what an
  /// earlier one leaves.
  void hand_out() {
    for (std::size_t at = 0; at < queue_.size();) {
      const std::uint32_t player = queue_[at];
      State& state = states_[player];
      const double room = std::min({free_, state.undispatched, players_[player].cap - state.resident});
      if (room > kNothing || room >= state.undispatched - kLeft) start_group(player, room);
      if (state.undispatched <= kLeft) {
        queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(at));
      } else if (free_ <= kNothing) {
        return;
      } else {
        ++at;  // held up by its own cap
      }
    }
  }

  void start_group(std::uint32_t player, double room) {
    State& state = states_[player];
    const Kernel& kernel = state.progress.kernel();
    if (state.resident == 0 && state.groups == 0) state.waited += now_ - state.came;
    free_ -= room;
    state.resident += room;
    state.undispatched -= room;
    occupy(state);
    double busy = 0, bandwidth = 0;
    for (const State& other : states_) {
      busy += other.busy;
      bandwidth += other.bandwidth;
    }
    const double others = std::max(0.0, bandwidth - state.bandwidth);
    const double alone = static_cast<double>(kernel.seconds) / kernel.groups;
    const double longer = std::max(1.0, busy) * (1 + crowding(kernel.bottleneck) * others +
                                                 kernel.bandwidth * std::max(0.0, bandwidth - 1));
    state.crowded += alone * (longer - 1);
    ++state.groups;
    events_.push({now_ + alone * longer * unevenness(), player, static_cast<float>(room)});
  }
  [[nodiscard]] double crowding(estimate::Bottleneck bottleneck) const {
    switch (bottleneck) {
      case estimate::Bottleneck::compute: return figures_.crowding_compute;
      case estimate::Bottleneck::memory: return figures_.crowding_memory;
      case estimate::Bottleneck::launch: return figures_.crowding_launch;
    }
    return figures_.crowding_memory;
  }

  /// No two launches of a kernel take quite the same time; without that, players that repeat themselves would
  /// fall into step, some of them always behind the same kernel of another. Drawn alike each time.
  double unevenness() { return 1 + kUneven * (2 * draws_.uniform() - 1); }

  static constexpr double kLeft = 1e-6;
  static constexpr double kUneven = 0.15;

  std::span<const Player> players_;
  const SharingFigures& figures_;
  double enough_;
  std::size_t requests_;
  std::vector<State> states_;
  std::vector<std::uint32_t> queue_;  ///< whose kernel has blocks that wait, as they are handed out
  LargestFirst<Event> events_;
  double free_ = 1, now_ = 0;
  Draws draws_{1};
  std::size_t events_seen_ = 0;
};

}  // namespace

std::vector<Played> play_together(std::span<const Player> players, const SharingFigures& figures,
                                  double enough, std::size_t requests) {
  double longest = 0;
  for (const Player& player : players) longest = std::max(longest, player.step);
  return Together(players, figures, enough, requests).play(longest);
}

}  // namespace plimsoll::share
