#include "run/session.hpp"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.hpp"
#include "run/supervision.hpp"

namespace plimsoll::running {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A caller of supervisors that are shell scripts: they read their order, and what is said to them, from
/// descriptor 3, and answer there. Each says that its first job has started, then what the test has it say.
class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryDirectory::make();
    ASSERT_TRUE(folder);
    folder_.emplace(*std::move(folder));
    order_.options.program = (folder_->path() / "supervisor").string();
    ::setenv("PLIMSOLL_NVML_LIBRARY", "/nonexistent", 1);
  }
  void TearDown() override { ::unsetenv("PLIMSOLL_NVML_LIBRARY"); }

  void supervisor_does(const std::string& body) {
    const std::string text =
        "#!/bin/sh\nread order <&3\nsay() { echo \"$1\" >&3; }\n"
        "printf '%s\\n' \"$order\" >>" +
        log().string() + "\n" + body;
    ASSERT_TRUE(write_file(folder_->path() / "supervisor", text));
    ASSERT_EQ(::chmod((folder_->path() / "supervisor").c_str(), 0700), 0);
  }
  [[nodiscard]] std::filesystem::path log() const { return folder_->path() / "orders"; }

  Result<SessionResult> run() {
    Listener listener;
    listener.say = [&](const std::string& line) { events_.push_back("say " + line); };
    listener.warn = [&](const std::string& line) { events_.push_back("warn " + line); };
    listener.started = [&](std::size_t job, const std::string& run) {
      events_.push_back(fmt::format("started {} {}", job, run));
      if (on_started_) on_started_();
    };
    listener.ended = [&](const Ended& ended) {
      events_.push_back(fmt::format("ended {} {} {}", ended.job, ended.run, name(ended.outcome)));
    };
    return run_session(order_, listener);
  }

  static std::string end_of(std::size_t job, const std::string& run) {
    Ended ended;
    ended.job = job;
    ended.run = run;
    return "say '" + job::dump(ended_json(ended)) + "'\n";
  }
  static constexpr const char* kFinished =
      "say '{\"type\":\"finished\",\"interrupted\":false,\"frames\":3,\"cpu_seconds\":0.5}'\n";

  std::optional<TemporaryDirectory> folder_;
  Order order_;
  std::vector<std::string> events_;
  std::function<void()> on_started_;
};

TEST_F(SessionTest, JobsOfAWorkloadHaveOneSupervisorAndWorkloadsFollowEachOther) {
  for (const char* workload : {"a", "b", "a"}) {
    JobSpec job;
    job.command = {workload};
    job.workload = workload;
    order_.jobs.push_back(job);
  }
  supervisor_does(
      "case \"$order\" in *'\"workload\":\"a\"'*)\n"
      "say '{\"type\":\"started\",\"job\":1,\"run\":\"r\"}'\n" +
      end_of(1, "r") + end_of(0, "") + ";; *)\n" + "say '{\"type\":\"say\",\"text\":\"second\"}'\n" +
      end_of(0, "q") + ";; esac\n" + kFinished);
  const auto result = run();
  ASSERT_TRUE(result) << result.error().text();
  // Places are those of the whole list: the second job of "a" is the third of it. One that never started has
  // no run.
  EXPECT_THAT(events_, ElementsAre("started 2 r", "ended 2 r finished", "ended 0  finished", "say second",
                                   "ended 1 q finished"));
  EXPECT_EQ(result->ended.size(), 3U);
  EXPECT_EQ(result->frames, 6U);
  EXPECT_FALSE(result->interrupted);
}

TEST_F(SessionTest, ASupervisorThatIsKilledLosesItsRuns) {
  order_.jobs = {JobSpec{.command = {"x"}}};
  supervisor_does("say '{\"type\":\"started\",\"job\":0,\"run\":\"r\"}'\nkill -9 $$\n");
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_THAT(events_, ElementsAre("started 0 r", "ended 0 r lost"));
}

TEST_F(SessionTest, AKilledSupervisorsJobsThatNeverStartedAreLostToo) {
  order_.jobs = {JobSpec{.command = {"x"}, .workload = "w"}, JobSpec{.command = {"y"}, .workload = "w"}};
  supervisor_does("say '{\"type\":\"started\",\"job\":0,\"run\":\"r\"}'\n" + end_of(0, "r") + "kill -9 $$\n");
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_THAT(events_, ElementsAre("started 0 r", "ended 0 r finished", "ended 1  lost"));
}

TEST_F(SessionTest, ASupervisorThatSaysNothingIsAnError) {
  order_.jobs = {JobSpec{.command = {"x"}}};
  supervisor_does("exit 1\n");
  const auto result = run();
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("ended before it began"));
}

TEST_F(SessionTest, WhatCannotBeBegunIsAnErrorWithItsKindAndHint) {
  order_.jobs = {JobSpec{.command = {"x"}}};
  const Error error{"no store", "here", "make one", Error::Kind::unavailable};
  supervisor_does("say '" + job::dump({{"type", "failed"}, {"error", error_json(error)}}) + "'\n");
  const auto result = run();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().text(), "here: no store");
  EXPECT_EQ(result.error().hint, "make one");
  EXPECT_EQ(result.error().kind, Error::Kind::unavailable);
}

TEST_F(SessionTest, SignalsArePassedOnAndNothingMoreIsStarted) {
  order_.jobs = {JobSpec{.command = {"x"}}, JobSpec{.command = {"never"}}};
  supervisor_does(
      "say '{\"type\":\"started\",\"job\":0,\"run\":\"r\"}'\nread told <&3\nsay "
      "\"{\\\"type\\\":\\\"say\\\",\\\"text\\\":$(printf "
      "'%s' \"$told\" | tr -dc '0-9' | sed 's/.*/\"&\"/')}\"\n" +
      end_of(0, "r") + kFinished);
  on_started_ = [] { ::kill(::getpid(), SIGTERM); };
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->interrupted);
  EXPECT_THAT(events_, ElementsAre("started 0 r", fmt::format("say {}", SIGTERM), "ended 0 r finished"));
}

}  // namespace
}  // namespace plimsoll::running
