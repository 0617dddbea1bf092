#include "run/run_processes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "run/child.hpp"
#include "run/runtime_directory.hpp"
#include "run/test_root.hpp"

namespace plimsoll::running {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr pid_t kWatcher = 10;
constexpr const char* kSession = "/user.slice/session-1.scope";

/// A shell in which somebody works, the watcher beneath it, and a service of the machine.
ProcessTable machine() {
  return {{1, {0, "/init.scope"}},
          {5, {1, kSession}},
          {kWatcher, {5, kSession}},
          {90, {1, "/system.slice/cron.service"}}};
}

TEST(RunProcesses, AreThoseWithTheMarkAndThoseBeneathTheFirst) {
  ProcessTable table = machine();
  table[20] = {kWatcher, kSession, "r1"};  // sh -c
  table[21] = {20, kSession, "r1"};        // torchrun
  table[22] = {21, kSession};              // its worker, whose environment was emptied
  table[23] = {kWatcher, kSession, "r1"};  // went into the background: now the watcher's child
  table[24] = {23, kSession};
  table[30] = {kWatcher, kSession, "r2"};
  EXPECT_THAT(processes_of(table, "r1", 20, kWatcher), ElementsAre(20, 21, 22, 23, 24));
  EXPECT_THAT(processes_of(table, "r2", 0, kWatcher), ElementsAre(30)) << "the first is not known";
  EXPECT_THAT(processes_of(table, "r3", 0, kWatcher), IsEmpty());
  EXPECT_THAT(processes_of(table, "r3", 999, kWatcher), IsEmpty()) << "it has ended";
  EXPECT_THAT(processes_of(table, "", 0, kWatcher), IsEmpty()) << "no mark is no run's";
}

TEST(RunProcesses, AContainersGroupBelongsToTheRunThatIsInIt) {
  ProcessTable table = machine();
  table[20] = {kWatcher, kSession, "r1"};   // the container's client
  table[40] = {1, "/docker/c0ffee", "r1"};  // its first process, given the mark
  table[41] = {39, "/docker/c0ffee"};       // one that was put into it
  table[42] = {1, "/docker/c0ffee/inner"};  // in a group of its own, started by nobody of these
  table[43] = {1, "/docker/c0ffeeee"};
  EXPECT_THAT(processes_of(table, "r1", 20, kWatcher), UnorderedElementsAre(20, 40, 41));
}

TEST(RunProcesses, TheWatchersGroupAndThoseAroundItAreNotTheRuns) {
  ProcessTable table = machine();
  table[20] = {kWatcher, "/user.slice", "r1"};  // a group around the watcher's
  table[50] = {1, "/user.slice"};
  table[21] = {20, "/", "r1"};
  table[51] = {1, "/"};
  table[22] = {20, kSession, "r1"};
  EXPECT_THAT(processes_of(table, "r1", 20, kWatcher), ElementsAre(20, 21, 22));
  EXPECT_THAT(processes_of(table, "r1", 20, 4242), ElementsAre(20, 21, 22))
      << "a watcher that cannot be seen: no group is taken";
}

TEST(RunProcesses, ACircleOfParentsEnds) {
  const ProcessTable table{{2, {3, "/"}}, {3, {2, "/"}}, {kWatcher, {1, "/"}}};
  EXPECT_THAT(processes_of(table, "r", 2, kWatcher), ElementsAre(2, 3));
}

TEST(RunProcesses, OneWithinTwoRunsIsOfTheOneWhoseMarkItCarries) {
  ProcessTable table = machine();
  table[20] = {kWatcher, kSession, "outer"};
  table[21] = {20, kSession, "outer"};
  table[22] = {21, kSession, "inner"};
  table[23] = {20, kSession};
  const std::vector<KnownRun> known{{"outer", 20}};
  EXPECT_THAT(
      runs_by_process(table, known, kWatcher),
      UnorderedElementsAre(Pair(20, "outer"), Pair(21, "outer"), Pair(22, "inner"), Pair(23, "outer")));
}

TEST(RunProcesses, AreReadFromProc) {
  FakeRoot root("a", "b", kInitial);
  for (const pid_t pid : {7, 8, 9}) root.process(pid, 100);
  root.put("proc/7/environ", std::string("A=1\0PLIMSOLL_RUN_ID=r1\0B=2\0", 27));
  root.put("proc/7/cgroup", "0::/docker/c0ffee\n");
  root.put("proc/8/environ", std::string("PLIMSOLL_RUN_IDS=r1\0PLIMSOLL_RUN_ID", 35));
  root.put("proc/8/cgroup", "12:memory:/docker/old\n1:name=systemd:/docker/old\n0::/\n");
  root.put("proc/9/stat", "9 (dead) Z 1 9 9 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 98765 1\n");
  root.put("proc/10x/stat", "");
  EXPECT_THAT(read_process_table(root.path()),
              UnorderedElementsAre(Pair(7, ProcessEntry{1, "/docker/c0ffee", "r1"}),
                                   Pair(8, ProcessEntry{1, "/docker/old", ""})));
}

TEST(RunProcesses, OfARealShellAreFound) {
  auto child = Child::start({.command = {"sh", "-c", "env -i sleep 600 & echo started; wait"},
                             .environment = {{std::string(kRunVariable), "real"}}});
  ASSERT_TRUE(child) << child.error().text();
  char byte = 0;
  while (::read(child->output().get(), &byte, 1) != 1) ::usleep(1000);
  const auto found = processes_of("real", child->pid());
  EXPECT_THAT(found, Contains(child->pid()));
  EXPECT_EQ(found.size(), 2U) << "the sleeper, whose environment is empty, too";
}

}  // namespace
}  // namespace plimsoll::running
