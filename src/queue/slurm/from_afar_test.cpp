#include "queue/slurm/from_afar.hpp"

#include <gtest/gtest.h>

#include "base/files.hpp"
#include "queue/next_step.hpp"
#include "store/store.hpp"

namespace plimsoll::queue::slurm {
namespace {

using job::Json;

const Afar kAda{.user = "1000", .pools = "slurm/scout/ada/"};

class FromAfar : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(directory_);
    auto opened = store::open((directory_->path() / "runs.db").string());
    ASSERT_TRUE(opened);
    store_ = *std::move(opened);
  }
  std::int64_t submit(const std::string& user, const std::string& pool) {
    const store::NewQueueJob job{
        .user = user, .pool = pool, .request = R"({"job": {"command": ["true"]}, "umask": 18})"};
    const auto numbers = store_->queue().submit({&job, 1}, std::to_string(++submitted_));
    EXPECT_TRUE(numbers);
    return numbers ? numbers->front() : 0;
  }
  Json ask(Json message) {
    const auto answer = ask_store(store_->queue(), kAda, message);
    EXPECT_TRUE(answer) << answer.error().text();
    return answer.value_or(Json());
  }
  store::QueueJob row(std::int64_t number) { return store_->queue().jobs({.numbers = {number}})->front(); }

  Result<TemporaryDirectory> directory_ = TemporaryDirectory::make();
  std::unique_ptr<store::Store> store_;
  int submitted_ = 0;
};

TEST_F(FromAfar, ShowsOnesOwnJobsOfPoolsAlone) {
  const auto mine = submit("1000", "slurm/scout/ada/1");
  submit("1001", "slurm/scout/ada/1");
  submit("1000", "");
  const Json told = ask({{"type", "list"}});
  ASSERT_EQ(told["jobs"].size(), 1U);
  EXPECT_EQ(told["jobs"][0]["number"], mine);
  EXPECT_EQ(told["jobs"][0]["command"], Json({"true"}));
  EXPECT_EQ(ask({{"type", "list"}, {"numbers", {mine + 1}}})["jobs"].size(), 0U);
}

TEST_F(FromAfar, WhatWaitsIsCancelledAtOnceAndWhatRunsByItsDaemon) {
  const auto waits = submit("1000", "slurm/scout/ada/1"), runs = submit("1000", "slurm/scout/ada/1"),
             other = submit("1001", "slurm/scout/ada/1");
  store::QueueChange change{
      .number = runs, .version = row(runs).version, .state = store::QueueState::starting};
  ASSERT_TRUE(*store_->queue().change({&change, 1}, {}));
  const Json told = ask({{"type", "cancel"}, {"numbers", {waits, runs, other, 99}}});
  EXPECT_EQ(told["numbers"], Json({waits, runs}));
  EXPECT_EQ(told["refused"].size(), 2U);
  EXPECT_EQ(row(waits).state, store::QueueState::ended);
  EXPECT_EQ(row(waits).outcome, "cancelled");
  EXPECT_EQ(row(runs).state, store::QueueState::starting);
  EXPECT_TRUE(read_notes(row(runs).notes)->cancelled);
  EXPECT_EQ(row(other).state, store::QueueState::waiting);
  EXPECT_EQ(ask({{"type", "decisions"}, {"numbers", {waits}}})["decisions"].size(), 1U);
  EXPECT_EQ(ask({{"type", "decisions"}, {"numbers", {other}}})["decisions"].size(), 0U);
}

TEST_F(FromAfar, HoldsAndReleases) {
  const auto number = submit("1000", "slurm/scout/ada/1");
  EXPECT_EQ(ask({{"type", "release"}, {"numbers", {number}}})["refused"].size(), 1U);
  ask({{"type", "hold"}, {"numbers", {number}}});
  EXPECT_EQ(row(number).state, store::QueueState::held);
  ask({{"type", "release"}, {"numbers", {number}}});
  EXPECT_EQ(row(number).state, store::QueueState::waiting);
  EXPECT_FALSE(ask_store(store_->queue(), kAda, {{"type", "move"}, {"numbers", {number}}}));
}

}  // namespace
}  // namespace plimsoll::queue::slurm
