#include "probe/sharing.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/statistics.hpp"

namespace plimsoll::probe {
namespace {

constexpr std::size_t kLeastGaps = 10;   // that a median is taken of
constexpr double kLeastShare = 0.02;     // of the bandwidth; of less, what it does to others is noise
constexpr double kLongestLaunch = 1e-3;  // s more of a launch: what is longer was no launch
constexpr double kLongestTurn = 1;       // s
constexpr double kWorstCrowding = 100;   // times

/// How long a watcher had the GPU, and how long it did not.
struct Watched {
  double run = 0;
  double gap = 0;
};

std::optional<Watched> watched(const cuda::Turns& turns) {
  if (turns.gaps.size() < kLeastGaps) return std::nullopt;
  std::vector<double> runs, gaps;
  for (std::size_t i = 0; i < turns.gaps.size(); ++i) {
    gaps.push_back(turns.gaps[i].end - turns.gaps[i].begin);
    if (i > 0) runs.push_back(turns.gaps[i].begin - turns.gaps[i - 1].end);
  }
  return Watched{.run = median(runs), .gap = median(gaps)};
}

/// Of a step, in seconds.
std::optional<double> typical(const std::optional<Rate>& rate) {
  if (!rate || rate->samples.empty()) return std::nullopt;
  const double seconds = median(rate->samples);
  return seconds > 0 && std::isfinite(seconds) ? std::optional(seconds) : std::nullopt;
}
std::optional<double> bytes_per_second(const std::optional<Rate>& rate) {
  const std::optional<double> seconds = typical(rate);
  return seconds ? std::optional(rate->amount / *seconds) : std::nullopt;
}

class Folding {
 public:
  explicit Folding(const SharingAnswers& answers) : answers_(answers) {}

  SharingFindings findings() && {
    add_turns();
    add_launch("client_launch", answers_.client, answers_.alone);
    add_launch("crowded_launch", answers_.crowded, answers_.client);
    add_crowding("crowding_memory", answers_.near, answers_.near_streamed, answers_.near_streaming);
    add_crowding("crowding_compute", answers_.client, answers_.spin_streamed, answers_.spin_streaming);
    return std::move(out_);
  }

 private:
  void add_turns() {
    if (answers_.turns.size() != 2) return;
    const std::array both{watched(answers_.turns[0]), watched(answers_.turns[1])};
    if (!both[0] || !both[1]) {
      out_.remarks.emplace_back("slice, change: two processes took no turns on the GPU (is MPS in between?)");
      return;
    }
    add("slice", (both[0]->run + both[1]->run) / 2, kLongestTurn);
    // In a gap of one is a turn of the other, and a change before and one after it.
    add("change", (both[0]->gap - both[1]->run + both[1]->gap - both[0]->run) / 4, kLongestTurn);
  }

  /// What each of a step's kernels takes longer.
  void add_launch(std::string_view name, const std::optional<Rate>& shared,
                  const std::optional<Rate>& before) {
    const auto longer = typical(shared), shorter = typical(before);
    if (longer && shorter && answers_.kernels > 0)
      add(name, (*longer - *shorter) / static_cast<double>(answers_.kernels), kLongestLaunch);
  }

  void add_crowding(std::string_view name, const std::optional<Rate>& before,
                    const std::optional<Rate>& beside, const std::optional<Rate>& other) {
    const auto shorter = typical(before), longer = typical(beside);
    const auto all = bytes_per_second(answers_.streaming), taken = bytes_per_second(other);
    if (!shorter || !longer || !all || !taken) return;
    const double share = std::min(*taken / *all, 1.0);
    if (share < kLeastShare)
      out_.remarks.push_back(
          fmt::format("{}: the other took only {:.1f} % of the bandwidth", name, 100 * share));
    else
      add(name, (*longer / *shorter - 1) / share, kWorstCrowding);
  }

  /// What is less than nothing is within what can be told of a difference.
  void add(std::string_view name, double value, double most) {
    if (!std::isfinite(value) || value > most) {
      out_.remarks.push_back(fmt::format("{}: {:g} is more than can be believed", name, value));
      return;
    }
    if (value < 0) out_.remarks.push_back(fmt::format("{}: {:.2g}, which is taken for 0", name, value));
    out_.figures.push_back({name, std::max(value, 0.0)});
  }

  const SharingAnswers& answers_;
  SharingFindings out_;
};

}  // namespace

SharingFindings sharing_findings(const SharingAnswers& answers) {
  return Folding(answers).findings();
}

}  // namespace plimsoll::probe
