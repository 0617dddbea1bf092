#include "run/job_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::running {
namespace {

using testing::HasSubstr;

/// Every field differs from its default.
JobSpec full_job() {
  return {.command = {"python3", "train.py", "a b", "", "\xff\x01"},
          .experiment = "study",
          .workload = "four",
          .name = "small",
          .directory = "/data/\xfe",
          .environment = {{"SEED", "3"}, {"PATH", "/bin"}, {"SEED", "4"}},
          .devices = {"0", "MIG-1"},
          .sharing = Sharing::mps,
          .mps_percentage = 12.3,
          .mps_memory = Bytes(5),
          .need = 6 * kGiB,
          .estimate = {"resnet50", "--batch", "8"},
          .after = {"first", "a b"},
          .start = Seconds(0.25),
          .time_limit = Seconds(0.1),
          .epoch_limit = 7,
          .params = {{"lr", "0.1"}},
          .tags = {{"team", "ö\n"}},
          .metric_patterns = {"loss=(.*)"},
          .artifacts = {"model.pt", "/tmp/x"}};
}

std::string refusal(std::string_view text) {
  const auto read = job_spec_from_json(text);
  return read ? "taken" : read.error().text() + " | " + read.error().hint;
}

TEST(JobJson, WhatIsWrittenIsRead) {
  const JobSpec job = full_job();
  const auto again = job_spec_from_json(to_json(job));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, job);
  const JobSpec small{.command = {"true"}};
  EXPECT_EQ(job_spec_from_json(to_json(small)), small);
  EXPECT_EQ(job_spec_from_json(R"({"command": ["true"]})"), small);
}

TEST(JobJson, EveryFieldIsWritten) {
  // A field that is added and forgotten here would be lost on its way to a supervisor.
  const job::Json full = job_json(full_job());
  EXPECT_EQ(full.size(), 20U);
  JobSpec changed = full_job();
  changed.need = {};
  EXPECT_EQ(job_json(changed).size(), 19U);
  EXPECT_NE(changed, full_job());
}

TEST(JobJson, WhatIsNotUnderstoodIsRefused) {
  EXPECT_THAT(refusal("{"), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("job: is not an object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("job.command: is missing"));
  EXPECT_THAT(refusal(R"({"command": []})"), HasSubstr("job.command: is empty"));
  EXPECT_THAT(refusal(R"({"command": "true"})"), HasSubstr("job.command: is not a list"));
  EXPECT_THAT(refusal(R"({"command": ["a\u0000b"]})"), HasSubstr("zero byte"));
  EXPECT_THAT(refusal(R"({"command": ["true"], "device": ["0"]})"),
              HasSubstr("job: there is no key 'device' | Did you mean devices?"));
  EXPECT_THAT(refusal(R"({"command": ["true"], "need_bytes": 0})"), HasSubstr("job.need_bytes"));
  EXPECT_THAT(refusal(R"({"command": ["true"], "need_bytes": 1.5})"), HasSubstr("job.need_bytes"));
  EXPECT_THAT(refusal(R"({"command": ["true"], "epoch_limit": 0})"), HasSubstr("job.epoch_limit"));
  EXPECT_THAT(refusal(R"({"command": ["true"], "time_limit_seconds": 1e18})"),
              HasSubstr("job.time_limit_seconds"));
  EXPECT_THAT(refusal(R"({"command": ["true"], "time_limit_seconds": "nan"})"),
              HasSubstr("job.time_limit_seconds"));
  EXPECT_THAT(refusal(R"({"command": ["true"], "after": "a"})"), HasSubstr("job.after"));
  EXPECT_THAT(refusal(R"({"command": ["true"], "start_seconds": -1})"), HasSubstr("job.start_seconds"));
  EXPECT_THAT(refusal(R"({"command": ["true"], "start_seconds": "inf"})"), HasSubstr("job.start_seconds"));
  EXPECT_THAT(refusal(R"({"command": ["true"], "start_seconds": 1e18})"), HasSubstr("job.start_seconds"));
  EXPECT_EQ(refusal(R"({"command": ["true"], "start_seconds": 0})"), "taken");
  EXPECT_THAT(refusal(R"({"command": ["true"], "sharing": "mig"})"), HasSubstr("neither naive nor mps"));
  EXPECT_THAT(refusal(R"({"command": ["true"], "mps_percentage": 5})"), HasSubstr("an MPS limit is given"));
  EXPECT_THAT(refusal(R"({"command": ["true"], "sharing": "mps", "mps_percentage": 101})"),
              HasSubstr("job.mps_percentage"));
  EXPECT_THAT(refusal(R"({"command": ["true"], "environment": {"A": "1"}})"), HasSubstr("not a list"));
  EXPECT_THAT(refusal(R"({"command": ["true"], "environment": [["A"]]})"), HasSubstr("pairs"));
  EXPECT_THAT(refusal(R"({"command": ["true"], "environment": [["A=B", "1"]]})"),
              HasSubstr("cannot be a variable"));
  EXPECT_THAT(refusal(std::string(100, '[')), HasSubstr("nested deeper"));
}

}  // namespace
}  // namespace plimsoll::running
