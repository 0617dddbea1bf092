#include "plan/schedule/ahead.hpp"

#include <algorithm>
#include <limits>

namespace plimsoll::plan::schedule {

std::vector<double> seconds_left(const Instance& instance, const Place& place, const PlaceState& state,
                                 double now, Rates& beliefs) {
  constexpr double kLeastSpeed = 1e-6;
  const auto speeds = [&](std::span<const std::uint32_t> kinds) {
    return kinds.empty() ? std::vector<double>() : known_or_guessed(kinds, place.setup, beliefs).speeds;
  };
  const std::vector<std::uint32_t> computing = computing_kinds(state);
  const std::vector<double> now_together = speeds(computing),
                            all_together = computing == state.kinds ? now_together : speeds(state.kinds);
  std::size_t computes = 0;
  std::vector<double> out;
  out.reserve(state.running.size());
  for (std::size_t i = 0; i < state.running.size(); ++i) {
    const Running& running = state.running[i];
    const bool starts_up = running.starting > 0;
    const std::size_t member = starts_up ? i : computes++;
    if (instance.kinds[running.kind].serves) {
      out.push_back(std::numeric_limits<double>::infinity());
      continue;
    }
    const std::vector<double>& told = starts_up ? all_together : now_together;
    const double believed = member < told.size() ? std::max(told[member], kLeastSpeed) : 1;
    const double speed = !starts_up && running.seen > 0 ? running.seen : believed;
    const double starting = std::max(0.0, running.starting);
    out.push_back(std::max(0.0, starting + std::max(0.0, running.left) / speed - (now - state.at)));
  }
  return out;
}

std::vector<std::size_t> those_ahead(const Instance& instance, const Place& place, const PlaceState& state,
                                     double now, double later, Rates& beliefs) {
  std::vector<std::size_t> out;
  const std::vector<double> left = later > 0 ? seconds_left(instance, place, state, now, beliefs)
                                             : std::vector<double>(state.running.size(), 1);
  for (std::size_t i = 0; i < left.size(); ++i)
    if (left[i] > later) out.push_back(i);
  return out;
}

std::vector<std::uint32_t> kinds_ahead(const Instance& instance, const Place& place, const PlaceState& state,
                                       double now, double later, Rates& beliefs) {
  std::vector<std::uint32_t> out;
  for (const std::size_t i : those_ahead(instance, place, state, now, later, beliefs))
    out.push_back(state.running[i].kind);
  return out;
}

}  // namespace plimsoll::plan::schedule
