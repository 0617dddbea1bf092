#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace plimsoll::plan::schedule {

/// What jobs of one kind do to a GPU.
struct Kind {
  std::string name;
  double share = 1;                  ///< of a GPU, that it keeps busy alone
  std::optional<Bytes> memory = {};  ///< the most that it takes; nothing: nobody knows, so it runs alone
  double activity = 1;               ///< of the SMs, alone
  double occupancy = 0.5;            ///< of those that are active
  double bandwidth = 0.5;            ///< of the memory's
  std::optional<Watts> watts = {};   ///< alone
  bool serves = false;               ///< a service: it has no end of its own, and comes first
  std::int64_t batch = 0;            ///< of a service's requests, that was chosen; 0: none was
};

/// Something to be run.
struct Job {
  std::string name;
  std::size_t kind = 0;
  double startup = 0;  ///< s from its start to its first step: it holds memory and a core, no SMs
  /// s more until it has its pace, of the first of its kind in a way of sharing on a machine, and of those
  /// that start beside it: kernels are searched for, compiled and loaded, which later ones find in caches.
  double settling = 0;
  double seconds = 0;  ///< from its first step on, alone; of a service nothing
  double arrival = 0;  ///< s
  double priority = 0;
  std::optional<double> deadline = {};  ///< s
  int gpus = 1;                         ///< all at once, each for itself
  std::vector<std::size_t> after = {};  ///< jobs that must have ended
  std::vector<std::size_t> apart = {};  ///< jobs that must not be beside it
  std::string user = {};                ///< MPS serves one at a time
  bool can_be_interrupted = false;
};

}  // namespace plimsoll::plan::schedule
