#include "serve/delta_feed.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::serve {
namespace {

store::Run example() {
  store::Run run{.id = "ab",
                 .experiment = "Default",
                 .name = "one",
                 .status = store::RunStatus::running,
                 .start = 1'000'000};
  run.params["lr"] = "0.1";
  run.metrics["loss"] = {.latest = {.time = 2'000'000, .step = 3, .value = 0.5}, .points = 1};
  run.metrics["system/run/gpu/0/energy"] = {.latest = {.value = 10}, .points = 1};
  run.metrics["system/on/node8/run/gpu/0/energy"] = {.latest = {.value = 5}, .points = 1};
  run.metrics["summary/seconds"] = {.latest = {.value = 7}, .points = 1};
  return run;
}

TEST(LiveRun, IsToldWholeOnce) {
  EXPECT_EQ(
      live_json("ab", live_run(example()), nullptr),
      R"({"id":"ab","experiment_id":"0","experiment":"Default","user":"","start":1000,"name":"one","status":"RUNNING",)"
      R"("params":[["lr","0.1"]],"metrics":[["loss",0.5,3,2000]],"hardware":[["energy",15.0]]})");
}

TEST(LiveRun, IsToldByWhatChanges) {
  const LiveRun before = live_run(example());
  EXPECT_EQ(live_json("ab", before, &before), "");
  store::Run run = example();
  run.metrics["loss"].latest = {.time = 3'000'000, .step = 4, .value = 0.25};
  EXPECT_EQ(live_json("ab", live_run(run), &before), R"({"id":"ab","metrics":[["loss",0.25,4,3000]]})");
  run = example();
  run.status = store::RunStatus::finished;
  run.end = 9'000'000;
  EXPECT_EQ(live_json("ab", live_run(run), &before), R"({"id":"ab","status":"FINISHED","end":9000})");
}

TEST(LiveRun, OfWhichAMetricIsNoNumberIsNotNewForEver) {
  store::Run run = example();
  run.metrics["loss"].latest.value = std::numeric_limits<double>::quiet_NaN();
  const LiveRun before = live_run(run);
  EXPECT_EQ(live_json("ab", live_run(run), &before), "");
  EXPECT_THAT(live_json("ab", before, nullptr), testing::HasSubstr(R"(["loss","NaN",3,2000])"));
}

TEST(LiveRun, HasNamesOfMetricsAsText) {
  store::Run run;
  run.metrics["a\"]<script>"] = {.latest = {.value = 1}, .points = 1};
  EXPECT_THAT(live_json("x\"y", live_run(run), nullptr), testing::HasSubstr(R"([["a\"]<script>",1.0,0,0]])"));
}

}  // namespace
}  // namespace plimsoll::serve
