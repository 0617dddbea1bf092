#include "base/text.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(Text, Bytes) {
  EXPECT_EQ(text(Bytes(0)), "0 B");
  EXPECT_EQ(text(Bytes(1)), "1 B");
  EXPECT_EQ(text(Bytes(1023)), "1023 B");
  EXPECT_EQ(text(Bytes(1024)), "1.00 KiB");
  EXPECT_EQ(text(Bytes(102'456'320)), "97.7 MiB");
  EXPECT_EQ(text(Bytes(1'048'575)), "1.00 MiB") << "1023.999 KiB rounds over the prefix";
  EXPECT_EQ(text(Bytes(1000 * 1024)), "1000 KiB") << "between 1000 and 1024 there is no prefix to go to";
  EXPECT_EQ(text(139 * kGiB), "139 GiB");
  EXPECT_EQ(text(Bytes(-1536)), "-1.50 KiB");
  EXPECT_EQ(text(Bytes(std::numeric_limits<std::int64_t>::max())), "8.00 EiB");
  EXPECT_EQ(text(Bytes(std::numeric_limits<std::int64_t>::min())), "-8.00 EiB");
}

TEST(Text, Counts) {
  EXPECT_EQ(count_text(std::int64_t{0}), "0");
  EXPECT_EQ(count_text(std::int64_t{7}), "7");
  EXPECT_EQ(count_text(std::int64_t{999}), "999");
  EXPECT_EQ(count_text(std::int64_t{1000}), "1.00 k");
  EXPECT_EQ(count_text(std::int64_t{25'557'032}), "25.6 M");
  EXPECT_EQ(count_text(4.089e9), "4.09 G");
  EXPECT_EQ(count_text(999.96), "1.00 k");
  EXPECT_EQ(count_text(999'600.0), "1.00 M");
  EXPECT_EQ(count_text(9.996), "10.0");
  EXPECT_EQ(count_text(99.96), "100");
  EXPECT_EQ(count_text(0.5), "0.5");
  EXPECT_EQ(count_text(0.9996), "1.00");
  EXPECT_EQ(count_text(0.00123456), "0.00123");
  EXPECT_EQ(count_text(-1234.0), "-1.23 k");
  EXPECT_EQ(count_text(1e24), "1.00 Y");
  EXPECT_EQ(count_text(1e30), "1.00e+06 Y");
}

TEST(Text, Rates) {
  EXPECT_EQ(text(FlopsPerSecond(67e12)), "67.0 TFLOP/s");
  EXPECT_EQ(text(FlopsPerSecond(989e12)), "989 TFLOP/s");
  EXPECT_EQ(text(FlopsPerSecond(1979e12)), "1.98 PFLOP/s");
  EXPECT_EQ(text(BytesPerSecond(4.8e12)), "4.80 TB/s");
  EXPECT_EQ(text(Flops(8.18e9)), "8.18 GFLOP");
  EXPECT_EQ(text(FlopsPerSecond(std::numeric_limits<double>::infinity())), "inf FLOP/s");
  EXPECT_EQ(text(FlopsPerSecond(std::numeric_limits<double>::quiet_NaN())), "nan FLOP/s");
}

TEST(Text, Seconds) {
  EXPECT_EQ(text(Seconds(0)), "0 s");
  EXPECT_EQ(text(Seconds(0.00123)), "1.23 ms");
  EXPECT_EQ(text(Seconds(0.99999)), "1.00 s");
  EXPECT_EQ(text(Seconds(0.0009999)), "1.00 ms");
  EXPECT_EQ(text(Seconds(2.5e-6)), "2.50 µs");
  EXPECT_EQ(text(Seconds(3e-12)), "0.003 ns");
  EXPECT_EQ(text(Seconds(4.42)), "4.42 s");
  EXPECT_EQ(text(Seconds(90.5)), "90.5 s");
  EXPECT_EQ(text(Seconds(600)), "10.0 min");
  EXPECT_EQ(text(Seconds(9000)), "2.50 h");
  EXPECT_EQ(text(Seconds(86400 * 12)), "12.0 d");
  EXPECT_EQ(text(Seconds(86400 * 36525.0)), "36,525 d");
  EXPECT_EQ(text(Seconds(1e30)), "1.16e+25 d");
  EXPECT_EQ(text(Seconds(-0.005)), "-5.00 ms");
}

TEST(Text, PowerEnergyMoney) {
  EXPECT_EQ(text(Watts(700)), "700 W");
  EXPECT_EQ(text(Watts(0.0105)), "10.5 mW");
  EXPECT_EQ(text(Joules(22.1)), "22.1 J");
  EXPECT_EQ(text(Money(0)), "$0");
  EXPECT_EQ(text(Money(6.88)), "$6.88");
  EXPECT_EQ(text(Money(0.526)), "$0.53");
  EXPECT_EQ(text(Money(0.00123)), "$0.00123");
  EXPECT_EQ(text(Money(35029)), "$35,029");
  EXPECT_EQ(text(Money(999.996)), "$1,000");
  EXPECT_EQ(text(Money(1234567)), "$1,234,567");
  EXPECT_EQ(text(Money(-12.5)), "-$12.50");
}

}  // namespace
}  // namespace plimsoll
