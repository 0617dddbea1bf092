#include "run/mps.hpp"

#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "base/files.hpp"

namespace plimsoll::running {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

/// Speaks as NVIDIA's does: with -f the daemon itself, which has a server; else a question on standard input.
/// The daemon waits on a pipe, so that it ends when it is told to and at no other time.
constexpr std::string_view kControl = R"sh(#!/bin/sh
home=$CUDA_MPS_PIPE_DIRECTORY
if [ "$1" = -f ]; then
  if [ -n "$FAKE_MPS_BROKEN" ]; then echo "no GPU is in the mood"; exit 1; fi
  echo "serves $CUDA_VISIBLE_DEVICES"
  sleep 600 & echo $! > "$home/server"
  mkfifo "$home/control.new" && mv "$home/control.new" "$home/control"
  read -r word < "$home/control"
  kill "$(cat "$home/server")"
  exit 0
fi
read -r command
[ -p "$home/control" ] || { echo "Cannot find MPS control daemon process" >&2; exit 1; }
case $command in
get_default_active_thread_percentage) echo 100.0 ;;
get_server_list) cat "$home/server" ;;
quit) echo quit > "$home/control" ;;
esac
)sh";

/// A process that was killed is gone a moment later.
bool ends(pid_t pid) {
  const auto identity = ProcessIdentity::of(pid);
  for (int i = 0; i < 60'000 && identity && identity->lives(); ++i) ::usleep(1000);
  return !identity || !identity->lives();
}

class Mps : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(folder_);
    const fs::path program = folder_->path() / "nvidia-cuda-mps-control";
    ASSERT_TRUE(write_file(program, kControl));
    fs::permissions(program, fs::perms::owner_all);
    path_ = std::getenv("PATH");
    ASSERT_EQ(::setenv("PATH", (folder_->path().string() + ":" + path_).c_str(), 1), 0);
  }
  void TearDown() override {
    ::setenv("PATH", path_.c_str(), 1);
    ::unsetenv("FAKE_MPS_BROKEN");
  }
  std::unique_ptr<MpsDaemon> answering() {
    auto daemon = MpsDaemon::start(directory_, {{.uuid = "GPU-a"}, {.uuid = "GPU-b"}});
    EXPECT_TRUE(daemon) << daemon.error().text();
    if (!daemon) return nullptr;
    const Status answers = (*daemon)->wait_for_answer();
    EXPECT_TRUE(answers) << answers.error().text();
    return *std::move(daemon);
  }

  Result<TemporaryDirectory> folder_ = TemporaryDirectory::make();
  Result<TemporaryDirectory> base_ = TemporaryDirectory::make();
  RuntimeDirectory directory_ = RuntimeDirectory::make(base_->path()).value();
  std::string path_;
};

TEST_F(Mps, ServesTheChosenDevicesUntilItsObjectGoes) {
  std::vector<pid_t> servers;
  pid_t control = 0;
  {
    const auto daemon = answering();
    ASSERT_TRUE(daemon);
    EXPECT_FALSE(daemon->has_ended());
    EXPECT_THAT(daemon->log_tail(), HasSubstr("serves GPU-a,GPU-b"));
    servers = daemon->servers();
    control = daemon->pid();
    ASSERT_EQ(servers.size(), 1U);
    EXPECT_EQ(::kill(servers.front(), 0), 0);
    EXPECT_EQ(ProcessIdentity::parse(*read_file(directory_.path() / "daemons", 4096)),
              ProcessIdentity::of(control))
        << "noted, so that it is found where this process is killed";
  }
  EXPECT_TRUE(ends(control));
  EXPECT_TRUE(ends(servers.front()));
}

TEST_F(Mps, AServerThatOutlivesItsKilledDaemonIsEnded) {
  pid_t server = 0;
  {
    const auto daemon = answering();
    ASSERT_TRUE(daemon);
    server = daemon->servers().front();
    ASSERT_EQ(::kill(daemon->pid(), SIGKILL), 0);
    pollfd ended{daemon->exit_descriptor(), POLLIN, 0};
    ASSERT_EQ(::poll(&ended, 1, -1), 1);
    EXPECT_TRUE(daemon->has_ended());
  }
  EXPECT_TRUE(ends(server));
}

TEST_F(Mps, EachHasADirectoryOfItsOwn) {
  const auto one = answering(), two = answering();
  ASSERT_TRUE(one && two);
  EXPECT_NE(one->client_variables({}, {}), two->client_variables({}, {}));
  EXPECT_NE(one->servers(), two->servers());
}

TEST_F(Mps, ClientsGetTheirLimitsAsVariables) {
  const auto daemon = answering();
  ASSERT_TRUE(daemon);
  EXPECT_EQ(daemon->client_variables({}, {}).size(), 2U);
  const Variables limited = daemon->client_variables(12.5, 3 * kGiB);
  EXPECT_THAT(limited, Contains(Pair("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "12.5")));
  EXPECT_THAT(limited, Contains(Pair("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=3072M")));
  EXPECT_THAT(daemon->client_variables({}, Bytes(5)),
              Contains(Pair("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=1M")))
      << "less than the least is the least";
}

TEST_F(Mps, OneThatEndsAtOnceSaysWhy) {
  ASSERT_EQ(::setenv("FAKE_MPS_BROKEN", "1", 1), 0);
  auto daemon = MpsDaemon::start(directory_, {});
  ASSERT_TRUE(daemon);
  const Status answers = (*daemon)->wait_for_answer();
  ASSERT_FALSE(answers);
  EXPECT_EQ(answers.error().kind, Error::Kind::machine_lacks);
  EXPECT_THAT(answers.error().text(), HasSubstr("no GPU is in the mood"));
}

TEST_F(Mps, WithoutNvidiasProgramNothingStarts) {
  ASSERT_EQ(::setenv("PATH", "/nonexistent", 1), 0);
  const auto daemon = MpsDaemon::start(directory_, {});
  ASSERT_FALSE(daemon);
  EXPECT_EQ(daemon.error().kind, Error::Kind::machine_lacks);
  EXPECT_THAT(daemon.error().hint, HasSubstr("Mode naive"));
}

}  // namespace
}  // namespace plimsoll::running
