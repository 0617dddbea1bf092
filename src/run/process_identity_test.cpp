#include "run/process_identity.hpp"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.hpp"
#include "run/child.hpp"
#include "run/runtime_directory.hpp"

namespace plimsoll::running {
namespace {

using testing::SizeIs;

TEST(ProcessIdentity, IsMoreThanANumber) {
  const auto self = ProcessIdentity::of(::getpid());
  ASSERT_TRUE(self);
  EXPECT_TRUE(self->lives());
  EXPECT_EQ(ProcessIdentity::parse(self->text()), self);
  ProcessIdentity other = *self;
  ++other.start;
  EXPECT_FALSE(other.lives()) << "another process that got the same number";
  other = *self;
  other.boot = "before";
  EXPECT_FALSE(other.lives()) << "the same number and tick after another boot";
  EXPECT_FALSE(ProcessIdentity::parse("x 1 2"));
  EXPECT_FALSE(ProcessIdentity::parse("-4 1 2"));
  EXPECT_FALSE(ProcessIdentity::parse(""));
}

TEST(ProcessIdentity, ReadsAStatLineWithAHostileName) {
  const auto root = TemporaryDirectory::make();
  ASSERT_TRUE(root);
  std::filesystem::create_directories(root->path() / "7");
  std::filesystem::create_directories(root->path() / "sys/kernel/random");
  ASSERT_TRUE(write_file(root->path() / "sys/kernel/random/boot_id", "b\n"));
  ASSERT_TRUE(write_file(root->path() / "7/stat",
                         "7 (a) R 1 (b) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 1 2 3\n"));
  EXPECT_EQ(ProcessIdentity::of(7, root->path()), (ProcessIdentity{7, 98765, "b"}));
  ASSERT_TRUE(write_file(root->path() / "7/stat", "7 (a) Z 1 7 7 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 98765 1\n"));
  EXPECT_FALSE(ProcessIdentity::of(7, root->path())) << "a zombie is none";
  ASSERT_TRUE(write_file(root->path() / "7/stat", "7 (a"));
  EXPECT_FALSE(ProcessIdentity::of(7, root->path()));
}

TEST(RuntimeDirectory, OnlyWhatIsAbandonedIsCleanedUp) {
  const auto base = TemporaryDirectory::make();
  ASSERT_TRUE(base);
  auto mine = RuntimeDirectory::make(base->path());
  ASSERT_TRUE(mine) << mine.error().text();
  ASSERT_TRUE(mine->note_run("mine"));
  auto child =
      Child::start({.command = {"sleep", "60"}, .environment = {{std::string(kRunVariable), "theirs"}}});
  ASSERT_TRUE(child) << child.error().text();
  auto bystander =
      Child::start({.command = {"sleep", "60"}, .environment = {{std::string(kRunVariable), "mine"}}});
  ASSERT_TRUE(bystander);
  const auto abandoned = base->path() / "1-0";
  std::filesystem::create_directories(abandoned);
  ASSERT_TRUE(write_file(abandoned / "owner", "1 1 another-boot\n"));
  ASSERT_TRUE(write_file(abandoned / "runs", "theirs\n"));
  const Cleaned cleaned = clean_up(base->path());
  EXPECT_THAT(cleaned.runs, testing::ElementsAre("theirs"));
  EXPECT_EQ(cleaned.directories, 1U);
  child->reap();
  EXPECT_EQ(child->signal(), SIGTERM);
  EXPECT_FALSE(bystander->has_ended());
  EXPECT_FALSE(std::filesystem::exists(abandoned));
  EXPECT_TRUE(std::filesystem::exists(mine->path()));
}

TEST(Child, ReportsWhyItCouldNotStart) {
  const auto absent = Child::start({.command = {"no-such-program"}});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, Error::Kind::machine_lacks);
  const auto nowhere = Child::start({.command = {"true"}, .directory = "/nonexistent"});
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().text(), testing::HasSubstr("/nonexistent"));
  EXPECT_FALSE(Child::start({.command = {"/etc/passwd"}}));
}

}  // namespace
}  // namespace plimsoll::running
