#include "report/choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/scaling.hpp"

namespace plimsoll::report {
namespace {

using hardware::Bound;
using hardware::Device;
using hardware::DeviceFigure;
using testing::HasSubstr;
using testing::Not;

struct Case {
  Device slow{.id = "slow", .name = "Slow\x1b[2J"};
  Device quick{.id = "quick", .name = "Quick"};
  plan::Question question{.variants = {{.name = "net"}}};
  plan::Imaging imaging{.period = Seconds(100), .images = 10};
  plan::Choice choice;

  Case() {
    for (Device* device : {&slow, &quick}) {
      device->board = hardware::Board{};
      device->board->precisions = {hardware::Arithmetic::int8};
      device->board->latencies = {
          {.network = "net",
           .seconds = {device == &slow ? 30.0 : 2.0, Provenance::measured, "bench", "2025"}}};
    }
    slow.board->peak_power = DeviceFigure{5, Provenance::measured, "study", {}, Bound::more_than};
    question.limits.latency = Seconds(10);
    question.limits.power = Watts(5);
    const Device* devices[] = {&quick, &slow};
    choice = plan::choose(question, devices, {}, {}, {});
  }
  [[nodiscard]] ChoiceReport report(bool why = false) const {
    return {"net", question, imaging, choice, false, why, true};
  }
};

TEST(ChoiceReport, TextHasVerdictsFiguresAndTheReason) {
  const Case c;
  const std::string text = choice_text(c.report(true), {});
  EXPECT_THAT(text, HasSubstr("10 s an image (100 s over 10 images)"));
  EXPECT_THAT(text, HasSubstr("at most 50 J an image"));
  EXPECT_THAT(text, HasSubstr("fails latency by 20 s; fails power: > 5 W"));
  EXPECT_THAT(text, HasSubstr("30 s against 10 s, by 20 s"));
  EXPECT_THAT(text, HasSubstr("measured: bench, 2025"));
  EXPECT_TRUE(text.starts_with("No device is known to meet every limit. Nearest: quick")) << "answer first";
  EXPECT_LT(text.find("quick"), text.find("slow")) << "the better one first";
  EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << "names are foreign";
}

TEST(ChoiceReport, AnEstimateFailsByWhatIsCertainAndSaysItsRange) {
  Case c;
  plan::Estimators estimators;
  estimators.pass = [](std::size_t, const Device&, hardware::Arithmetic, std::int64_t) -> Result<plan::Pass> {
    return plan::Pass{.time = Seconds(0.0568), .low = Seconds(0.0338), .high = Seconds(0.0954)};
  };
  Device estimated{.id = "estimated", .name = "Estimated"};
  c.question.limits = {.latency = Seconds(0.020)};
  const Device* devices[] = {&estimated};
  c.choice = plan::choose(c.question, devices, {}, {}, estimators);
  const std::string text = choice_text(c.report(true), {});
  EXPECT_THAT(text, HasSubstr("fails latency by at least 13.8 ms (33.8–95.4 ms)"));
  EXPECT_THAT(text, HasSubstr("56.8 ms (95 %: 33.8–95.4 ms) against 20.0 ms, by at least 13.8 ms"));
  EXPECT_THAT(text, Not(HasSubstr("fails latency by 13.8 ms")));
}

TEST(ChoiceReport, WhatTheQuestionRulesOutIsCountedAndListedOnDemand) {
  const Case c;
  ChoiceReport report = c.report();
  report.named = false;
  const std::string text = choice_text(report, {});
  EXPECT_THAT(text, HasSubstr("1 device draws more than 5 W: --all lists them."));
  EXPECT_THAT(text, Not(HasSubstr("slow")));
  report.all = true;
  EXPECT_THAT(choice_text(report, {}), HasSubstr("slow"));
}

TEST(ChoiceReport, JsonIsInBaseUnitsAndNullWhereUnknown) {
  const Case c;
  const auto json = choice_json(c.report());
  EXPECT_EQ(json["imaging"]["budget_seconds"], 10);
  EXPECT_EQ(json["energy_ceiling_joules"], 50);
  EXPECT_EQ(json["certain"], false);
  EXPECT_EQ(json["recommended"]["device"], "quick");
  const auto& slow = json["candidates"][1];
  EXPECT_EQ(slow["image"]["value"], 30);
  EXPECT_EQ(slow["image"]["provenance"], "measured");
  EXPECT_TRUE(slow["accuracy"].is_null());
  EXPECT_EQ(slow["limits"][2]["limit"], "latency");
  EXPECT_EQ(slow["limits"][2]["verdict"], "failed");
  EXPECT_EQ(slow["limits"][2]["fails_by"], 20);
  EXPECT_TRUE(slow["limits"][3]["figure"]["high"].is_null()) << "no upper end";
  EXPECT_EQ(slow["limits"][3]["figure"]["bound"], "more-than");
  EXPECT_TRUE(json["candidates"][0]["limits"][3]["figure"].is_null());
}

TEST(ChoiceReport, CsvHasARowPerCandidate) {
  const Case c;
  const std::string csv = choice_csv(c.report());
  EXPECT_THAT(csv, HasSubstr("latency_verdict,latency_fails_by"));
  EXPECT_THAT(csv, HasSubstr("slow,net,int8,1,30.0,30.0,30.0,,,,,,,measured"));
}

TEST(ScalingReport, RowsAndJson) {
  estimate::ParallelStep step{.devices = 8, .local_batch = 16, .global_batch = 128};
  step.step = Seconds(0.5);
  step.samples_per_second = 256;
  const estimate::ParallelStep rows[] = {step};
  const Table table = scaling_table(rows);
  const auto step_column = std::ranges::find(table.columns, "Step", &Column::title) - table.columns.begin();
  EXPECT_EQ(table.rows.at(0).at(static_cast<std::size_t>(step_column)), "500 ms");
  EXPECT_EQ(std::ranges::find(table.columns, "Pipeline idle", &Column::title), table.columns.end())
      << "no pipeline, no column of it";
  EXPECT_EQ(scaling_json(rows)[0]["step_seconds"], 0.5);
}

TEST(MoneyTable, ARowPerOfferAColumnPerArithmetic) {
  const hardware::Offer bought{.name = "box",
                               .device = "d",
                               .devices = 2,
                               .terms = hardware::Terms::purchase,
                               .provider = "p",
                               .source = "s",
                               .date = "2018",
                               .price = Money(1000)};
  const estimate::MoneyPerRate rows[] = {
      {&bought, hardware::Arithmetic::fp64, FlopsPerSecond(1e12), true, 1000, false},
      {&bought, hardware::Arithmetic::fp16, FlopsPerSecond(4e12), true, 250, false}};
  const Table table = money_per_rate_table(rows);
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.columns[5].title, "fp64 $ per TFLOP/s");
  EXPECT_EQ(table.rows[0][0], "box");
  EXPECT_EQ(table.rows[0][6], "$250.00");
}

}  // namespace
}  // namespace plimsoll::report
