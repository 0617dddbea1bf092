#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/top_view.hpp"

namespace plimsoll::report {
namespace {

constexpr std::int64_t kSecond = 1'000'000;

store::Run training() {
  store::Run run{.id = "ab",
                 .experiment = "e",
                 .name = "n",
                 .status = store::RunStatus::running,
                 .start = 100 * kSecond};
  run.params["epochs"] = "10";
  run.metrics["epoch"] = {.latest = {.time = 150 * kSecond, .step = 500, .value = 5}, .points = 5};
  run.metrics["loss"] = {.latest = {.time = 150 * kSecond, .step = 500, .value = 0.25}, .points = 5};
  run.metrics["old"] = {.latest = {.time = 120 * kSecond, .step = 100, .value = 1}, .points = 1};
  run.metrics["system/run/gpu/1/sm_activity"] = {.latest = {.time = 151 * kSecond, .value = 0.5},
                                                 .points = 1};
  return run;
}

TEST(TopRun, TellsItsNewestMetricAndHowFarItIs) {
  const TopRun run = top_run(training(), 160 * kSecond);
  ASSERT_TRUE(run.metric);
  EXPECT_EQ(run.metric->name, "loss");
  EXPECT_EQ(run.metric->value, 0.25);
  EXPECT_EQ(run.step, 500);
  EXPECT_EQ(run.epoch, 5);
  ASSERT_TRUE(run.progress);
  EXPECT_EQ(run.progress->share, 0.5);
  EXPECT_EQ(run.progress->source, "params.epochs");
  EXPECT_EQ(run.expected_end, 200 * kSecond);
  EXPECT_THAT(run.gpus, testing::ElementsAre(1U));
}

TEST(TopRun, TakesStepsBeforeEpochsAndWhatCannotBeForNothing) {
  store::Run stored = training();
  stored.params["max_steps"] = "2000";
  EXPECT_EQ(top_run(stored, 160 * kSecond).progress->share, 0.25);
  for (const char* text : {"ten", "", "0", "-1", "inf", "nan", "3", "10 epochs"}) {
    stored = training();
    stored.params["epochs"] = text;
    EXPECT_FALSE(top_run(stored, 160 * kSecond).progress) << text;
    EXPECT_FALSE(top_run(stored, 160 * kSecond).expected_end) << text;
  }
}

TEST(TopRun, WithoutAMetricOfItsOwnTellsWhereItIs) {
  store::Run stored = training();
  stored.metrics.erase("loss");
  stored.metrics.erase("old");
  EXPECT_EQ(top_run(stored, 160 * kSecond).metric->name, "epoch");
  stored.metrics.erase("epoch");
  EXPECT_FALSE(top_run(stored, 160 * kSecond).metric);
}

TopGpu busy() {
  return {.number = 2,
          .memory_used = kGiB * 10,
          .memory_total = kGiB * 100,
          .history = std::vector<double>(60, 0.5),
          .processes = {{.pid = 7, .command = "python3 train.py"}}};
}

std::vector<std::string> kinds(const TopGpu& gpu) {
  std::vector<std::string> out;
  for (const TopAlarm& alarm : top_alarms({.gpus = {gpu}})) out.push_back(alarm.kind);
  return out;
}

TEST(TopAlarms, AreRaisedWhereSomethingIsWrongAlone) {
  EXPECT_THAT(kinds(busy()), testing::IsEmpty());
  TopGpu gpu = busy();
  gpu.memory_used = kGiB * 96;
  EXPECT_THAT(kinds(gpu), testing::ElementsAre("memory"));
  EXPECT_FALSE(top_alarms({.gpus = {gpu}}).front().is_critical);
  gpu.memory_used = kGiB * 100;
  EXPECT_TRUE(top_alarms({.gpus = {gpu}}).front().is_critical);
  gpu = busy();
  gpu.throttle = 0x4;
  EXPECT_THAT(kinds(gpu), testing::ElementsAre("throttled"));
  gpu.throttle = 0x1;  // idle: nothing holds it down
  EXPECT_THAT(kinds(gpu), testing::IsEmpty());
}

TEST(TopAlarms, OfAJobThatIsSlowerThanPromisedNameItAndItsRun) {
  TopView view{.queue = TopQueue{.running = 1}};
  EXPECT_THAT(top_alarms(view), testing::IsEmpty());
  view.queue->slow = {{.number = 12, .name = "resnet\x1b[2J", .run = "abc", .speed = 0.4, .promised = 0.8}};
  const auto alarms = top_alarms(view);
  ASSERT_EQ(alarms.size(), 1);
  EXPECT_EQ(alarms[0].kind, "slow");
  EXPECT_EQ(alarms[0].run, "abc");
  EXPECT_THAT(alarms[0].text, testing::HasSubstr("0.40 of its speed alone where 0.80 were promised"));
  EXPECT_THAT(alarms[0].text, testing::Not(testing::HasSubstr("\x1b")));
}

TEST(TopAlarms, OfAnIdleGpuComeAfterAMinuteAndOnlyWhereItIsHeld) {
  TopGpu gpu = busy();
  gpu.history.assign(60, 0.0);
  EXPECT_THAT(kinds(gpu), testing::ElementsAre("idle"));
  gpu.history.assign(59, 0.0);
  EXPECT_THAT(kinds(gpu), testing::IsEmpty());
  gpu.history.assign(60, 0.0);
  gpu.history[30] = 0.2;
  EXPECT_THAT(kinds(gpu), testing::IsEmpty());
  gpu.history.assign(60, 0.0);
  gpu.processes.clear();
  EXPECT_THAT(kinds(gpu), testing::IsEmpty());
}

}  // namespace
}  // namespace plimsoll::report
