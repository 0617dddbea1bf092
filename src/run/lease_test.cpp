#include "run/lease.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "base/files.hpp"

namespace plimsoll::running {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct FakeClock {
  double now = 1000;
  std::string boot = "this-boot";
  BootClock clock() {
    return {.now = [this] { return Seconds(now); }, .boot = [this] { return boot; }};
  }
};

TEST(Lease, TextGoesBothWays) {
  const Lease lease{"b2c0-11", Seconds(1234.5)};
  EXPECT_EQ(lease.text(), "b2c0-11 1234.500\n");
  EXPECT_EQ(Lease::parse(lease.text()), lease);
  EXPECT_EQ(Lease::parse("b 7"), (Lease{"b", Seconds(7)}));
  for (const char* text : {"", "b", " 7", "b x", "b 7 8", "b -1", "b nan", "b inf", "b 1e999"})
    EXPECT_EQ(Lease::parse(text), std::nullopt) << text;
}

TEST(Lease, ItsCommandIsAskedEarlyEnoughToBeGone) {
  FakeClock fake;
  LeaseWatch watch(fake.clock(), Seconds(60), seconds(10));
  watch.note(Lease{"this-boot", Seconds(1100)});
  EXPECT_FALSE(watch.is_over());
  EXPECT_EQ(watch.next_look(), seconds(2)) << "it may be made shorter";
  fake.now = 1086.5;
  EXPECT_FALSE(watch.is_over());
  EXPECT_EQ(watch.next_look(), seconds(1)) << "half a second before it would have to end";
  fake.now = 1088;
  EXPECT_TRUE(watch.is_over()) << "ten seconds of grace, and two to be gone";
  EXPECT_EQ(watch.grace_left(), seconds(10));
  EXPECT_EQ(watch.next_look(), milliseconds(100));
  fake.now = 1095;
  EXPECT_EQ(watch.grace_left(), seconds(3));
  fake.now = 5000;  // the machine slept
  EXPECT_EQ(watch.grace_left(), seconds(0));
  watch.note(Lease{"this-boot", Seconds(6000)});
  EXPECT_FALSE(watch.is_over());
}

TEST(Lease, WhatCannotBeReadRunsOutAfterAWhile) {
  FakeClock fake;
  LeaseWatch watch(fake.clock(), Seconds(60), seconds(10));
  watch.note(std::nullopt);
  watch.note(Lease{"another-boot", Seconds(1e9)});
  fake.now = 1047;
  EXPECT_FALSE(watch.is_over());
  fake.now = 1048;
  EXPECT_TRUE(watch.is_over());
  watch.note(Lease{"this-boot", Seconds(1200)});
  watch.note(std::nullopt);
  EXPECT_EQ(watch.until(), Seconds(1200)) << "what was known holds";
}

TEST(Lease, WithoutAKnownBootNoLeaseCounts) {
  FakeClock fake{.boot = ""};
  LeaseWatch watch(fake.clock(), Seconds(20), seconds(1));
  watch.note(Lease{"", Seconds(1e9)});
  EXPECT_EQ(watch.until(), Seconds(1020));
}

TEST(Lease, TheMachinesBootIsReadBelowItsRoot) {
  const auto root = TemporaryDirectory::make();
  ASSERT_TRUE(root);
  const std::filesystem::path folder = root->path() / "proc/sys/kernel/random";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "boot_id") << "0a1b-2c\n";
  const BootClock clock = BootClock::of_machine(root->path());
  EXPECT_EQ(clock.boot(), "0a1b-2c");
  const Seconds before = clock.now();
  EXPECT_LE(before, clock.now());
}

}  // namespace
}  // namespace plimsoll::running
