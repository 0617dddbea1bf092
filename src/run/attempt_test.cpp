#include "run/attempt.hpp"

#include <cstdlib>
#include <functional>

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/supervision.hpp"

namespace plimsoll::running {
namespace {

using testing::HasSubstr;

Attempt attempt() {
  return {.folder = "/var/lib/plimsoll/attempts/7.2",
          .leased = true,
          .lease_patience = Seconds(30),
          .user = Attempt::User{.user = 1000, .group = 100, .groups = {100, 27}},
          .environment = Variables{{"A", "b=c"}, {"B", "\xff"}, {"C", ""}},
          .umask = 077,
          .shared_as = "mps"};
}

TEST(Attempt, ComesOverWholeWithItsOrder) {
  Order order;
  order.jobs = {JobSpec{.command = {"true"}}};
  order.attempt = attempt();
  const auto read = read_order(order_json(order));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->attempt, order.attempt);
  order.attempt = Attempt{.folder = "/a"};
  EXPECT_EQ(read_order(order_json(order))->attempt, order.attempt);
  order.attempt.reset();
  EXPECT_EQ(read_order(order_json(order))->attempt, std::nullopt);
}

TEST(Attempt, WhatIsNoneIsRefused) {
  const auto refused = [](const auto& change) {
    job::Json message = attempt_json(attempt());
    change(message);
    const auto read = read_attempt(message);
    return read ? std::string() : read.error().text();
  };
  EXPECT_EQ(refused([](job::Json&) {}), "");
  EXPECT_THAT(refused([](job::Json& m) { m["folder"] = "attempts/1"; }), HasSubstr("folder"));
  EXPECT_THAT(refused([](job::Json& m) { m["umask"] = 01000; }), HasSubstr("umask"));
  EXPECT_THAT(refused([](job::Json& m) { m["shared_as"] = "somehow"; }), HasSubstr("somehow"));
  EXPECT_THAT(refused([](job::Json& m) { m["user"]["user"] = -1; }), HasSubstr("user"));
  EXPECT_THAT(refused([](job::Json& m) { m["user"]["group"] = 4294967295; }), HasSubstr("group"));
  EXPECT_THAT(refused([](job::Json& m) { m["environment"] = {{"A=B", "c"}}; }), HasSubstr("environment"));
  EXPECT_THAT(refused([](job::Json& m) { m["environment"] = {{"A"}}; }), HasSubstr("environment"));
}

TEST(Attempt, IsOfOneJobTriedOnce) {
  Order order;
  order.jobs = {JobSpec{.command = {"true"}}, JobSpec{.command = {"true"}}};
  order.attempt = attempt();
  EXPECT_FALSE(read_order(order_json(order)));
  order.jobs.pop_back();
  order.options.retry_out_of_memory = true;
  EXPECT_FALSE(read_order(order_json(order)));
}

/// What the function says in a process of its own.
int in_another_process(const std::function<bool()>& function) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(function() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(Attempt, TheEnvironmentIsReplacedWhole) {
  EXPECT_EQ(in_another_process([] {
              ::setenv("PLIMSOLL_OF_THE_DAEMON", "secret", 1);
              return replace_environment({{"A", "b"}}).has_value() &&
                     std::getenv("PLIMSOLL_OF_THE_DAEMON") == nullptr && std::getenv("PATH") == nullptr &&
                     std::string_view(std::getenv("A")) == "b";
            }),
            0);
}

TEST(Attempt, RootBecomesAUserForGood) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  EXPECT_EQ(in_another_process([] {
              if (!become({.user = 64001, .group = 64001, .groups = {64003}})) return false;
              gid_t group = 0;
              return ::getuid() == 64001 && ::geteuid() == 64001 && ::getgid() == 64001 &&
                     ::getgroups(1, &group) == 1 && group == 64003 && ::setuid(0) != 0 && ::setgid(0) != 0 &&
                     ::setgroups(0, nullptr) != 0;
            }),
            0);
}

TEST(Attempt, WhoIsNotRootBecomesNobody) {
  EXPECT_EQ(in_another_process([] {
              if (::geteuid() == 0 && ::setresuid(64001, 64001, 64001) != 0) return false;
              return !become({.user = 64002, .group = 64002}).has_value();
            }),
            0);
}

}  // namespace
}  // namespace plimsoll::running
