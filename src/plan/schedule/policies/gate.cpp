// CARMA's gate: a GPU takes another where its memory has room for it and two GiB more, unless its SMs were
// busy over the last seconds and occupied, too, or its memory was. The first in line waits for one; of those
// that are open the one with most free memory is taken, and then left alone until its activity can be seen.
#include "plan/schedule/engine.hpp"
#include "plan/schedule/policies/policies.hpp"
#include "plan/schedule/policies/queue.hpp"

namespace plimsoll::plan::schedule {
namespace {

constexpr double kBusy = 0.80, kOccupied = 0.45, kReading = 0.40;
constexpr Bytes kSpare = 2 * kGiB;

class Gate final : public FitPolicy {
 public:
  explicit Gate(const Instance& instance)
      : FitPolicy(
            [this](const View& view, std::size_t job, std::size_t place) { return score(view, job, place); },
            false),
        until_(instance.places.size(), 0) {}

  std::optional<Start> next(const View& view) override {
    stirred_ = view.stirred;
    auto start = FitPolicy::next(view);
    if (start)
      for (const std::size_t place : start->places) until_[place] = view.now + kActivityWindow;
    return start;
  }
  [[nodiscard]] std::optional<double> look_again(double now) const override {
    // What it looks at stands still once all that computes has been the same for a window.
    const bool stands_still = now > stirred_ + kActivityWindow + kLook;
    return is_empty() || stands_still ? std::nullopt : std::optional(now + kLook);
  }

 private:
  static constexpr double kLook = 1;  // s

  [[nodiscard]] std::optional<double> score(const View& view, std::size_t job, std::size_t place) const {
    const PlaceState& state = view.places[place];
    const Bytes free = view.instance.places[place].memory - state.memory;
    const double worth = static_cast<double>(free.count());
    if (state.running.empty()) return worth;
    if (view.now < until_[place]) return std::nullopt;
    const auto& need = view.instance.kinds[view.instance.jobs[job].kind].memory;
    if (!need || free < *need + kSpare) return std::nullopt;
    const View::Activity activity = view.activity(place);
    if (activity.sms >= kBusy && (activity.occupancy >= kOccupied || activity.bandwidth >= kReading))
      return std::nullopt;
    return worth;
  }
  std::vector<double> until_;
  double stirred_ = 0;
};

}  // namespace

std::unique_ptr<Policy> gate_policy(const Instance& instance) {
  return std::make_unique<Gate>(instance);
}

}  // namespace plimsoll::plan::schedule
