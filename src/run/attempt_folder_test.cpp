#include "run/attempt_folder.hpp"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"

namespace plimsoll::running {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::HasSubstr;

class AttemptFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryDirectory::make("plat");
    ASSERT_TRUE(made);
    place_.emplace(*std::move(made));
    folder_ = place_->path() / "7.1";
    ASSERT_EQ(::mkdir(folder_.c_str(), 0700), 0);
  }
  /// Opened and locked.
  Result<AttemptFolder> held() {
    auto folder = AttemptFolder::open(folder_, ::geteuid());
    if (!folder) return folder;
    if (Status locked = folder->lock(milliseconds(0)); !locked) return std::unexpected(locked.error());
    return folder;
  }
  AttemptFacts facts() {
    const auto found = look_at_attempt(folder_);
    EXPECT_TRUE(found) << found.error().text();
    return found.value_or(AttemptFacts());
  }

  const Began began_{"0123", "/run/x/control.sock", "42 7 boot/pid:[1] machine"};
  std::optional<TemporaryDirectory> place_;
  fs::path folder_;
};

TEST_F(AttemptFolderTest, TellsALaterDaemonAll) {
  EXPECT_FALSE(facts().supervised);
  {
    const auto folder = held();
    ASSERT_TRUE(folder) << folder.error().text();
    EXPECT_TRUE(facts().supervised);
    EXPECT_EQ(facts().began, std::nullopt);
    ASSERT_TRUE(folder->write(began_));
    EXPECT_EQ(facts().began, began_);
    const Saved saved{"step 400 \xff", Seconds(1.5e9), Seconds(77)};
    ASSERT_TRUE(folder->write(Saved{"step 1", Seconds(1), Seconds(2)}));
    ASSERT_TRUE(folder->write(saved));
    EXPECT_EQ(facts().saved, saved);
    EXPECT_FALSE(facts().ended);
    ASSERT_TRUE(folder->write(Ended{.run = "0123",
                                    .outcome = Outcome::failed,
                                    .reason = "why",
                                    .exit_code = 3,
                                    .stopped = StopCause::lease,
                                    .gpu_fault = true,
                                    .peak_gpu_bytes = Bytes(7)}));
  }
  const AttemptFacts left = facts();
  EXPECT_FALSE(left.supervised);
  ASSERT_TRUE(left.ended);
  EXPECT_EQ(left.ended->exit_code, 3);
  EXPECT_EQ(left.ended->stopped, StopCause::lease);
  EXPECT_TRUE(left.ended->gpu_fault);
  EXPECT_EQ(left.ended->peak_gpu_bytes, Bytes(7));
}

TEST_F(AttemptFolderTest, NoAttemptIsBegunTwice) {
  auto first = held();
  ASSERT_TRUE(first);
  EXPECT_THAT(held().error().text(), HasSubstr("another supervisor"));
  ASSERT_TRUE(first->write(began_));
  first = std::unexpected(Error{"gone"});
  const auto second = held();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, Error::Kind::exists_already);
  EXPECT_THAT(second.error().text(), HasSubstr("begun once"));
}

TEST_F(AttemptFolderTest, WhatIsUndoneNeverBegins) {
  // A supervisor that is on its way has the folder open already.
  auto late = AttemptFolder::open(folder_, ::geteuid());
  ASSERT_TRUE(late);
  EXPECT_EQ(undo_attempt(folder_), true);
  EXPECT_EQ(undo_attempt(folder_), true);
  EXPECT_TRUE(facts().undone);
  EXPECT_FALSE(late->lock(milliseconds(0)));
}

TEST_F(AttemptFolderTest, WhatHasBegunIsNotUndone) {
  {
    const auto folder = held();
    ASSERT_TRUE(folder);
    EXPECT_EQ(undo_attempt(folder_), false) << "a supervisor lives";
    ASSERT_TRUE(folder->write(began_));
  }
  EXPECT_EQ(undo_attempt(folder_), false) << "nobody saw its end";
}

TEST_F(AttemptFolderTest, LinksAreNotFollowed) {
  const fs::path victim = place_->path() / "victim";
  std::ofstream(victim) << "precious";
  for (const char* name : {".began.new", "began"}) fs::create_symlink(victim, folder_ / name);
  const auto folder = AttemptFolder::open(folder_, ::geteuid());
  ASSERT_TRUE(folder);
  ASSERT_TRUE(folder->write(began_));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder_ / "began")));
  EXPECT_EQ(read_file(victim, 100).value(), "precious");

  fs::create_symlink(victim, folder_ / "lease");
  EXPECT_EQ(folder->lease(), std::nullopt);
  ASSERT_TRUE(write_lease(folder_, {"boot", Seconds(9)}));
  EXPECT_EQ(read_file(victim, 100).value(), "precious");
  EXPECT_EQ(folder->lease(), (Lease{"boot", Seconds(9)}));

  fs::create_symlink(victim, folder_ / "lock");
  EXPECT_FALSE(held());
  EXPECT_FALSE(look_at_attempt(folder_));
  EXPECT_FALSE(undo_attempt(folder_));
  fs::create_directory_symlink(folder_, place_->path() / "linked");
  EXPECT_FALSE(AttemptFolder::open(place_->path() / "linked", ::geteuid()));
  EXPECT_FALSE(look_at_attempt(place_->path() / "linked"));
}

TEST_F(AttemptFolderTest, NothingButPlainFilesOfTheirSizeAreRead) {
  {
    ASSERT_TRUE(held());
  }
  ASSERT_EQ(::mkfifo((folder_ / "ended").c_str(), 0600), 0);  // nobody writes into it
  EXPECT_FALSE(look_at_attempt(folder_));
  fs::remove(folder_ / "ended");
  std::ofstream(folder_ / "ended") << std::string((std::size_t{1} << 20) + 1, ' ');
  EXPECT_FALSE(look_at_attempt(folder_));
  std::ofstream(folder_ / "ended") << std::string(1000, '[');
  EXPECT_FALSE(look_at_attempt(folder_));
  fs::remove(folder_ / "ended");
  std::ofstream(folder_ / "began") << R"({"version":2,"run":"a","socket":"b","supervisor":"c"})";
  EXPECT_FALSE(look_at_attempt(folder_));
  EXPECT_EQ(look_at_attempt(folder_ / "none").error().kind, Error::Kind::not_found);
}

TEST_F(AttemptFolderTest, AFolderOfOthersIsRefused) {
  EXPECT_FALSE(AttemptFolder::open(folder_, ::geteuid() + 1));
  ASSERT_EQ(::chmod(folder_.c_str(), 0770), 0);
  EXPECT_FALSE(AttemptFolder::open(folder_, ::geteuid()));
}

TEST_F(AttemptFolderTest, WhatCannotBeWrittenIsSaid) {
  const auto folder = held();
  ASSERT_TRUE(folder);
  fs::create_directories(folder_ / "began/full");
  EXPECT_FALSE(folder->write(began_));
  EXPECT_FALSE(fs::exists(folder_ / ".began.new"));
}

}  // namespace
}  // namespace plimsoll::running
