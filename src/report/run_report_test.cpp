#include "report/run_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "diagnose/test_runs.hpp"

namespace plimsoll::report {
namespace {

using diagnose::made_up_run;
using diagnose::MadeUp;
using diagnose::Span;
using diagnose::TestRecording;

using ::testing::HasSubstr;
using ::testing::Not;

RunReport reported(const MadeUp& m, const std::string& name = "made up") {
  return report_of(made_up_run(m, name).take(), {});
}

std::string text_of(const RunReport& report) {
  return run_report_text(std::span(&report, 1), {.width = 100});
}

TEST(RunReport, TextSaysFactsVerdictWasteAveragesAndEpochs) {
  const std::string text = text_of(reported({.sm = 0.3, .kernels = 0.4, .cpu = 15.6}, "resnet50"));
  EXPECT_THAT(text, ::testing::StartsWith("resnet50 (3f2a91c0): finished after 2.00 min\n"));
  EXPECT_THAT(text, HasSubstr("  command      python train.py --epochs 5\n"));
  EXPECT_THAT(text, HasSubstr("  GPU          NVIDIA H100 80GB HBM3, 80.0 GiB\n"));
  EXPECT_THAT(text, HasSubstr("Bound by its input: the processor\n"));
  EXPECT_THAT(text, HasSubstr("  → Prepare the data once"));
  EXPECT_THAT(text, HasSubstr("What was wasted\n  15 s of 2.00 min GPU time were near-idle (12 %)"));
  EXPECT_THAT(text, HasSubstr("Averages over 0 s to 2.00 min\n"));
  EXPECT_THAT(text, HasSubstr("SM activity                            26 %"));
  EXPECT_THAT(text, HasSubstr("Epoch  Begins  Takes  SM activity"));
  EXPECT_THAT(text, Not(HasSubstr("Its last lines")));
}

TEST(RunReport, AFailedRunSaysWhyFirst) {
  TestRecording made = made_up_run({});
  made.tag("plimsoll.outcome", "cuda-out-of-memory").tag("plimsoll.reason", "line one\n\x1b[31mline two");
  const std::string text = text_of(report_of(made.take(), {}));
  EXPECT_THAT(text, HasSubstr("Its last lines\n  line one\n  \\x1b[31mline two\n"));
  EXPECT_LT(text.find("The GPU's memory was not enough"), text.find("Nothing stands out"));
}

TEST(RunReport, SeveralAreCompared) {
  const std::vector<RunReport> reports = {reported({}, "first"),
                                          reported({.sm = 0.9, .kernels = 0.98}, "second")};
  const std::string text = run_report_text(reports, {.width = 120});
  EXPECT_THAT(text, ::testing::StartsWith("Run"));
  EXPECT_THAT(text, HasSubstr("first (3f2a91c0)"));
  EXPECT_THAT(text, HasSubstr("gpu-compute"));
}

TEST(RunReport, TheCommandIsReadAsWords) {
  TestRecording made = made_up_run({});
  made.tag("plimsoll.command", R"(["python", "train.py", "--name", "a b"])");
  EXPECT_THAT(text_of(report_of(made.take(), {})), HasSubstr("python train.py --name 'a b'\n"));
}

TEST(RunReport, TheFirstPointOfAMetricIsInEveryForm) {
  TestRecording made = made_up_run({});
  made.own("accuracy", {{20, 0.5}, {30, 0.65}, {60, 0.8}}).own("once", {{20, 3}});
  const RunReport report = report_of(made.take(), {});
  EXPECT_THAT(text_of(report), ::testing::ContainsRegex("accuracy +0\\.65 +0\\.5 +0\\.8\n"));
  EXPECT_THAT(text_of(report), ::testing::ContainsRegex("once +3 +3 +3\n"));
  const nlohmann::ordered_json json = to_json(std::span(&report, 1));
  const auto& averages = json.at("runs").at(0).at("averages");
  EXPECT_DOUBLE_EQ(averages.at("accuracy").at("mean").get<double>(), 0.65);
  EXPECT_EQ(averages.at("accuracy").at("low"), 0.5);
  EXPECT_EQ(averages.at("accuracy").at("high"), 0.8);
  EXPECT_EQ(averages.at("accuracy").at("points"), 3);
  EXPECT_EQ(averages.begin().key(), "accuracy") << "the command's own come first";
}

TEST(RunReport, TextNamesWhatIsZeroThroughoutInOneLine) {
  TestRecording made = made_up_run({});
  made.sampled("system/host/swap_used", 0).own("errors", {{20, 0}, {30, 0}});
  const std::string text = text_of(report_of(made.take(), {}));
  EXPECT_THAT(text, HasSubstr("\nZero throughout: swap in use, waiting for storage.\n"));
  EXPECT_THAT(text, Not(::testing::ContainsRegex("swap in use +0 B")));
  EXPECT_THAT(text, ::testing::ContainsRegex("errors +0 +0 +0\n")) << "the command's own";
}

TEST(RunReport, WhatTheCommandTellsAfterItsEndIsNotLost) {
  TestRecording made(100);
  made.own("accuracy", {{50, 0.5}, {110, 0.7}}).sampled("system/run/cpu", 1);
  const RunReport report = report_of(made.take(), {});
  ASSERT_EQ(report.averages.at(0).metric, "accuracy");
  EXPECT_DOUBLE_EQ(report.averages.at(0).over.mean, 0.6);
  EXPECT_EQ(report.figures.span, (Span{0, 100}));
  EXPECT_THAT(text_of(report), Not(HasSubstr("looked at")));
}

TEST(RunReport, OfAPart) {
  const RunReport part = report_of(made_up_run({.load = 60}).take(), {.from = 70, .to = 100});
  EXPECT_EQ(part.span, (Span{70, 100}));
  EXPECT_THAT(text_of(part), HasSubstr("  looked at    70 s to 100 s\n"));
  EXPECT_THAT(text_of(part), HasSubstr("Averages over 70 s to 100 s"));
}

TEST(RunReport, JsonInBaseUnitsWithNullForUnknown) {
  const RunReport report = reported({.sm = 0.3, .kernels = 0.4, .cpu = 15.6});
  const nlohmann::ordered_json json = to_json(std::span(&report, 1));
  const auto& run = json.at("runs").at(0);
  EXPECT_EQ(run.at("id"), "3f2a91c0000000000000000000000001");
  EXPECT_EQ(run.at("seconds"), 120);
  EXPECT_EQ(run.at("verdict").at("bottleneck"), "input-processor");
  EXPECT_EQ(run.at("verdict").at("evidence").at(1).at("threshold"), "waits");
  EXPECT_NEAR(run.at("wasted").at("near_idle_gpu_seconds").get<double>(), 15, 0.3);
  EXPECT_EQ(run.at("gpus").at(0).at("memory_bytes"), 85899345920);
  EXPECT_EQ(run.at("gpus").at(0).at("run_joules"), nullptr);
  EXPECT_NEAR(run.at("averages").at("system/gpu/0/sm_activity").at("mean").get<double>(), 0.26, 0.01);
  EXPECT_EQ(run.at("epochs").at("rows").size(), 5u);
  EXPECT_EQ(run.at("steps").at("count"), 200);
  EXPECT_EQ(run.at("reason"), nullptr);
  EXPECT_GE(json.at("thresholds").size(), 15u);
}

TEST(RunReport, HostileBytesAreNoErrorInJson) {
  const std::string evil = "\xff\xfe\"\\\x01";
  TestRecording made = made_up_run({}, evil);
  made.id(evil)
      .tag("plimsoll.outcome", evil)
      .tag("plimsoll.reason", evil)
      .tag("plimsoll.command", "[\"" + evil)
      .own(evil, {{1, 1}, {2, 2}});
  const RunReport report = report_of(made.take(), {});
  EXPECT_THAT(to_json(std::span(&report, 1)).dump(), Not(HasSubstr("\xff")));
  EXPECT_THAT(text_of(report), Not(HasSubstr("\xff")));
}

TEST(RunReport, OfARunWithoutSamples) {
  const RunReport report = report_of(TestRecording(0).take(), {});
  EXPECT_THAT(text_of(report), HasSubstr("there is nothing to judge by"));
  EXPECT_EQ(to_json(std::span(&report, 1)).at("runs").at(0).at("gpus").size(), 0u);
}

}  // namespace
}  // namespace plimsoll::report
