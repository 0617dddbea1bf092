#include "run/recover.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/test_root.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::running {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Recover : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(directory_);
    auto opened = store::open((directory_->path() / "runs.db").string());
    ASSERT_TRUE(opened) << opened.error().text();
    store_ = *std::move(opened);
  }
  std::string running(const std::optional<ProcessIdentity>& supervisor, const std::string& host) {
    store::NewRun run;
    run.experiment = "e";
    run.start = store::now();
    if (!host.empty()) run.tags["plimsoll.host"] = host;
    if (supervisor) run.tags["plimsoll.supervisor"] = supervisor->text();
    return store_->create(run).value_or("");
  }
  void mark(const FakeRoot& root, const std::string& host) {
    said_.clear();
    const Status marked =
        mark_lost_runs(*store_, [&](const std::string& line) { said_.push_back(line); }, root.path(), host);
    EXPECT_TRUE(marked) << marked.error().text();
  }
  store::Run read(const std::string& id) { return store_->find(id).value_or(store::Run{}); }
  bool is_running(const std::string& id) { return read(id).status == store::RunStatus::running; }

  Result<TemporaryDirectory> directory_ = TemporaryDirectory::make();
  std::unique_ptr<store::Store> store_;
  std::vector<std::string> said_;
};

TEST_F(Recover, ARunWhoseSupervisorIsGoneIsLost) {
  FakeRoot root("a", "b", kInitial);
  const std::string lost = running(root.noted(), "node");
  ProcessIdentity living = root.noted();
  living.pid = 8;
  root.process(8, living.start);
  const std::string watched = running(living, "node");
  const std::string foreign = running({}, "node");
  mark(root, "renamed-since");
  EXPECT_THAT(said_, ElementsAre(HasSubstr(lost.substr(0, 8) + " is lost")));
  const store::Run run = read(lost);
  EXPECT_EQ(run.status, store::RunStatus::failed);
  EXPECT_EQ(run.tags.at("plimsoll.outcome"), "lost");
  EXPECT_EQ(run.end, run.start) << "its last sign of life";
  EXPECT_TRUE(is_running(watched));
  EXPECT_TRUE(is_running(foreign)) << "not started by plimsoll run";
  mark(root, "node");
  EXPECT_THAT(said_, IsEmpty()) << "said once";
}

TEST_F(Recover, TwoMachinesWithOneNameDoNotTouchEachOther) {
  const FakeRoot one("a", "b1", kInitial), two("c", "b2", kInitial);
  const std::string of_one = running(one.noted(), "node");
  mark(two, "node");
  EXPECT_TRUE(is_running(of_one));
  mark(one, "node");
  EXPECT_FALSE(is_running(of_one));
}

TEST_F(Recover, ContainersOfOneImageDoNotTouchEachOther) {
  const FakeRoot one("i", "b", "pid:[4026532001]"), two("i", "b", "pid:[4026532002]"),
      elsewhere("i", "b2", "pid:[4026532001]");
  const std::string of_one = running(one.noted(), "worker");
  mark(two, "worker");
  mark(elsewhere, "worker");
  EXPECT_TRUE(is_running(of_one));
}

TEST_F(Recover, ARestartEndsWhatRanOnThatMachine) {
  const FakeRoot before("a", "b1", kInitial), after("a", "b2", kInitial);
  const std::string mine = running(before.noted(), "node");
  const std::string clones = running(before.noted(), "node-of-the-same-image");
  ProcessIdentity older = before.noted();
  older.space.machine_id.clear();
  const std::string of_older_version = running(older, "node");
  mark(after, "node");
  EXPECT_FALSE(is_running(mine));
  EXPECT_TRUE(is_running(clones));
  EXPECT_TRUE(is_running(of_older_version));
}

TEST_F(Recover, AStrangeNoteIsNoReason) {
  const FakeRoot root("a", "b", kInitial);
  const std::string id = running({}, "node");
  ASSERT_TRUE(store_->change(id, {.tags = {{"plimsoll.supervisor", "-1 x \xff"}}}));
  mark(root, "node");
  EXPECT_TRUE(is_running(id));
}

}  // namespace
}  // namespace plimsoll::running
