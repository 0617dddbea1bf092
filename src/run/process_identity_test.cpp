#include "run/process_identity.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "run/test_root.hpp"

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
  EXPECT_EQ(other.whereabouts(), Whereabouts::gone) << "another process that got the same number";
  other = *self;
  other.space.boot = "before";
  EXPECT_FALSE(other.lives()) << "the same number and tick after another boot";
  EXPECT_FALSE(ProcessIdentity::parse("x 1 2"));
  EXPECT_FALSE(ProcessIdentity::parse("-4 1 2"));
  EXPECT_FALSE(ProcessIdentity::parse(""));
}

TEST(ProcessIdentity, TakesWhatEarlierVersionsWrote) {
  const auto read = ProcessIdentity::parse("7 100 0f3a/pid:[4026531836]\n");
  EXPECT_EQ(read, (ProcessIdentity{7, 100, {"0f3a", kInitial, ""}}));
  EXPECT_EQ(ProcessIdentity::parse("7 100 0f3a"), (ProcessIdentity{7, 100, {"0f3a", "", ""}}));
}

TEST(ProcessIdentity, ReadsAStatLineWithAHostileName) {
  FakeRoot root("", "b", kInitial);
  root.put("proc/7/stat", "7 (a) R 1 (b) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 1 2 3\n");
  EXPECT_EQ(ProcessIdentity::of(7, root.path()), (ProcessIdentity{7, 98765, {"b", kInitial, ""}}));
  root.put("proc/7/stat", "7 (a) Z 1 7 7 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 98765 1\n");
  EXPECT_FALSE(ProcessIdentity::of(7, root.path())) << "a zombie is none";
  root.put("proc/7/stat", "7 (a");
  EXPECT_FALSE(ProcessIdentity::of(7, root.path()));
}

TEST(ProcessIdentity, TheMachinesIdIsNotTold) {
  const FakeRoot root("c0ffee", "b", kInitial);
  const ProcessSpace here = ProcessSpace::here(root.path());
  EXPECT_THAT(here.machine_id, SizeIs(16));
  EXPECT_THAT(here.machine_id, testing::Not(testing::HasSubstr("c0ffee")));
  EXPECT_NE(here, ProcessSpace::here(FakeRoot("c0ffef", "b", kInitial).path()));
  FakeRoot older("", "b", kInitial);
  EXPECT_EQ(ProcessSpace::here(older.path()).machine_id, "");
  older.put("etc/machine-id", "uninitialized\n");
  EXPECT_EQ(ProcessSpace::here(older.path()).machine_id, "") << "an image that was never started";
  older.put("var/lib/dbus/machine-id", fmt::format("{:0>32}\n", "c0ffee"));
  EXPECT_EQ(ProcessSpace::here(older.path()).machine_id, here.machine_id);
}

TEST(Whereabouts, OfTheSameBootAndNamespaceAreKnown) {
  FakeRoot root("a", "b", kInitial);
  EXPECT_EQ(root.noted().whereabouts(root.path()), Whereabouts::gone);
  root.process(7, 101);
  EXPECT_EQ(root.noted().whereabouts(root.path()), Whereabouts::gone) << "the number is another's now";
  root.process(7, 100);
  EXPECT_EQ(root.noted().whereabouts(root.path()), Whereabouts::lives);
  const FakeRoot container("", "b", "pid:[4026532001]");
  EXPECT_EQ(container.noted().whereabouts(container.path()), Whereabouts::gone);
  ProcessIdentity older = root.noted();
  older.space.machine_id.clear();
  root.process(7, 101);
  EXPECT_EQ(older.whereabouts(root.path()), Whereabouts::gone) << "of a version that wrote no machine";
}

TEST(Whereabouts, OfAnotherMachineOrContainerAreNot) {
  const FakeRoot one("a", "b1", kInitial);
  EXPECT_EQ(FakeRoot("c", "b2", kInitial).noted().whereabouts(one.path()), Whereabouts::unknown);
  EXPECT_EQ(FakeRoot("", "b2", kInitial).noted().whereabouts(one.path()), Whereabouts::unknown)
      << "no id: it may be any machine";
  EXPECT_EQ(FakeRoot("a", "b1", "pid:[4026532001]").noted().whereabouts(one.path()), Whereabouts::unknown)
      << "a container on this machine";
  const FakeRoot container("i", "b1", "pid:[4026532001]");
  EXPECT_EQ(FakeRoot("i", "b1", "pid:[4026532002]").noted().whereabouts(container.path()),
            Whereabouts::unknown)
      << "another container of the same image";
  EXPECT_EQ(FakeRoot("i", "b2", "pid:[4026532001]").noted().whereabouts(container.path()),
            Whereabouts::unknown)
      << "a container of the same image on another machine";
  EXPECT_EQ(FakeRoot("i", "b2", kInitial).noted().whereabouts(container.path()), Whereabouts::unknown);
  EXPECT_EQ(FakeRoot("a", "", kInitial).noted().whereabouts(one.path()), Whereabouts::unknown);
}

TEST(Whereabouts, AfterARestartAreKnownOutsideContainers) {
  const FakeRoot before("a", "b1", kInitial);
  FakeRoot after("a", "b2", kInitial);
  after.process(7, 100);
  EXPECT_EQ(before.noted().whereabouts(after.path()), Whereabouts::restarted)
      << "the same number and tick, by chance";
  ProcessIdentity older = before.noted();
  older.space.machine_id.clear();
  EXPECT_EQ(older.whereabouts(after.path()), Whereabouts::unknown) << "it may be of another machine";
}

}  // namespace
}  // namespace plimsoll::running
