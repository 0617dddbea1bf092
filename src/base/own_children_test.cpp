#include "base/own_children.hpp"

#include <cerrno>

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.hpp"

namespace plimsoll {
namespace {

TEST(OwnChildren, StrangersAreReapedAndOwnAreNot) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const pid_t own = start_own_child([] {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(7);
    return pid;
  });
  ASSERT_GT(own, 0);
  // Forty that daemonise: their parents end, and they become this process's.
  const auto made = run({.argv = {"sh", "-c", "for i in $(seq 40); do (true &) ; done"}});
  ASSERT_TRUE(made && made->succeeded());
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(own), &info, WEXITED | WNOWAIT), 0);
  static_cast<void>(reap_strangers());
  EXPECT_EQ(WEXITSTATUS(wait_for_own_child(own)), 7) << "its end is still there for the one who started it";
  // Some may still run; each that ends is found, until the kernel knows no child any more.
  while (::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) == 0) static_cast<void>(reap_strangers());
  EXPECT_EQ(errno, ECHILD);
}

TEST(OwnChildren, AProgramThatIsRunIsItsCallersOwn) {
  for (int i = 0; i < 20; ++i) {
    const auto done = run({.argv = {"sh", "-c", "exit 3"}, .should_end = [] {
                             static_cast<void>(reap_strangers());
                             return false;
                           }});
    ASSERT_TRUE(done);
    EXPECT_EQ(done->exit_code, 3);
  }
}

}  // namespace
}  // namespace plimsoll
