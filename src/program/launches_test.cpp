#include "program/launches.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "network/test_network.hpp"
#include "program/checkpoints.hpp"
#include "program/lowering.hpp"

namespace plimsoll::program {
namespace {

using network::Builder;
using network::Mode;
using network::TensorId;
using network::test_network::Built;
using network::test_network::built;
using network::test_network::input;

TensorId deep(Builder& b) {
  TensorId x = input(b, "x", {64, 128});
  for (int i = 0; i < 25; ++i)
    x = b.add("Tanh", "tanh" + std::to_string(i),
              {b.add("MatMul", "product" + std::to_string(i),
                     {x, b.parameter("weight" + std::to_string(i), {128, 128})})});
  return x;
}

struct Ordered {
  Program program;
  std::vector<Launch> launches;
  [[nodiscard]] std::size_t count(auto&& wanted) const {
    return static_cast<std::size_t>(std::ranges::count_if(launches, wanted));
  }
};
Ordered ordered(const network::Setting& setting) {
  const Built net = built(deep);
  Ordered out;
  out.program = lower(net.network, net.shapes, setting, {}).value();
  out.launches = launches(out.program, setting);
  return out;
}

const network::Setting kTraining{.mode = Mode::train, .loss = network::Loss::mean_square};

TEST(Launches, RecomputeASegmentBeforeItsBackwardPass) {
  network::Setting setting = kTraining;
  const Ordered plain = ordered(setting);
  setting.checkpoint = true;
  const Ordered again = ordered(setting);
  const std::vector<std::uint32_t> cuts = checkpoints(again.program);
  ASSERT_GE(cuts.size(), 3U);
  std::size_t kernels = 0;  // of all segments but the last, whose results are still there
  for (std::uint32_t i = 0; i < cuts.back(); ++i) kernels += again.program.calls[i].kernels.count;
  EXPECT_EQ(again.count([](const Launch& l) { return l.recomputed; }), kernels);
  EXPECT_EQ(again.launches.size(), plain.launches.size() + kernels);
  // From the last segment to the first, each forward in its own order, before any of its gradients.
  std::vector<std::size_t> backward_at(again.program.kernels.size(), 0);
  for (std::size_t i = 0; i < again.launches.size(); ++i)
    if (again.launches[i].phase == Phase::backward && !again.launches[i].recomputed)
      backward_at[again.launches[i].kernel] = i;
  for (std::size_t i = 0; i < again.launches.size(); ++i) {
    if (!again.launches[i].recomputed) continue;
    EXPECT_EQ(again.launches[i].phase, Phase::backward);
    for (const Call& call : again.program.calls)
      if (call.op == again.launches[i].op && call.backward_kernels.count > 0) {
        EXPECT_LT(i, backward_at[call.backward_kernels.begin]);
      }
  }
}

TEST(Launches, PassesAfterTheFirstAddTheirGradients) {
  network::Setting setting = kTraining;
  const Ordered one = ordered(setting);
  setting.accumulate = 5;
  const Ordered five = ordered(setting);
  const std::size_t pass = one.launches.size() - 1;
  EXPECT_EQ(five.program.accumulated.size(), 25U);
  EXPECT_EQ(five.launches.size(), 2 * pass + 25 + 1);
  EXPECT_EQ(five.count([](const Launch& l) { return l.passes == 4; }), pass + 25);
  EXPECT_EQ(five.count([](const Launch& l) { return l.phase == Phase::step; }), 1U);
  EXPECT_EQ(five.launches.back().phase, Phase::step) << "one step for all passes";
  // A gradient is added as soon as it is whole: after the product that makes it.
  const Call& last = *std::ranges::find_if(five.program.calls.rbegin(), five.program.calls.rend(),
                                           [](const Call& c) { return c.op == 48; });
  const auto second_pass = std::ranges::find_if(five.launches, [&](const Launch& l) {
    return l.passes == 4 && l.kernel == last.backward_kernels.begin + last.backward_kernels.count - 1;
  });
  ASSERT_NE(second_pass, five.launches.end());
  EXPECT_TRUE(std::next(second_pass)->sums_gradients);
}

TEST(Launches, ManyPassesAreToldOnce) {
  network::Setting setting = kTraining;
  setting.accumulate = 2;
  const std::size_t two = ordered(setting).launches.size();
  setting.accumulate = 1 << 20;
  const Ordered many = ordered(setting);
  EXPECT_EQ(many.launches.size(), two);
  EXPECT_EQ(many.launches[two - 2].passes, (1U << 20) - 1);
}

TEST(Launches, InferenceKnowsNeither) {
  network::Setting setting;
  const std::size_t plain = ordered(setting).launches.size();
  setting.checkpoint = true;
  setting.accumulate = 4;
  EXPECT_EQ(ordered(setting).launches.size(), plain);
}

TEST(Launches, DividedStateIsUpdatedInParts) {
  network::Setting setting = kTraining;
  setting.accumulate = 2;
  setting.devices = 8;
  const auto elements = [&](network::Sharding sharding) {
    setting.sharding = sharding;
    const Ordered step = ordered(setting);
    return std::pair(step.program.kernels[step.program.update.begin].extents[1],
                     step.program.kernels[step.program.accumulation.begin].extents[0]);
  };
  using enum network::Sharding;
  constexpr std::int64_t kWeight = 128 * 128;
  EXPECT_EQ(elements(data_parallel), std::pair(25 * kWeight, kWeight));
  EXPECT_EQ(elements(none), elements(data_parallel)) << "who shares nothing holds everything";
  EXPECT_EQ(elements(zero1), std::pair(25 * kWeight / 8, kWeight));
  EXPECT_EQ(elements(zero2), std::pair(25 * kWeight / 8, kWeight / 8));
  EXPECT_EQ(elements(zero3), elements(zero2));
}

}  // namespace
}  // namespace plimsoll::program
