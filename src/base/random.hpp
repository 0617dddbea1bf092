#pragma once
#include <cstdint>
#include <random>

namespace plimsoll {

/// Numbers by lot, the same from the same seed everywhere: the standard fixes what the engine gives, and not
/// what its distributions make of it.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// From 0 to `count` - 1, all equally likely; `count` is positive.
  [[nodiscard]] std::uint64_t below(std::uint64_t count) {
    const std::uint64_t most = UINT64_MAX - UINT64_MAX % count;
    std::uint64_t drawn = engine_();
    while (drawn >= most) drawn = engine_();
    return drawn % count;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace plimsoll
