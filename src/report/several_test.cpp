#include "report/several.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace plimsoll::report {
namespace {

using plan::Parallelism;
using plan::Way;
using testing::ElementsAre;
using testing::HasSubstr;

plan::SeveralDevices ways() {
  plan::SeveralDevices out;
  out.ways = {{.how = Parallelism::zero1, .reason = "on 4096 GPUs each still keeps more than it has"},
              {.how = Parallelism::zero3,
               .devices = 1024,
               .local_batch = 2,
               .minimum_device = kGiB * 10,
               .upper_device = kGiB * 12,
               .no_time = "nothing is known of the link"},
              {.how = Parallelism::tensor_pipeline,
               .devices = 16,
               .tensor = 8,
               .pipeline = 2,
               .minimum_device = kGiB * 10,
               .upper_device = kGiB * 11,
               .seconds = Seconds(2),
               .low = Seconds(1),
               .high = Seconds(3),
               .samples_per_second = 4}};
  out.fewest = out.best = 2;
  out.why = "the fewest GPUs";
  return out;
}

TEST(SeveralReport, FewestFirstAndWhatIsUnknown) {
  const Table table = several_table(ways(), true);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_THAT(table.rows[0], ElementsAre("tensor 8, 2 stages", "16", "10.0 GiB", "11.0 GiB", "2 s", "4"));
  EXPECT_THAT(table.rows[1],
              ElementsAre("ZeRO-3, batch 2", "1,024", "10.0 GiB", "12.0 GiB", "unknown", "unknown"));
  EXPECT_EQ(several_words(ways()), "16 GPUs (tensor 8, 2 stages): the fewest GPUs");
  EXPECT_THAT(several_notes(ways()), ElementsAre("ZeRO-1: on 4096 GPUs each still keeps more than it has",
                                                 HasSubstr("nothing is known of the link")));
}

TEST(SeveralReport, BestThatIsNotTheFewestIsToldBesideIt) {
  plan::SeveralDevices several = ways();
  several.best = 1;
  several.why = "the most samples a second of each GPU";
  EXPECT_EQ(several_words(several),
            "at least 16 GPUs (tensor 8, 2 stages); best 1,024 GPUs (ZeRO-3, batch 2): the most samples a "
            "second of each GPU");
  EXPECT_EQ(several_words({.why = "none"}), "none");
}

TEST(SeveralReport, JsonHasNullsWhereNothingIsKnown) {
  const nlohmann::ordered_json json = to_json(ways());
  EXPECT_EQ(json.at("fewest_devices"), 16);
  const auto& rows = json.at("ways");
  EXPECT_TRUE(rows[0].at("devices").is_null());
  EXPECT_TRUE(rows[0].at("high_device_bytes").is_null());
  EXPECT_TRUE(rows[1].at("seconds").is_null());
  EXPECT_EQ(rows[1].at("local_batch"), 2);
  EXPECT_EQ(rows[2].at("best"), true);
  EXPECT_EQ(rows[2].at("high_seconds"), 3);
}

}  // namespace
}  // namespace plimsoll::report
