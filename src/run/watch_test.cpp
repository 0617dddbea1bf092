#include "run/watch.hpp"

#include <algorithm>
#include <array>
#include <csignal>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::running {
namespace {

using std::chrono::milliseconds;

/// One command, watched by a loop as small as can be.
class WatchTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryDirectory::make("plwt");
    ASSERT_TRUE(folder);
    folder_.emplace(*std::move(folder));
    auto store = store::open((folder_->path() / "store.db").string());
    ASSERT_TRUE(store);
    store_ = *std::move(store);
    id_ = *store_->create({.name = "test", .start = store::now()});
    recorder_.emplace(*store::open((folder_->path() / "store.db").string()), nullptr);
    recorder_->begin(1, id_, {});
  }

  void start(const std::string& script, JobSpec job = {}) {
    job.command = {"/bin/sh", "-c", script};
    job.directory = folder_->path();
    Watch::Place place;
    place.number = 1;
    place.id = id_;
    place.artifacts = folder_->path();
    place.socket = folder_->path() / "1.sock";
    auto watch = Watch::start(job, options_, std::move(place), *recorder_, errands_);
    ASSERT_TRUE(watch) << watch.error().text();
    watch_ = *std::move(watch);
  }

  /// Until `condition` holds or the command is over; whether it is over.
  bool serve(const std::function<bool()>& condition = [] { return false; }) {
    while (!over_ && !condition()) {
      Interests interests;
      watch_->collect(interests);
      interests.push_back({errands_.descriptor(), POLLIN, [this] { errands_.deliver(); }});
      std::vector<pollfd> descriptors;
      for (const Interest& interest : interests)
        descriptors.push_back({interest.descriptor, interest.events, 0});
      const auto now = Watch::Clock::now();
      const auto wait = std::chrono::ceil<milliseconds>(watch_->next(now) - now);
      // What the condition looks at need not be an event here.
      ::poll(descriptors.data(), descriptors.size(),
             static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, 20)));
      for (std::size_t i = 0; i < descriptors.size(); ++i)
        if (descriptors[i].revents != 0) interests[i].act();
      over_ = watch_->proceed(Watch::Clock::now());
    }
    return over_;
  }
  [[nodiscard]] std::string log() {
    while (!watch_->log_is_finished()) {
      pollfd ready{errands_.descriptor(), POLLIN, 0};
      ::poll(&ready, 1, 300'000);
      errands_.deliver();
    }
    return read_file(folder_->path() / "output.log", 1 << 20).value_or("");
  }
  [[nodiscard]] bool exists(const char* name) const {
    return std::filesystem::exists(folder_->path() / name);
  }

  std::optional<TemporaryDirectory> folder_;
  std::unique_ptr<store::Store> store_;
  std::string id_;
  WatchOptions options_;
  Errands errands_;
  std::optional<Recorder> recorder_;
  std::unique_ptr<Watch> watch_;
  bool over_ = false;
};

TEST_F(WatchTest, OutputMetricsParamsAndArtifactsAreTaken) {
  start(
      "echo one; echo two >&2; echo 'plimsoll: metric loss 0.5 step 3'; echo 'plimsoll: param lr 1'; echo "
      "'plimsoll: artifact a.txt'; exit 6");
  ASSERT_TRUE(serve());
  EXPECT_EQ(watch_->evidence().exit_code, 6);
  EXPECT_EQ(watch_->metrics(), 1U);
  EXPECT_EQ(watch_->params().at("lr"), "1");
  EXPECT_THAT(watch_->artifacts(), testing::ElementsAre("a.txt"));
  EXPECT_THAT(log(), testing::AllOf(testing::HasSubstr("one\n"), testing::HasSubstr("two\n")));
  EXPECT_FALSE(watch_->log_failed());
}

TEST_F(WatchTest, ATimeLimitAsksFirstAndThenKills) {
  options_.grace = milliseconds(100);
  JobSpec job;
  job.time_limit = Seconds(0.05);
  start("trap 'echo asked' TERM; while :; do sleep 0.01; done", job);
  ASSERT_TRUE(serve());
  EXPECT_EQ(watch_->evidence().stopped, StopCause::time_limit);
  EXPECT_EQ(watch_->evidence().signal, SIGKILL);
}

TEST_F(WatchTest, AnEpochLimitEndsIt) {
  JobSpec job;
  job.epoch_limit = 2;
  start(
      "trap 'exit 0' TERM; for i in 1 2 3; do echo \"plimsoll: epoch $i\"; done; while :; do sleep 0.01; "
      "done",
      job);
  ASSERT_TRUE(serve());
  EXPECT_EQ(watch_->evidence().stopped, StopCause::epoch_limit);
}

TEST_F(WatchTest, TheThirdInterruptKills) {
  start("trap 'touch got' INT; touch begun; while :; do sleep 0.01; done");
  ASSERT_FALSE(serve([&] { return exists("begun"); }));
  watch_->pass_signal(SIGINT);
  ASSERT_FALSE(serve([&] { return exists("got"); }));
  watch_->pass_signal(SIGINT);
  watch_->pass_signal(SIGINT);
  ASSERT_TRUE(serve());
  EXPECT_EQ(watch_->evidence().signal, SIGKILL);
  EXPECT_EQ(watch_->evidence().stopped, StopCause::interrupted);
}

TEST_F(WatchTest, OrphansAreWaitedForEndedOrLeft) {
  start("(until [ -e told ]; do sleep 0.01; done; echo late) & exit 0");
  ASSERT_FALSE(serve([&] { return !watch_->take_orphans().empty(); }))
      << "the command has ended, its child has not";
  ASSERT_TRUE(write_file(folder_->path() / "told", ""));
  ASSERT_TRUE(serve());
  EXPECT_THAT(log(), testing::HasSubstr("late"));
}

TEST_F(WatchTest, OneThatIsToBeLeftWritesItsLogItself) {
  options_.if_killed = IfKilled::leave;
  start("echo one; echo two >&2; echo 'plimsoll: metric loss 1'; exit 0");
  ASSERT_TRUE(serve());
  EXPECT_EQ(watch_->metrics(), 1U);
  EXPECT_EQ(read_file(folder_->path() / "output.log", 1 << 20).value_or(""),
            "one\ntwo\nplimsoll: metric loss 1\n");
}

TEST_F(WatchTest, WhoLooksOnIsGivenTheLastOfItFirst) {
  start("echo before; touch begun; until [ -e told ]; do sleep 0.01; done; echo after");
  ASSERT_FALSE(serve([&] { return exists("begun"); }));
  // What was printed before the file was made may still be in the pipe.
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const FileDescriptor read_end(ends[0]);
  watch_->add_viewer({.number = 1,
                      .run = id_,
                      .output = FileDescriptor(ends[1]),
                      .error = FileDescriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC))});
  ASSERT_TRUE(write_file(folder_->path() / "told", ""));
  ASSERT_TRUE(serve());
  while (!watch_->viewers_are_served()) {
    Interests interests;
    watch_->collect(interests);
    for (const Interest& interest : interests) interest.act();
  }
  watch_->remove_viewer(1);
  std::array<char, 100> text{};
  std::string all;
  for (ssize_t count = 0; (count = ::read(read_end.get(), text.data(), text.size())) > 0;)
    all.append(text.data(), static_cast<std::size_t>(count));
  EXPECT_EQ(all, "before\nafter\n");
}

}  // namespace
}  // namespace plimsoll::running
