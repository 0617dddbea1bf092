#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/swap_report.hpp"

namespace plimsoll::report {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

SwapReport run_once() {
  SwapReport report;
  report.activations = Bytes(1 << 20);
  report.ran_on = "cpu, Imagined CPU";
  SwapRun run{.policy = "lru"};
  run.of.all = {.frames = 100, .ran = 95, .met = 90};
  run.of.moved = Bytes(30 << 20);
  run.simulated.all = {.frames = 100, .ran = 100, .met = 100};
  run.simulated.moved = Bytes(60 << 20);
  run.activations = Bytes(1 << 20);
  report.runs = {run};
  return report;
}

TEST(SwapRuns, ARunStandsBesideWhatTheSimulatorSays) {
  const SwapReport report = run_once();
  const std::string text = swap_runs_text(report, {.width = 160});
  EXPECT_THAT(text, HasSubstr("For real, on cpu, Imagined CPU"));
  EXPECT_THAT(text, HasSubstr("0.900  30.0 MiB   60.0 MiB  0.500"));
  const auto json = swap_runs_json(report);
  EXPECT_EQ(json["policies"][0]["ratio"]["frames_met"], 0.9);
  EXPECT_EQ(json["policies"][0]["ratio"]["moved_bytes"], 0.5);
  EXPECT_EQ(json["policies"][0]["simulated"]["frames_met"], 100);
  EXPECT_THAT(swap_run_findings(report), Contains(HasSubstr("bit for bit")));
}

TEST(SwapRuns, InSequenceNothingIsLate) {
  SwapReport report = run_once();
  report.in_sequence = true;
  const auto json = swap_runs_json(report);
  EXPECT_TRUE(json["policies"][0]["frames_met"].is_null());
  EXPECT_TRUE(json["policies"][0]["ratio"]["frames_met"].is_null());
  EXPECT_EQ(json["policies"][0]["ratio"]["moved_bytes"], 0.5);
}

TEST(SwapRuns, WhatIsAmissIsSaid) {
  SwapReport report = run_once();
  EXPECT_THAT(swap_run_findings(report), Not(Contains(HasSubstr("Activations took"))));
  report.runs[0].outputs_differing = 3;
  report.runs[0].activations = Bytes(2 << 20);
  EXPECT_THAT(swap_run_findings(report), Contains(HasSubstr("3 runs gave something else")));
  EXPECT_THAT(swap_run_findings(report), Contains(HasSubstr("Activations took 2.00 MiB, where 1.00 MiB")));
}

TEST(SwapRuns, WithoutRunsThereIsNothingToSay) {
  EXPECT_EQ(swap_runs_text({}, {}), "");
  EXPECT_TRUE(swap_run_findings({}).empty());
}

}  // namespace
}  // namespace plimsoll::report
