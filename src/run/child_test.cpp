#include "run/child.hpp"

#include <csignal>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "base/files.hpp"

namespace plimsoll::running {
namespace {

using testing::HasSubstr;

/// All that comes until the writer has closed.
std::string drained(const FileDescriptor& stream) {
  std::string out;
  char chunk[4096];
  while (true) {
    pollfd waiting{stream.get(), POLLIN, 0};
    ::poll(&waiting, 1, -1);
    const ssize_t count = ::read(stream.get(), chunk, sizeof chunk);
    if (count == 0) return out;
    if (count > 0) out.append(chunk, static_cast<std::size_t>(count));
  }
}

void wait_for_end(const Child& child) {
  pollfd waiting{child.exit_descriptor(), POLLIN, 0};
  while (::poll(&waiting, 1, -1) != 1) {
  }
}

TEST(Child, ReportsWhyItCouldNotStart) {
  const auto absent = Child::start({.command = {"no-such-program"}});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, Error::Kind::machine_lacks);
  const auto nowhere = Child::start({.command = {"true"}, .directory = "/nonexistent"});
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().text(), HasSubstr("/nonexistent"));
  EXPECT_FALSE(Child::start({.command = {"/etc/passwd"}}));
  EXPECT_FALSE(Child::start({.command = {}}));
}

TEST(Child, StreamsCodeAndEnvironmentAreItsOwn) {
  const auto directory = TemporaryDirectory::make();
  ASSERT_TRUE(directory);
  auto child = Child::start({.command = {"sh", "-c", "cat; echo $NAME; pwd; echo bad >&2; exit 7"},
                             .environment = {{"NAME", "a b"}},
                             .directory = directory->path()});
  ASSERT_TRUE(child) << child.error().text();
  EXPECT_EQ(drained(child->output()), "a b\n" + directory->path().string() + "\n")
      << "its standard input is empty";
  EXPECT_EQ(drained(child->error()), "bad\n");
  wait_for_end(*child);
  EXPECT_TRUE(child->has_ended());
  EXPECT_EQ(child->exit_code(), 7);
  EXPECT_EQ(child->signal(), 0);
  child->reap();
  EXPECT_EQ(child->exit_code(), 7) << "the same after it was reaped";
}

TEST(Child, ARelativeProgramIsOneOfItsDirectory) {
  const auto directory = TemporaryDirectory::make();
  ASSERT_TRUE(directory);
  ASSERT_TRUE(write_file(directory->path() / "here.sh", "#!/bin/sh\necho here\n"));
  std::filesystem::permissions(directory->path() / "here.sh", std::filesystem::perms::owner_all);
  auto child = Child::start({.command = {"./here.sh"}, .directory = directory->path()});
  ASSERT_TRUE(child) << child.error().text();
  EXPECT_EQ(drained(child->output()), "here\n");
}

TEST(Child, ASignalReachesTheWholeGroupAndIsTold) {
  auto child = Child::start({.command = {"sh", "-c", "sleep 600 & echo started; wait"}});
  ASSERT_TRUE(child) << child.error().text();
  char byte = 0;
  pollfd waiting{child->output().get(), POLLIN, 0};
  ASSERT_EQ(::poll(&waiting, 1, -1), 1);
  ASSERT_EQ(::read(child->output().get(), &byte, 1), 1);
  EXPECT_FALSE(child->has_ended());
  EXPECT_EQ(::getpgid(child->pid()), child->pid());
  child->signal_group(SIGTERM);
  wait_for_end(*child);
  EXPECT_TRUE(child->has_ended());
  EXPECT_EQ(child->signal(), SIGTERM);
  EXPECT_EQ(drained(child->output()), "tarted\n") << "the sleeper holds the pipe open until it ends";
}

TEST(Child, ItsNumberIsKeptUntilItIsReaped) {
  auto child = Child::start({.command = {"true"}});
  ASSERT_TRUE(child);
  wait_for_end(*child);
  EXPECT_TRUE(child->has_ended());
  EXPECT_EQ(::kill(child->pid(), 0), 0) << "a zombie still has it";
  child->reap();
  child->reap();
  EXPECT_EQ(::kill(child->pid(), 0), -1);
}

TEST(Child, GoesWithItsObject) {
  pid_t pid = 0;
  {
    auto child = Child::start({.command = {"sleep", "600"}});
    ASSERT_TRUE(child);
    pid = child->pid();
    const Child moved = *std::move(child);
    EXPECT_EQ(::kill(pid, 0), 0) << "what was moved from ends nothing";
  }
  EXPECT_EQ(::kill(pid, 0), -1) << "ended and reaped";
}

TEST(Child, WithoutCaptureWritesWhereItIsTold) {
  const auto directory = TemporaryDirectory::make();
  ASSERT_TRUE(directory);
  const auto path = directory->path() / "log";
  ASSERT_TRUE(write_file(path, ""));
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  auto child = Child::start(
      {.command = {"sh", "-c", "echo one; echo two >&2"}, .capture_output = false, .output = file.get()});
  ASSERT_TRUE(child);
  wait_for_end(*child);
  EXPECT_EQ(read_file(path, 100), "one\ntwo\n");
}

}  // namespace
}  // namespace plimsoll::running
