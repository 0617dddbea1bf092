#pragma once
#include <cstdint>

#include "network/symbols.hpp"

namespace plimsoll::network {

/// Counts are whole numbers. One that leaves 63 bits, or depends on an extent without a bound, sticks at
/// kUnbounded, which is shown as "no bound known" and never as a number.

[[nodiscard]] constexpr std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  return a == kUnbounded || b == kUnbounded || __builtin_add_overflow(a, b, &r) ? kUnbounded : r;
}

[[nodiscard]] constexpr std::int64_t product(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  std::int64_t r = 0;
  return a == kUnbounded || b == kUnbounded || __builtin_mul_overflow(a, b, &r) ? kUnbounded : r;
}

[[nodiscard]] constexpr std::int64_t quotient(std::int64_t a, std::int64_t b) {
  return a == kUnbounded ? kUnbounded : b == 0 ? 0 : a / b;
}

/// The largest of `parts` equal ones: what does not divide is padded.
[[nodiscard]] constexpr std::int64_t divided(std::int64_t a, std::int64_t parts) {
  return a == kUnbounded || parts <= 1 ? a : a / parts + (a % parts > 0 ? 1 : 0);
}

/// A number that is added and multiplied so, for formulas that are written for any kind of number.
struct Count {
  std::int64_t value = 0;
  friend constexpr Count operator+(Count a, Count b) { return {sum(a.value, b.value)}; }
  friend constexpr Count operator*(Count a, Count b) { return {product(a.value, b.value)}; }
  friend constexpr Count operator*(Count a, std::int64_t b) { return {product(a.value, b)}; }
};

}  // namespace plimsoll::network
