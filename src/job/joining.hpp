#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "network/network.hpp"

namespace plimsoll::job {

/// A weight of one of the networks that learn together.
struct MemberWeight {
  std::size_t member = 0;
  network::TensorId tensor = network::kNoTensor;
  friend bool operator==(const MemberWeight&, const MemberWeight&) = default;
};

/// What networks that learn together hold in common, and how long they learn (`plimsoll merge`).
struct Joining {
  /// Each is one set of numbers; its weights are of one shape and type, and none stands in two.
  std::vector<std::vector<MemberWeight>> ties = {};
  bool averaged = true;  ///< a tie begins as its weights' mean, else as its first weight
  /// By member, the accuracy on its test set that it is to keep. The training ends once all do.
  std::vector<double> floors = {};
  std::int64_t epochs = 1;  ///< at most, each as long as the longest member's; 0: they are only tested
  std::string folder = {};  ///< where the members' weights go at the end; empty: nowhere
  friend bool operator==(const Joining&, const Joining&) = default;
};

/// The file of a member's weights in Joining::folder. Each appears whole or not at all.
[[nodiscard]] std::string member_file(std::size_t member);  ///< "member-0.safetensors"

}  // namespace plimsoll::job
