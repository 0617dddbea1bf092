#include "run/errands.hpp"

#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

namespace plimsoll::running {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Until something was delivered.
void serve(Errands& errands) {
  pollfd ready{errands.descriptor(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, 300'000), 1);
  errands.deliver();
}

TEST(Errands, WhatFollowsIsDoneByTheLoop) {
  Errands errands;
  const auto loop = std::this_thread::get_id();
  std::thread::id worked;
  std::thread::id followed;
  errands.send("a", "something", [&]() -> Errands::Then {
    worked = std::this_thread::get_id();
    return [&] { followed = std::this_thread::get_id(); };
  });
  while (followed == std::thread::id()) serve(errands);
  EXPECT_TRUE(worked != loop);
  EXPECT_TRUE(followed == loop);
  EXPECT_THAT(errands.under_way(), IsEmpty());
}

TEST(Errands, ALaneKeepsItsOrderAndOneThatHangsHoldsUpNoOther) {
  Errands errands;
  std::promise<void> gate;
  std::vector<std::string> order;
  const auto note = [&](const std::string& text) -> Errands::Work {
    return [&order, text]() -> Errands::Then { return [&order, text] { order.push_back(text); }; };
  };
  errands.send("slow", "the gate", [&]() -> Errands::Then {
    gate.get_future().wait();
    return [&] { order.emplace_back("gate"); };
  });
  errands.send("slow", "behind it", note("behind"));
  errands.send("quick", "first", note("first"));
  errands.send("quick", "second", note("second"));
  while (order.size() < 2) serve(errands);
  EXPECT_THAT(order, ElementsAre("first", "second"));
  EXPECT_THAT(errands.under_way(), ElementsAre("the gate", "behind it"));
  gate.set_value();
  while (order.size() < 4) serve(errands);
  EXPECT_THAT(order, ElementsAre("first", "second", "gate", "behind"));
}

TEST(Errands, ItsEndDoesNotWaitForALaneThatHangs) {
  auto gate = std::make_shared<std::promise<void>>();
  auto begun = std::make_shared<std::promise<void>>();
  auto ended = std::make_shared<std::promise<void>>();
  {
    Errands errands;
    errands.send("slow", "the gate", [=]() -> Errands::Then {
      begun->set_value();
      gate->get_future().wait();
      ended->set_value();
      return {};
    });
    begun->get_future().wait();
  }
  gate->set_value();  // only now: the end above came first
  EXPECT_EQ(ended->get_future().wait_for(std::chrono::minutes(5)), std::future_status::ready);
}

}  // namespace
}  // namespace plimsoll::running
