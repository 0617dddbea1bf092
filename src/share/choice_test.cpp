#include "share/choice.hpp"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "share/matrix.hpp"
#include "share/test_workloads.hpp"

namespace plimsoll::share {
namespace {

using testing::HasSubstr;

TEST(Choose, CapsTheLongKernelsWhereShortOnesStarve) {
  const Workload big = captured("big", kernels_alike(20, 400, 8));
  const Workload small = captured("small", kernels_alike(174, 4.6, 0.05));
  const std::array both = {&small, &big};
  const hardware::Device device = device_named("h200");
  const auto choice = choose(both, device, sharing_figures(device), {}, Goal::fairness, {});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->ways.front().sharing.way, Way::mps);
  EXPECT_FALSE(choice->ways.front().sharing.caps.empty());
  EXPECT_GT(choice->ways.front().slowest(), 0.5);
  EXPECT_THAT(choice->why, HasSubstr("leaves the slowest most of its speed"));
}

TEST(Choose, KeepsWhatIsAskedForAndSaysWhereItCannot) {
  const Workload mid = captured("mid", kernels_alike(100, 60, 1));
  const std::array both = {&mid, &mid};
  const hardware::Device device = device_named("h200");
  const std::array most = {Keep{0, 0.6}};
  const auto kept = choose(both, device, sharing_figures(device), {}, Goal::throughput, most);
  ASSERT_TRUE(kept);
  EXPECT_TRUE(kept->kept);
  EXPECT_GE(kept->ways.front().members[0].speed, 0.6);
  const std::array all = {Keep{0, 0.9}, Keep{1, 0.9}};
  const auto not_kept = choose(both, device, sharing_figures(device), {}, Goal::throughput, all);
  ASSERT_TRUE(not_kept);
  EXPECT_FALSE(not_kept->kept);
  EXPECT_THAT(not_kept->why, HasSubstr("none keeps"));
}

TEST(Room, IsOfAllTogetherOrOfEachInItsSlice) {
  Workload one = captured("one", kernels_alike(10, 10, 1)), two = one;
  hardware::Device device = device_named("h200");
  device.usable_memory->value = static_cast<double>((4 * kGiB).count());
  one.memory = kGiB;
  two.memory = 3 * kGiB;
  const std::array both = {&one, &two};
  Beside way{.sharing = {.way = Way::mps}, .members = {Member(), Member()}};
  EXPECT_TRUE(has_room(way, both, device));
  two.memory = 4 * kGiB;
  EXPECT_FALSE(has_room(way, both, device));
  way.sharing.way = Way::exclusive;
  EXPECT_TRUE(has_room(way, both, device));
  way.sharing.way = Way::mig;
  way.members[1].capacity = 4 * kGiB;
  EXPECT_TRUE(has_room(way, both, device));
  way.members[0].capacity = Bytes(1000);
  EXPECT_FALSE(has_room(way, both, device));
}

TEST(Matrix, IsWhatPairsAre) {
  const Workload big = captured("big", kernels_alike(20, 400, 8));
  const Workload mid = captured("mid", kernels_alike(100, 60, 1));
  const Workload small = captured("small", kernels_alike(174, 4.6, 0.05));
  const std::array all = {&big, &mid, &small};
  const hardware::Device device = device_named("h200");
  const auto pairs = matrix(all, device, {.way = Way::naive}, sharing_figures(device));
  ASSERT_TRUE(pairs);
  const std::array two = {&big, &mid};
  const auto way = beside(two, device, {.way = Way::naive}, sharing_figures(device));
  EXPECT_EQ(pairs->speed(0, 1), way->members[0].speed);
  EXPECT_EQ(pairs->speed(1, 0), way->members[1].speed);
  EXPECT_TRUE(pairs->best_partner(0));
}

}  // namespace
}  // namespace plimsoll::share
