#pragma once
#include <cstdint>

#include "network/symbols.hpp"

namespace plimsoll::program {

using network::Interval;

/// How to count; docs/counting.md says what each choice means. The defaults are what a machine executes.
struct Conventions {
  /// FLOPs of one multiply-accumulate: 2, or 1 for those who call a fused multiply-add one operation.
  int flops_per_mac = 2;
  /// Adding a bias in a convolution or linear layer counts one FLOP per output element.
  bool bias = true;
  /// BatchNorm in inference counts 2 FLOPs per element; false where it will be folded into the layer before.
  bool batch_norm = true;
  /// Products of causal attention count half, as a kernel that skips the masked half executes them.
  bool halve_causal = false;
  friend bool operator==(const Conventions&, const Conventions&) = default;
};

/// What one operator, or a whole network, executes and moves in one pass. `low` and `high` differ where
/// extents depend on the data; `high` is kUnbounded where no bound exists.
struct Work {
  Interval macs{0, 0};
  Interval flops{0, 0};
  Interval bytes_read{0, 0};
  Interval bytes_written{0, 0};
  friend bool operator==(const Work&, const Work&) = default;
};

Work& operator+=(Work& a, const Work& b);
/// The work repeated between repeats.low and repeats.high times.
[[nodiscard]] Work operator*(const Work& a, Interval repeats);
/// Bounds that hold whichever of the two happens.
[[nodiscard]] Work either(const Work& a, const Work& b);

/// FLOPs per byte moved at the upper bound; 0 where nothing is moved or no bound exists.
[[nodiscard]] double arithmetic_intensity(const Work& w);

}  // namespace plimsoll::program
