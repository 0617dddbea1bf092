#pragma once
#include <span>
#include <string>
#include <vector>

#include "plan/schedule/job.hpp"
#include "plan/schedule/rates.hpp"

namespace plimsoll::plan::schedule {

/// Where jobs run: a GPU, or a slice of one.
struct Place {
  std::string name = {};
  std::size_t device = 0;  ///< the GPU's number
  std::size_t setup = 0;   ///< of Instance::setups
  Bytes memory = {};
  double price = 0;      ///< of an hour of it
  std::size_t host = 0;  ///< the machine's number
};

/// Jobs, and what there is to run them on.
struct Instance {
  std::vector<Kind> kinds;
  std::vector<Job> jobs;
  std::vector<Setup> setups;
  std::vector<Place> places;
  double idle_watts = 0;        ///< of a GPU
  bool shares_bind = false;     ///< the shares of those on a place, as far as they run, are one at most
  std::vector<int> cores = {};  ///< by host; 0, or none: nobody knows, so that they are enough
  std::size_t hosts = 1;
  [[nodiscard]] int cores_of(std::size_t host) const { return host < cores.size() ? cores[host] : 0; }
};

/// A job on its place.
struct Running {
  std::size_t job = 0;
  std::uint32_t kind = 0;
  double left = 0;       ///< s of it alone
  double speed = 1;      ///< against alone
  double starting = 0;   ///< s of its start-up that are left, with a core to itself
  double seen = 0;       ///< its speed as it was measured; 0: nobody has yet
  double log_error = 0;  ///< of its speed, as GroupRates have it
};

/// What is on a place. Its jobs are in ascending order of their kinds.
struct PlaceState {
  std::vector<Running> running = {};
  std::vector<std::uint32_t> kinds = {};  ///< of those
  Bytes memory = {};                      ///< the most that they take
  bool closed = false;                    ///< one whose memory nobody knows is on it
  double at = 0;                          ///< s: when what is left of them was as they say
};

/// Whether a job may join those on a place: memory by its upper bound, users, apart, the way of sharing. What
/// they would do to each other is not looked at.
[[nodiscard]] bool may_join(const Instance& instance, const Place& place, const PlaceState& state,
                            std::size_t job);
/// The kinds of those on a place that compute, in ascending order.
[[nodiscard]] std::vector<std::uint32_t> computing_kinds(const PlaceState& state);
/// By which jobs come first: its priority; services before all others.
[[nodiscard]] double rank_of(const Instance& instance, std::size_t job);
/// Of idle places so many as a job wants: of one host, where one has enough GPUs for it at all. Fewer: there
/// are not enough now.
[[nodiscard]] std::vector<std::size_t> of_one_host(const Instance& instance, std::vector<std::size_t> idle,
                                                   std::size_t wanted);
/// The kinds on a place with one more, in ascending order.
[[nodiscard]] std::vector<std::uint32_t> with_kind(std::span<const std::uint32_t> kinds, std::uint32_t more);
/// What a job more adds to the combined speed of those on a place; nothing where that is not allowed.
[[nodiscard]] std::optional<double> gain_of(std::span<const std::uint32_t> kinds, const Place& place,
                                            std::uint32_t kind, Rates& rates);

}  // namespace plimsoll::plan::schedule
