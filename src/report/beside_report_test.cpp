#include "report/beside_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/matrix_report.hpp"

namespace plimsoll::report {
namespace {

using testing::HasSubstr;
using testing::Not;

BesideReport report_of_two(share::Way way) {
  share::Beside beside{.sharing = {.way = way}};
  beside.members = {{.speed = 0.5, .low = 0.4, .high = 0.6, .causes = {.waits = 0.9, .bandwidth = 0.1}},
                    {.speed = 0.8, .low = 0.7, .high = 0.9, .causes = {.power = 0.001}}};
  beside.combined = 1.3;
  return {.device = "a GPU",
          .workloads = {{"<one>", Seconds(0.01), kGiB}, {"two", Seconds(0.02), 2 * kGiB}},
          .ways = {beside},
          .minimum = 3 * kGiB,
          .capacity = 4 * kGiB,
          .fits = true};
}

TEST(BesideReport, TellsTheLargestCauseFirstAndLeavesOutWhatIsNothing) {
  EXPECT_EQ(cause_words({.waits = 0.1, .bandwidth = 0.4}),
            "bandwidth and caches 40 %, waits for the others' blocks 10 %");
  EXPECT_EQ(cause_words({.power = 0.001}), "nothing");
}

TEST(BesideReport, SaysOfSlicesThatEachHasItsOwn) {
  BesideReport report = report_of_two(share::Way::mig);
  report.ways.front().members[0].capacity = kGiB;
  report.ways.front().members[1].capacity = kGiB;
  report.fits = false;
  EXPECT_THAT(beside_text(report, {}), HasSubstr("in slices: does not fit"));
}

TEST(BesideReport, JsonHasTheContractsFields) {
  const nlohmann::ordered_json json = beside_json(report_of_two(share::Way::naive));
  EXPECT_EQ(json["workloads"][0]["speed"], 0.5);
  EXPECT_EQ(json["workloads"][0]["causes"]["waits"], 0.9);
  EXPECT_EQ(json["combined"], 1.3);
  EXPECT_TRUE(json["watts"].is_null());
  EXPECT_EQ(json["memory"]["minimum_device_bytes"], (3 * kGiB).count());
  EXPECT_EQ(json["memory"]["fits"], true);
}

TEST(MatrixReport, MarksTheBestPartnerAndNothingEscapesThePage) {
  const MatrixReport report{.device = "a GPU",
                            .names = {"<script>", "two", "three"},
                            .matrix = {.sharing = {.way = share::Way::mps},
                                       .size = 3,
                                       .speeds = {0.5, 0.9, 0.4, 0.8, 0.5, 0.3, 0.6, 0.7, 0.5}}};
  EXPECT_EQ(report.matrix.best_partner(0), 1U);
  EXPECT_EQ(report.matrix.best_partner(2), 0U) << "0.4 + 0.6 beside the first, and as much beside the second";
  EXPECT_THAT(matrix_text(report, {}), HasSubstr("0.90*"));
  EXPECT_THAT(matrix_page(report), HasSubstr("0.90 ★"));
  EXPECT_THAT(matrix_page(report), Not(HasSubstr("<script>")));
  EXPECT_EQ(matrix_json(report)["speeds"][1][0], 0.8);
}

}  // namespace
}  // namespace plimsoll::report
