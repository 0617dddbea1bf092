#include "base/units.hpp"

#include <concepts>
#include <limits>

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) { a + b; };
template <class A, class B>
concept Multipliable = requires(A a, B b) { a* b; };

static_assert(!Addable<Seconds, Joules>);
static_assert(!Addable<Bytes, Flops>);
static_assert(!Addable<Seconds, double>);
static_assert(!Multipliable<Seconds, Seconds>);
static_assert(!Multipliable<Watts, Bytes>);
static_assert(!std::convertible_to<double, Seconds>);
static_assert(!std::convertible_to<Bytes, double>);
static_assert(Flops(4e9) / FlopsPerSecond(2e9) == Seconds(2));
static_assert(Bytes(300) / BytesPerSecond(100) == Seconds(3));

TEST(Units, TimeFollowsFromWorkAndRate) {
  EXPECT_EQ(Flops(67e12) / FlopsPerSecond(67e12), Seconds(1));
  EXPECT_EQ(Bytes(4'800'000'000'000) / BytesPerSecond(4.8e12), Seconds(1));
  EXPECT_EQ(FlopsPerSecond(2e12) * Seconds(3), Flops(6e12));
  EXPECT_EQ(BytesPerSecond(1.5) * Seconds(3), Bytes(5)) << "4.5 bytes, rounded away from zero";
}

TEST(Units, EnergyAndMoney) {
  EXPECT_EQ(Watts(5) * Seconds(4.42), Joules(5 * 4.42));
  EXPECT_EQ(Joules(22.1) / Seconds(4.42), Watts(22.1 / 4.42));
  EXPECT_EQ(Joules(10) / Watts(5), Seconds(2));
  EXPECT_EQ(MoneyPerHour(6.88) * Seconds(1800), Money(3.44));
}

TEST(Units, RatiosArePlainNumbers) {
  EXPECT_DOUBLE_EQ(Seconds(3) / Seconds(2), 1.5);
  EXPECT_DOUBLE_EQ(kGiB / kMiB, 1024);
  EXPECT_DOUBLE_EQ(Flops(100) / Bytes(50), 2);
  EXPECT_DOUBLE_EQ(FlopsPerSecond(989e12) / BytesPerSecond(4.8e12), 989.0 / 4.8);
}

TEST(Units, BytesStopAtTheEndsOfTheirRange) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(Bytes(most) + Bytes(1), Bytes(most));
  EXPECT_EQ(Bytes(least) + Bytes(-1), Bytes(least));
  EXPECT_EQ(Bytes(least) - Bytes(1), Bytes(least));
  EXPECT_EQ(Bytes(0) - Bytes(least), Bytes(most));
  EXPECT_EQ(Bytes(most / 2) * 3, Bytes(most));
  EXPECT_EQ(Bytes(most / 2) * -3, Bytes(least));
  EXPECT_EQ(Bytes::rounded(1e30), Bytes(most));
  EXPECT_EQ(Bytes::rounded(-1e30), Bytes(least));
  EXPECT_EQ(Bytes::rounded(std::numeric_limits<double>::quiet_NaN()), Bytes(0));
  EXPECT_GT(Bytes(most) + Bytes(most), kGiB * 1024);
}

TEST(Units, SumsAndOrder) {
  Seconds total;
  total += Seconds(1.5);
  total -= Seconds(0.5);
  EXPECT_EQ(total, Seconds(1));
  EXPECT_LT(Watts(70), Watts(350));
  EXPECT_EQ(2 * Seconds(3) / 4, Seconds(1.5));
}

}  // namespace
}  // namespace plimsoll
