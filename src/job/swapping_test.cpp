#include "job/swapping.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/job.hpp"
#include "network/builder.hpp"

namespace plimsoll::job {
namespace {

using network::TensorId;
using testing::HasSubstr;

/// A weight of so many columns, and its tensor.
Job member(std::int64_t columns) {
  network::Builder b("member");
  const TensorId x = b.input("x", network::DataType::float32, {network::Dim::of(2), network::Dim::of(8)});
  b.output(b.add("MatMul", "out", {x, b.parameter("weight", {8, columns})}));
  Job job;
  job.network = std::move(b).finish();
  return job;
}

TensorId weight(const Job& job) {
  return job.network.main().weights.front();
}

Job swapping_job(std::int64_t columns = 4) {
  Job job;
  job.task = Task::swap;
  job.members = {member(4), member(columns)};
  job.swapping = {.shared = {{{0, weight(job.members[0])}, {1, weight(job.members[1])}}},
                  .block_bytes = 2 << 20,
                  .capacity = 7,
                  .policy = "lru",
                  .frames = {{1, 0, 0.1}, {0, 0.5, 0.6}},
                  .foreseen = false,
                  .drops_late = false,
                  .by_clock = false,
                  .outputs = "/out"};
  return job;
}

std::string refusal(const Job& job) {
  const Result<Job> read = job::read(write(job));
  return read ? "" : read.error().text();
}

TEST(SwappingJob, ComesBackEqual) {
  const Job job = swapping_job();
  const Result<Job> again = read(write(job));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->task, Task::swap);
  EXPECT_EQ(again->swapping, job.swapping);
  ASSERT_EQ(again->members.size(), 2);
  EXPECT_TRUE(again->members[1].network == job.members[1].network);
}

TEST(SwappingJob, WhatCannotBeIsRefused) {
  EXPECT_THAT(refusal(swapping_job(5)), HasSubstr("another shape or type"));
  Job job = swapping_job();
  job.swapping.frames[1].arrival = -1;
  EXPECT_THAT(refusal(job), HasSubstr("arrivals"));
  job = swapping_job();
  std::swap(job.swapping.frames[0], job.swapping.frames[1]);
  EXPECT_THAT(refusal(job), HasSubstr("are not sorted"));
  job = swapping_job();
  job.swapping.frames[0].member = 2;
  EXPECT_THAT(refusal(job), HasSubstr("members"));
  job = swapping_job();
  job.swapping.capacity = 0;
  EXPECT_THAT(refusal(job), HasSubstr("capacity"));
  job = swapping_job();
  job.members[0].task = Task::train;
  EXPECT_THAT(refusal(job), HasSubstr("is not \"measure\""));
  job = swapping_job();
  job.members.clear();
  EXPECT_THAT(refusal(job), HasSubstr("are none"));
}

TEST(MeasuringJob, BringsWhatIsLoadedBesideIt) {
  Job job = member(4);
  job.members = {member(5)};
  const Result<Job> again = read(write(job));
  ASSERT_TRUE(again) << again.error().text();
  ASSERT_EQ(again->members.size(), 1);
  EXPECT_TRUE(again->members[0].network == job.members[0].network);
  job.members[0].members = {member(6)};
  EXPECT_THAT(refusal(job), HasSubstr("of one network"));
}

}  // namespace
}  // namespace plimsoll::job
