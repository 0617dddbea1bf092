#pragma once
#include <cstdint>
#include <vector>

#include "plan/schedule/instance.hpp"

namespace plimsoll::plan::schedule {

/// Seconds from `now` until each of those on a place has ended, in their order; of services without end. Who
/// computes goes on at the speed that was seen, else at that which is believed of it beside the others that
/// do; who starts up at that beside all. No group is simulated for it.
[[nodiscard]] std::vector<double> seconds_left(const Instance& instance, const Place& place,
                                               const PlaceState& state, double now, Rates& beliefs);

/// Those on a place, by their position there, that will still be there `later` s from now: beside whom one
/// will compute that starts now and starts up as long.
[[nodiscard]] std::vector<std::size_t> those_ahead(const Instance& instance, const Place& place,
                                                   const PlaceState& state, double now, double later,
                                                   Rates& beliefs);
/// Their kinds, in ascending order.
[[nodiscard]] std::vector<std::uint32_t> kinds_ahead(const Instance& instance, const Place& place,
                                                     const PlaceState& state, double now, double later,
                                                     Rates& beliefs);

}  // namespace plimsoll::plan::schedule
