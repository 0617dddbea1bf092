// Jobs in an order that somebody else has searched for.
#include "plan/schedule/policies/policies.hpp"
#include "plan/schedule/policies/queue.hpp"

namespace plimsoll::plan::schedule {
namespace {

class Ordered final : public Policy {
 public:
  Ordered(std::vector<std::size_t> order, double least_gain, std::size_t most)
      : order_(std::move(order)), waits_(order_.size(), false), least_gain_(least_gain), most_(most) {}

  void arrive(const View&, std::size_t job) override { waits_[job] = true; }
  void failed(const View&, std::size_t job) override { waits_[job] = true; }
  std::optional<Start> next(const View& view) override {
    for (const std::size_t job : order_) {
      if (!waits_[job]) continue;
      std::vector<std::size_t> places = places_for(view, job);
      if (places.empty()) continue;
      waits_[job] = false;
      return Start{job, std::move(places)};
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::vector<std::size_t> places_for(const View& view, std::size_t job) const {
    const Job& of = view.instance.jobs[job];
    if (of.gpus > 1) {
      std::vector<std::size_t> idle = idle_places(view, job);
      if (idle.size() < static_cast<std::size_t>(of.gpus)) idle.clear();
      return idle;
    }
    std::optional<std::size_t> best;
    double most = least_gain_;
    for (std::size_t place = 0; place < view.places.size(); ++place) {
      const PlaceState& state = view.places[place];
      if (state.running.size() >= most_ || !may_join(view.instance, view.instance.places[place], state, job))
        continue;
      const auto gain = gain_of(state.kinds, view.instance.places[place], static_cast<std::uint32_t>(of.kind),
                                view.beliefs);
      if (!gain || *gain <= most) continue;
      best = place;
      most = *gain;
    }
    return best ? std::vector{*best} : std::vector<std::size_t>();
  }

  std::vector<std::size_t> order_;
  std::vector<bool> waits_;
  double least_gain_;
  std::size_t most_;
};

class Fixed final : public Policy {
 public:
  Fixed(std::vector<Start> starts, std::vector<double> times)
      : starts_(std::move(starts)), times_(std::move(times)), is_started_(starts_.size(), false) {}

  void arrive(const View&, std::size_t) override {}
  void failed(const View&, std::size_t) override {}
  std::optional<Start> next(const View& view) override {
    for (std::size_t i = 0; i < starts_.size(); ++i)
      if (!is_started_[i] && times_[i] <= view.now * (1 + kRounding) + kRounding) {
        is_started_[i] = true;
        return starts_[i];
      }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<double> look_again(double now) const override {
    std::optional<double> out;
    for (std::size_t i = 0; i < times_.size(); ++i)
      if (!is_started_[i] && times_[i] > now && (!out || times_[i] < *out)) out = times_[i];
    return out;
  }

 private:
  static constexpr double kRounding = 1e-9;
  std::vector<Start> starts_;
  std::vector<double> times_;
  std::vector<bool> is_started_;
};

}  // namespace

std::unique_ptr<Policy> fixed_policy(std::vector<Start> starts, std::vector<double> times) {
  return std::make_unique<Fixed>(std::move(starts), std::move(times));
}

std::unique_ptr<Policy> ordered_policy(std::vector<std::size_t> order, double least_gain, std::size_t most) {
  return std::make_unique<Ordered>(std::move(order), least_gain, most);
}

}  // namespace plimsoll::plan::schedule
