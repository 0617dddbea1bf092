#include "learn/joint_trials.hpp"

#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "job/safetensors.hpp"
#include "network/builder.hpp"

namespace plimsoll::learn {
namespace {

using plan::merge::Sharing;
using testing::ElementsAre;
using testing::HasSubstr;

/// Three layers; the last is the network's own.
job::Job member(std::int64_t classes) {
  network::Builder b("member");
  const auto x = b.input("x", network::DataType::float32, {network::Dim::of(2), network::Dim::of(8)});
  const auto first = b.add("MatMul", "first", {x, b.parameter("first.weight", {8, 4})});
  const auto second = b.add("MatMul", "second", {first, b.parameter("second.weight", {4, 6})});
  b.output(b.add("MatMul", "last", {second, b.parameter("last.weight", {6, classes})}));
  job::Job job;
  job.task = job::Task::train;
  job.network = std::move(b).finish();
  job.setting.mode = network::Mode::train;
  job.data = job::Data{.file = "/data"};
  return job;
}

JointMerge two_members() {
  JointMerge merge;
  merge.jobs = {member(3), member(5)};
  for (const job::Job& job : merge.jobs) merge.models.push_back(plan::merge::describe("m", job.network));
  merge.groups = plan::merge::groups(merge.models, {});
  merge.target = 0.9;
  merge.asked = "two members";
  return merge;
}

/// An engine that counts, and says that all holds unless more is tied than it can bear.
struct FakeEngine {
  std::size_t bears = 9;
  int runs = 0;
  bool breaks = false;
  std::vector<job::Job> jobs = {};

  RunJob run() {
    return [this](const job::Job& job, const std::function<void(const job::Answer&)>& hear) -> Status {
      ++runs;
      jobs.push_back(job);
      if (breaks) return fail("the engine broke");
      const bool held = job.joining.ties.size() <= bears;
      for (std::int64_t epoch = 0; epoch <= (job.joining.epochs > 0 ? 2 : 0); ++epoch)
        hear(job::Joined{
            .epoch = epoch, .accuracies = {0.8, held ? 0.9 : 0.1}, .losses = {}, .seconds = 1, .held = held});
      if (!job.joining.folder.empty())
        for (std::size_t i = 0; i < job.members.size(); ++i) {
          const std::vector<float> numbers(32);
          const std::vector<job::ArrayToStore> arrays = {
              {"first.weight", network::DataType::float32, {8, 4}, std::as_bytes(std::span(numbers))}};
          PLIMSOLL_TRY(job::write_safetensors(std::filesystem::path(job.joining.folder) / job::member_file(i),
                                              arrays));
        }
      return {};
    };
  }
};

JointTrials opened(const TemporaryDirectory& folder, FakeEngine& engine, JointMerge merge = two_members()) {
  Result<JointTrials> trials = JointTrials::open(std::move(merge), folder.path() / "merge", engine.run());
  EXPECT_TRUE(trials) << trials.error().text();
  return *std::move(trials);
}

class JointTrialsTest : public testing::Test {
 protected:
  Result<TemporaryDirectory> folder_ = TemporaryDirectory::make();
  FakeEngine engine_;
};

TEST_F(JointTrialsTest, FloorsFollowWhatTheModelsReachAlone) {
  const JointTrials trials = opened(*folder_, engine_);
  EXPECT_THAT(trials.own(), ElementsAre(0.8, 0.9));
  EXPECT_THAT(trials.floors(), ElementsAre(testing::DoubleEq(0.9 * 0.8), testing::DoubleEq(0.9 * 0.9)));
  EXPECT_EQ(engine_.runs, 1);
}

TEST_F(JointTrialsTest, ATrialTiesWhatIsWantedAndGoesOnFromWhatHeld) {
  JointTrials trials = opened(*folder_, engine_);
  const JointMerge merge = two_members();
  ASSERT_EQ(merge.groups.size(), 2);  // heads have their own
  EXPECT_TRUE(trials.try_out({0, 0}, {2, 0}).holds);
  EXPECT_EQ(engine_.jobs.back().joining.ties.size(), 1);
  EXPECT_TRUE(engine_.jobs.back().members[0].files.empty());
  EXPECT_TRUE(trials.try_out({2, 0}, {2, 2}).holds);
  EXPECT_EQ(engine_.jobs.back().joining.ties.size(), 2);
  ASSERT_EQ(engine_.jobs.back().members[1].files.size(), 1);
  EXPECT_THAT(engine_.jobs.back().members[1].files[0], HasSubstr("trial-0/member-1.safetensors"));
  ASSERT_EQ(engine_.jobs.back().members[1].weights.size(), 1);
  const auto& weight = engine_.jobs.back().members[1].weights[0];
  EXPECT_EQ(engine_.jobs.back().members[1].network.name_of(weight.tensor), "first.weight");
  EXPECT_EQ(weight.bytes, 128);
}

TEST_F(JointTrialsTest, WhatDoesNotHoldLeavesNothing) {
  JointTrials trials = opened(*folder_, engine_);
  engine_.bears = 1;
  EXPECT_TRUE(trials.try_out({0, 0}, {2, 0}).holds);
  const plan::merge::Trial failed = trials.try_out({2, 0}, {2, 2});
  EXPECT_FALSE(failed.holds);
  EXPECT_LT(failed.margin, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_->path() / "merge/trial-1"));
  const auto weights = trials.trained_weights({2, 0});
  ASSERT_TRUE(weights && *weights);
  EXPECT_TRUE(std::filesystem::exists(**weights / job::member_file(0)));
  EXPECT_THAT(trials.accuracies_with({2, 0}), ElementsAre(0.8, 0.9));
}

TEST_F(JointTrialsTest, BegunAnewItIsToldWhatCameAndTrainsOnlyTheRest) {
  plan::merge::Found first, second;
  std::vector<plan::merge::Candidate> candidates;
  for (const plan::merge::Group& group : two_members().groups) candidates.push_back({group.bytes, 2, 1});
  {
    JointTrials trials = opened(*folder_, engine_);
    int left = 1;  // then it is killed
    const plan::merge::Oracle oracle = [&](const Sharing& held, const Sharing& wanted) {
      return left-- > 0 ? trials.try_out(held, wanted) : plan::merge::Trial{};
    };
    first = plan::merge::search_greedy(candidates, oracle);
  }
  EXPECT_EQ(engine_.runs, 2);
  JointTrials trials = opened(*folder_, engine_);
  second = plan::merge::search_greedy(
      candidates, [&](const Sharing& held, const Sharing& wanted) { return trials.try_out(held, wanted); });
  EXPECT_EQ(engine_.runs, 3);  // the models alone and the first trial were known
  EXPECT_THAT(second.sharing, ElementsAre(2, 2));
  EXPECT_EQ(second.epochs, 4);
}

TEST_F(JointTrialsTest, WeightsThatAreGoneAreTrainedAgain) {
  JointTrials trials = opened(*folder_, engine_);
  EXPECT_TRUE(trials.try_out({0, 0}, {2, 0}).holds);
  EXPECT_TRUE(trials.try_out({0, 0}, {0, 2}).holds);  // from the beginning: the first one's weights go
  EXPECT_FALSE(std::filesystem::exists(folder_->path() / "merge/trial-0"));
  const auto weights = trials.trained_weights({2, 0});
  ASSERT_TRUE(weights && *weights) << weights.error().text();
  EXPECT_TRUE(std::filesystem::exists(**weights / job::member_file(1)));
}

TEST_F(JointTrialsTest, AFolderOfAnotherMergeIsRefused) {
  static_cast<void>(opened(*folder_, engine_));
  JointMerge other = two_members();
  other.asked = "something else";
  const auto refused = JointTrials::open(other, folder_->path() / "merge", engine_.run());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("holds another merge"));
}

TEST_F(JointTrialsTest, ADamagedRecordIsNamed) {
  static_cast<void>(opened(*folder_, engine_));
  ASSERT_TRUE(write_file(folder_->path() / "merge/trials.json",
                         R"({"version":1,"asked":"two members","own":[1],"trials":[]})"));
  const auto refused = JointTrials::open(two_members(), folder_->path() / "merge", engine_.run());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("trials.json"));
}

TEST_F(JointTrialsTest, AfterAFailureNothingIsTrained) {
  JointTrials trials = opened(*folder_, engine_);
  engine_.breaks = true;
  EXPECT_FALSE(trials.try_out({0, 0}, {2, 0}).holds);
  ASSERT_TRUE(trials.failure());
  EXPECT_THAT(trials.failure()->text(), HasSubstr("the engine broke"));
  const int runs = engine_.runs;
  EXPECT_FALSE(trials.try_out({0, 0}, {0, 2}).holds);
  EXPECT_EQ(engine_.runs, runs);
}

}  // namespace
}  // namespace plimsoll::learn
