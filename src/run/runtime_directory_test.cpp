#include "run/runtime_directory.hpp"

#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"
#include "run/child.hpp"

namespace plimsoll::running {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// An owner that can be told to be gone: this process's number, with another start.
std::string gone_owner() {
  ProcessIdentity gone = *ProcessIdentity::of(::getpid());
  ++gone.start;
  return gone.text() + "\n";
}

void leave(const fs::path& directory, const std::string& owner, const std::string& runs) {
  fs::create_directories(directory);
  ASSERT_TRUE(write_file(directory / "owner", owner));
  ASSERT_TRUE(write_file(directory / "runs", runs));
}

TEST(RuntimeDirectory, OnlyWhatIsAbandonedIsCleanedUp) {
  const auto base = TemporaryDirectory::make();
  ASSERT_TRUE(base);
  auto mine = RuntimeDirectory::make(base->path());
  ASSERT_TRUE(mine) << mine.error().text();
  ASSERT_TRUE(mine->note_run("mine"));
  auto child =
      Child::start({.command = {"sleep", "600"}, .environment = {{std::string(kRunVariable), "theirs"}}});
  ASSERT_TRUE(child) << child.error().text();
  auto bystander =
      Child::start({.command = {"sleep", "600"}, .environment = {{std::string(kRunVariable), "mine"}}});
  ASSERT_TRUE(bystander);
  const auto abandoned = base->path() / "1-0";
  leave(abandoned, gone_owner(), "theirs\n");
  const auto unknown = base->path() / "1-1";
  leave(unknown, "1 1 another-boot/pid:[4026531836]\n", "mine\n");
  const Cleaned cleaned = clean_up(base->path());
  EXPECT_THAT(cleaned.runs, ElementsAre("theirs"));
  EXPECT_EQ(cleaned.directories, 1U);
  EXPECT_EQ(cleaned.processes, 1U);
  child->reap();
  EXPECT_EQ(child->signal(), SIGTERM);
  EXPECT_FALSE(bystander->has_ended());
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::exists(unknown)) << "nobody can tell whose it is";
  EXPECT_TRUE(fs::exists(mine->path()));
}

TEST(RuntimeDirectory, WhatDoesNotListenToSigtermIsEndedAllTheSame) {
  const auto base = TemporaryDirectory::make();
  ASSERT_TRUE(base);
  auto deaf = Child::start({.command = {"sh", "-c", "trap '' TERM; echo ready; exec sleep 600"},
                            .environment = {{std::string(kRunVariable), "deaf"}}});
  ASSERT_TRUE(deaf) << deaf.error().text();
  char byte = 0;  // it has set its trap once it says so
  while (::read(deaf->output().get(), &byte, 1) != 1) ::usleep(1000);
  leave(base->path() / "1-0", gone_owner(), "deaf\n");
  EXPECT_EQ(clean_up(base->path()).processes, 1U);
  deaf->reap();
  EXPECT_EQ(deaf->signal(), SIGKILL);
}

TEST(RuntimeDirectory, GoesWithItsOwnerAndIsTheOwnersAlone) {
  const auto base = TemporaryDirectory::make();
  ASSERT_TRUE(base);
  fs::path path;
  {
    const auto one = RuntimeDirectory::make(base->path());
    const auto two = RuntimeDirectory::make(base->path());
    ASSERT_TRUE(one && two);
    EXPECT_NE(one->path(), two->path());
    path = one->path();
    struct stat facts{};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0700U);
    const auto owner = ProcessIdentity::parse(*read_file(path / "owner", 4096));
    EXPECT_EQ(owner, ProcessIdentity::of(::getpid()));
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::is_empty(base->path()));
}

TEST(RuntimeDirectory, OneThatIsJustBeingMadeIsLeft) {
  const auto base = TemporaryDirectory::make();
  ASSERT_TRUE(base);
  fs::create_directories(base->path() / ".new-1-0");
  fs::create_directories(base->path() / "2-0");  // made by nobody who finished it
  const auto outside = TemporaryDirectory::make();
  ASSERT_TRUE(outside);
  fs::create_directory_symlink(outside->path(), base->path() / "3-0");
  EXPECT_EQ(clean_up(base->path()).directories, 1U);
  EXPECT_TRUE(fs::exists(base->path() / ".new-1-0"));
  EXPECT_FALSE(fs::exists(base->path() / "2-0"));
  EXPECT_TRUE(fs::exists(outside->path())) << "a link is not followed";
}

TEST(RuntimeDirectory, IsNotMadeInAPlaceThatOthersMayWriteTo) {
  const auto home = TemporaryDirectory::make();
  ASSERT_TRUE(home);
  const char* const before = std::getenv("XDG_RUNTIME_DIR");
  const std::string kept = before == nullptr ? "" : before;
  ASSERT_EQ(::setenv("XDG_RUNTIME_DIR", home->path().c_str(), 1), 0);
  const auto base = RuntimeDirectory::base();
  EXPECT_EQ(base, home->path() / "plimsoll");
  ASSERT_EQ(::chmod((home->path() / "plimsoll").c_str(), 0777), 0);
  const auto open_to_all = RuntimeDirectory::base();
  before == nullptr ? ::unsetenv("XDG_RUNTIME_DIR") : ::setenv("XDG_RUNTIME_DIR", kept.c_str(), 1);
  ASSERT_FALSE(open_to_all);
  EXPECT_THAT(open_to_all.error().text(), HasSubstr("is not a directory of yours alone"));
}

TEST(RuntimeDirectory, CleaningIsOneStartsBusinessAtATime) {
  const auto base = TemporaryDirectory::make();
  ASSERT_TRUE(base);
  EXPECT_THAT(clean_up(base->path()).runs, IsEmpty());
  EXPECT_THAT(clean_up(base->path() / "absent").runs, IsEmpty());
}

}  // namespace
}  // namespace plimsoll::running
