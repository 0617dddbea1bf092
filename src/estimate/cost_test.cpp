#include "estimate/cost.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/catalogue.hpp"

namespace plimsoll::estimate {
namespace {

using hardware::Arithmetic;
using hardware::Offer;
using testing::HasSubstr;

const std::vector<Offer>& offers() {
  return *hardware::built_in_prices();
}

TEST(Cost, ADevicesShareOfItsMachine) {
  const auto offer = hardware::find_offer(offers(), "p5en.48xlarge");
  ASSERT_TRUE(offer);
  const auto rate = hourly_rate_of(**offer);
  ASSERT_TRUE(rate);
  EXPECT_DOUBLE_EQ(rate->per_device.value(), 63.30 / 8);
  EXPECT_EQ(rate->basis, "p5en.48xlarge / 8, on-demand, us-east, Linux");
  EXPECT_EQ(rate->date, "2025-11");
  // 62 ms a step of 128 images, 10,009 steps an epoch: 620.6 s of 7.91 $/h.
  const Costs got = costs(*rate, 1, Seconds(0.062), 128, 10'009, 90);
  EXPECT_NEAR(got.per_epoch->value(), 0.062 * 10'009 / 3600 * 63.30 / 8, 1e-9);
  EXPECT_NEAR(got.whole->value(), 90 * got.per_epoch->value(), 1e-9);
  EXPECT_NEAR(got.per_million.value(), 1e6 / 128 * 0.062 / 3600 * 63.30 / 8, 1e-9);
  EXPECT_EQ(costs(*rate, 1, Seconds(1), 1).per_epoch, std::nullopt) << "how much data there is was not given";
  EXPECT_DOUBLE_EQ(costs(*rate, 8, Seconds(3600), 1).per_pass.value(), 63.30) << "all eight for an hour";
}

TEST(Cost, ATermIsSpreadAndSaysSo) {
  const auto reserved = std::ranges::find_if(offers(), [](const Offer& o) {
    return o.terms == hardware::Terms::reserved && o.name == "p3.2xlarge";
  });
  ASSERT_NE(reserved, offers().end());
  const auto rate = hourly_rate_of(*reserved);
  ASSERT_TRUE(rate);
  EXPECT_NEAR(rate->per_device.value(), 35029.0 / (3 * 8766), 1e-9);
  EXPECT_THAT(rate->basis, HasSubstr("3 years"));
  EXPECT_EQ(rate->provenance, Provenance::assumed);
  const auto dgx = hardware::find_offer(offers(), "DGX-1V");
  ASSERT_TRUE(dgx);
  EXPECT_FALSE(hourly_rate_of(**dgx));
}

// The teaching table of 2018, quotient by quotient: dollars over TFLOP/s.
TEST(Cost, MoneyPerTeraflops) {
  struct Row {
    const char* name;
    Arithmetic arithmetic;
    double dollars;
  };
  const Row table[] = {{"p3.2xlarge", Arithmetic::fp64, 4671}, {"p3.2xlarge", Arithmetic::fp32, 2335},
                       {"p3.2xlarge", Arithmetic::fp16, 292},  {"p2.xlarge", Arithmetic::fp64, 8296},
                       {"p2.xlarge", Arithmetic::fp32, 2765},  {"DGX-1V", Arithmetic::fp64, 2483},
                       {"DGX-1V", Arithmetic::fp32, 1242},     {"DGX-1V", Arithmetic::fp16, 155},
                       {"DGX-1P", Arithmetic::fp64, 3035},     {"DGX-1P", Arithmetic::fp32, 1521},
                       {"DGX-1P", Arithmetic::fp16, 761}};
  const auto rows = money_per_rate(offers(), hardware::built_in_catalogue()->devices());
  for (const Row& row : table) {
    const auto found = std::ranges::find_if(rows, [&](const MoneyPerRate& r) {
      return r.offer->name == row.name && r.arithmetic == row.arithmetic && r.stated;
    });
    ASSERT_NE(found, rows.end()) << row.name;
    EXPECT_NEAR(found->per_teraflops, row.dollars, 0.5) << row.name << " " << name(row.arithmetic);
    EXPECT_FALSE(found->by_hour);
  }
  for (const MoneyPerRate& row : rows) {
    EXPECT_FALSE(row.offer->device == "k80" && row.arithmetic == Arithmetic::fp16)
        << "a K80 has no such rate";
    EXPECT_NE(row.offer->device, "a10g") << "its rates are not in the catalogue: no row, no guess";
  }
}

TEST(Cost, EnergyAtTheWallAndItsCarbon) {
  const hardware::Grid grid{"AAA", "A", 250, 2023};
  const Footprint print = footprint(Joules(3.6e6), {"aws", 1.15}, &grid);
  EXPECT_DOUBLE_EQ(print.kilowatt_hours, 1.15);
  EXPECT_DOUBLE_EQ(print.carbon->value(), 1.15 * 0.250);
  EXPECT_THAT(print.basis, HasSubstr("PUE 1.15 (aws), 250 g CO2e per kWh in AAA (2023)"));
  EXPECT_EQ(footprint(Joules(1), {"aws", 1.15}, nullptr).carbon, std::nullopt) << "no country, no guess";
}

}  // namespace
}  // namespace plimsoll::estimate
