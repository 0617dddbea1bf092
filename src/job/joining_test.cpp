#include "job/joining.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/fields.hpp"
#include "job/job.hpp"
#include "network/builder.hpp"

namespace plimsoll::job {
namespace {

using network::TensorId;
using testing::HasSubstr;

/// Input and two weights, the last of them as wide as is said.
Job member(std::int64_t width) {
  network::Builder b("member");
  const TensorId x = b.input("x", network::DataType::float32, {network::Dim::of(2), network::Dim::of(8)});
  const TensorId first = b.parameter("first", {8, 4});
  const TensorId last = b.parameter("last", {4, width});
  const TensorId hidden = b.add("MatMul", "hidden", {x, first});
  b.output(b.add("MatMul", "out", {hidden, last}));
  Job job;
  job.task = Task::train;
  job.network = std::move(b).finish();
  job.setting.mode = network::Mode::train;
  job.data = Data{.file = "/data"};
  return job;
}

TensorId weight(const Job& job, std::string_view name) {
  for (std::size_t i = 0; i < job.network.tensors.size(); ++i)
    if (job.network.name_of(static_cast<TensorId>(i)) == name) return static_cast<TensorId>(i);
  return network::kNoTensor;
}

Job joined() {
  Job job;
  job.task = Task::join;
  job.members = {member(3), member(5)};
  job.execution.seed = 7;
  job.joining = {.ties = {{{0, weight(job.members[0], "first")}, {1, weight(job.members[1], "first")}}},
                 .averaged = false,
                 .floors = {0.9, 0.75},
                 .epochs = 4,
                 .folder = "/out"};
  return job;
}

/// Why it is not read.
std::string refusal(const Job& job) {
  const Result<Job> read = job::read(write(job));
  return read ? "" : read.error().text();
}

TEST(Joining, ComesBackEqual) {
  const Job job = joined();
  const Result<Job> again = read(write(job));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->task, Task::join);
  EXPECT_EQ(again->joining, job.joining);
  EXPECT_EQ(again->execution, job.execution);
  ASSERT_EQ(again->members.size(), 2);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(again->members[i].network == job.members[i].network);
    EXPECT_EQ(again->members[i].data, job.members[i].data);
  }
}

TEST(Joining, RefusesTiesOfOtherForms) {
  Job job = joined();
  job.joining.ties = {{{0, weight(job.members[0], "last")}, {1, weight(job.members[1], "last")}}};
  EXPECT_THAT(refusal(job), HasSubstr("has another shape or type"));
}

TEST(Joining, RefusesAWeightInTwoTies) {
  Job job = joined();
  job.joining.ties.push_back(job.joining.ties[0]);
  EXPECT_THAT(refusal(job), HasSubstr("stands in two ties"));
}

TEST(Joining, RefusesATieOfOne) {
  Job job = joined();
  job.joining.ties[0].pop_back();
  EXPECT_THAT(refusal(job), HasSubstr("are fewer than two"));
}

TEST(Joining, RefusesWhatIsNoParameter) {
  Job job = joined();
  job.joining.ties[0][1].tensor = weight(job.members[1], "x");
  EXPECT_THAT(refusal(job), HasSubstr("is no parameter"));
}

TEST(Joining, WantsAFloorForEachMember) {
  Job job = joined();
  job.joining.floors.pop_back();
  EXPECT_THAT(refusal(job), HasSubstr("floors"));
}

TEST(Joining, RefusesMembersThatDoNotLearn) {
  Job job = joined();
  job.members[1].task = Task::measure;
  EXPECT_THAT(refusal(job), HasSubstr("is not \"train\""));
  job = joined();
  job.members[1].device = "cuda:0";
  EXPECT_THAT(refusal(job), HasSubstr("is not that of the whole"));
  job.members.clear();
  EXPECT_THAT(refusal(job), HasSubstr("are none"));
}

}  // namespace
}  // namespace plimsoll::job
