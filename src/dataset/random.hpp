#pragma once
#include <cstdint>

namespace plimsoll::dataset {

/// Numbers that are the same on every machine and need no state kept: what is drawn for an example in a round
/// follows from the seed, the round and the example alone. SplitMix64 (Steele, Lea and Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t round = 0, std::uint64_t item = 0)
      : state_(mixed(mixed(mixed(seed) ^ round) ^ item)) {}

  [[nodiscard]] std::uint64_t next() {
    state_ += kStep;
    return mixed(state_);
  }
  /// 0 to `bound` - 1. The bias of the multiplication is below bound / 2^64.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;  // g++ and clang have it
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
  [[nodiscard]] static constexpr std::uint64_t mixed(std::uint64_t z) {
    z += kStep;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace plimsoll::dataset
