#pragma once
#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

namespace plimsoll {

/// A number with its unit in the type. Only what makes sense compiles: seconds add to seconds, twice a
/// second is seconds, seconds over seconds is a plain number, and the products and quotients named below.
template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  explicit constexpr Quantity(double value) : value_(value) {}
  [[nodiscard]] constexpr double value() const { return value_; }

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, double factor) { return Quantity(a.value_ * factor); }
  friend constexpr Quantity operator*(double factor, Quantity a) { return Quantity(a.value_ * factor); }
  friend constexpr Quantity operator/(Quantity a, double divisor) { return Quantity(a.value_ / divisor); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  double value_ = 0;
};

/// Floating-point operations; a multiply-add is two. A double: trainings reach 1e24, beyond 63 bits.
using Flops = Quantity<struct FlopsTag>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;
using Seconds = Quantity<struct SecondsTag>;
using Joules = Quantity<struct JoulesTag>;
using Watts = Quantity<struct WattsTag>;
using Money = Quantity<struct MoneyTag>;  ///< US dollars
using MoneyPerHour = Quantity<struct MoneyPerHourTag>;

/// A size in memory, exact. Arithmetic stops at the ends of 63 bits instead of overflowing: such a sum
/// is more than any machine has, and still compares so.
class Bytes {
 public:
  constexpr Bytes() = default;
  explicit constexpr Bytes(std::int64_t count) : count_(count) {}
  /// Rounded to the nearest byte; beyond 63 bits the end of the range, and 0 for NaN.
  [[nodiscard]] static constexpr Bytes rounded(double count) {
    if (count != count) return Bytes();
    if (count >= 0x1p63) return Bytes(kMost);
    if (count <= -0x1p63) return Bytes(kLeast);
    return Bytes(static_cast<std::int64_t>(count + (count < 0 ? -0.5 : 0.5)));
  }
  [[nodiscard]] constexpr std::int64_t count() const { return count_; }

  constexpr Bytes& operator+=(Bytes other) { return *this = *this + other; }
  constexpr Bytes& operator-=(Bytes other) { return *this = *this - other; }
  friend constexpr Bytes operator+(Bytes a, Bytes b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a.count_, b.count_, &sum)) return Bytes(a.count_ < 0 ? kLeast : kMost);
    return Bytes(sum);
  }
  friend constexpr Bytes operator-(Bytes a, Bytes b) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(a.count_, b.count_, &difference)) return Bytes(a.count_ < 0 ? kLeast : kMost);
    return Bytes(difference);
  }
  friend constexpr Bytes operator*(Bytes a, std::int64_t factor) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a.count_, factor, &product))
      return Bytes((a.count_ < 0) == (factor < 0) ? kMost : kLeast);
    return Bytes(product);
  }
  friend constexpr Bytes operator*(std::int64_t factor, Bytes a) { return a * factor; }
  friend constexpr double operator/(Bytes a, Bytes b) {
    return static_cast<double>(a.count_) / static_cast<double>(b.count_);
  }
  friend constexpr auto operator<=>(Bytes, Bytes) = default;

 private:
  static constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  std::int64_t count_ = 0;
};

inline constexpr Bytes kKiB{1024};
inline constexpr Bytes kMiB{std::int64_t{1} << 20};
inline constexpr Bytes kGiB{std::int64_t{1} << 30};

constexpr Seconds operator/(Flops work, FlopsPerSecond rate) {
  return Seconds(work.value() / rate.value());
}
constexpr FlopsPerSecond operator/(Flops work, Seconds time) {
  return FlopsPerSecond(work.value() / time.value());
}
constexpr Flops operator*(FlopsPerSecond rate, Seconds time) {
  return Flops(rate.value() * time.value());
}
constexpr Flops operator*(Seconds time, FlopsPerSecond rate) {
  return rate * time;
}

constexpr Seconds operator/(Bytes size, BytesPerSecond rate) {
  return Seconds(static_cast<double>(size.count()) / rate.value());
}
constexpr BytesPerSecond operator/(Bytes size, Seconds time) {
  return BytesPerSecond(static_cast<double>(size.count()) / time.value());
}
constexpr Bytes operator*(BytesPerSecond rate, Seconds time) {
  return Bytes::rounded(rate.value() * time.value());
}
constexpr Bytes operator*(Seconds time, BytesPerSecond rate) {
  return rate * time;
}

constexpr Joules operator*(Watts power, Seconds time) {
  return Joules(power.value() * time.value());
}
constexpr Joules operator*(Seconds time, Watts power) {
  return power * time;
}
constexpr Watts operator/(Joules energy, Seconds time) {
  return Watts(energy.value() / time.value());
}
constexpr Seconds operator/(Joules energy, Watts power) {
  return Seconds(energy.value() / power.value());
}

inline constexpr Seconds kHour{3600};
constexpr Money operator*(MoneyPerHour price, Seconds time) {
  return Money(price.value() * (time / kHour));
}
constexpr Money operator*(Seconds time, MoneyPerHour price) {
  return price * time;
}

/// Arithmetic intensity, FLOP per byte: left of peak / bandwidth the memory is the limit.
constexpr double operator/(Flops work, Bytes moved) {
  return work.value() / static_cast<double>(moved.count());
}
constexpr double operator/(FlopsPerSecond peak, BytesPerSecond bandwidth) {
  return peak.value() / bandwidth.value();
}

}  // namespace plimsoll
