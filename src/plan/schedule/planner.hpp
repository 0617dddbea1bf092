#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "plan/schedule/bounds.hpp"
#include "plan/schedule/engine.hpp"

namespace plimsoll::plan::schedule {

/// What a plan is for: weights, of each against the same exclusively in the order of arrival.
struct Aim {
  double makespan = 1, completion = 0, energy = 0, money = 0;
  [[nodiscard]] bool is_makespan() const { return completion + energy + money == 0; }
};

/// A way to set up a GPU: whole, or in slices.
struct Layout {
  std::string name;
  struct Part {
    std::size_t setup = 0;
    Bytes memory = {};
  };
  std::vector<Part> parts;
};

/// One GPU of a fleet whose GPUs are not all alike.
struct Slot {
  std::string name = {};
  std::size_t host = 0;
  std::vector<std::size_t> layouts = {};  ///< those of the fleet that it may have; one at least
};

/// GPUs of one kind, and how they may be set up.
struct Fleet {
  std::size_t gpus = 1;
  double price = 0;  ///< of an hour of one
  double idle_watts = 0;
  std::vector<int> cores = {};   ///< of each machine; none, or 0: nobody knows
  std::vector<Slot> slots = {};  ///< of each GPU; empty: all alike, in one machine
  std::vector<Setup> setups;
  std::vector<Layout> layouts;
};

/// What would have come out of another way.
struct Alternative {
  std::string name;
  Outcome outcome = {};
};

struct Plan {
  Instance instance = {};
  std::vector<std::string> layouts = {};  ///< of each GPU
  Outcome outcome = {};
  LowerBound bound = {};
  bool optimal = false;  ///< proven, of the makespan, for these layouts
  std::vector<Alternative> alternatives =
      {};  ///< each layout for all GPUs, and exclusively in the order of arrival
};

/// How a plan is searched for.
struct Effort {
  std::size_t looks = 2000;  ///< orders that are tried, beyond what is greedy
  bool shares_bind = false;  ///< as an Instance has it
  /// Larger groups are guessed from pairs while many are looked at, and asked for where they are in the plan.
  bool by_pairs = false;
};
/// The best that was found. Fails where a job fits nowhere, or jobs wait for each other in a circle.
[[nodiscard]] Result<Plan> make_plan(std::vector<Kind> kinds, std::vector<Job> jobs, const Fleet& fleet,
                                     Rates& rates, const Aim& wanted, const Effort& effort = {});

/// What is worth less is better.
[[nodiscard]] double cost_of(const Outcome& outcome, const Aim& aim);

}  // namespace plimsoll::plan::schedule
