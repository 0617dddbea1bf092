#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "job/joining.hpp"

namespace plimsoll::job {

/// Models that take turns in a memory (`plimsoll swap --run`). What decides is src/swapping.
struct Swapping {
  /// What is asked of a member, in seconds from the first frame on.
  struct Frame {
    std::size_t member = 0;
    double arrival = 0, deadline = 0;
    friend bool operator==(const Frame&, const Frame&) = default;
  };
  /// Each is one set of numbers, held once; its weights are of one shape and type, and none stands in two.
  std::vector<std::vector<MemberWeight>> shared = {};
  std::int64_t block_bytes = 0;
  std::int64_t capacity = 0;  ///< blocks
  std::string policy = {};    ///< as swapping::policies() name them
  std::vector<Frame> frames;  ///< sorted by arrival
  bool foreseen = true;       ///< what is to come is known before it comes
  bool drops_late = true;     ///< what would be late is dropped before anything moves
  bool by_clock = true;       ///< else one after the other, as fast as they are served; then none is late
  std::string outputs = {};   ///< safetensors, for what each member's last run gave; empty: nowhere
  friend bool operator==(const Swapping&, const Swapping&) = default;
};

}  // namespace plimsoll::job
