#include "estimate/time/communication.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimate/test_estimates.hpp"
#include "hardware/catalogue.hpp"
#include "network/zoo/zoo.hpp"

namespace plimsoll::estimate {
namespace {

using network::Sharding;
using testing::HasSubstr;

constexpr KnownLink kLink{.link = {BytesPerSecond(100e9), Seconds(5e-6)}, .latency_known = true};
constexpr Bytes kGradients{1'000'000'000};

Exchange exchanged() {
  return {.gradients = kGradients,
          .weights = kGradients,
          .again = {},
          .first = Bytes(100'000'000),
          .layers = 10,
          .layers_again = 0};
}

CommunicationTime of(Sharding sharding, std::int64_t devices, PassTimes beside) {
  return communication_of(exchanged(), sharding, devices, kLink, beside);
}

TEST(Communication, SumsGradientsInBucketsByRing) {
  const auto time = of(Sharding::data_parallel, 8, {Seconds(0), Seconds(0), 1});
  // 2 (n-1)/n W/B, and 2 (n-1) messages for each of 39 buckets of 25 MiB.
  const double bytes = 2 * 7.0 / 8 * 1e9 / 100e9, messages = 39 * 2 * 7 * 5e-6;
  EXPECT_NEAR(time.seconds.value(), bytes + messages, 1e-9);
  EXPECT_EQ(time.exposed, time.seconds) << "there is nothing to hide behind";
  EXPECT_DOUBLE_EQ(time.bytes, 2 * 7.0 / 8 * 1e9);
}

TEST(Communication, IntervalReachesFromFullOverlapToNone) {
  const auto hidden = of(Sharding::data_parallel, 8, {Seconds(1), Seconds(2), 1});
  EXPECT_EQ(hidden.low, Seconds(0));
  EXPECT_GT(hidden.exposed, Seconds(0)) << "the last bucket is ready only at the end";
  EXPECT_LT(hidden.exposed, hidden.high / 30);
  EXPECT_EQ(hidden.high, hidden.seconds);
  const auto half = of(Sharding::data_parallel, 8, {Seconds(1), Seconds(0.01), 1});
  EXPECT_NEAR((half.seconds - half.exposed).value(), 0.01, 1e-12);
  EXPECT_EQ(half.low, half.exposed);
}

TEST(Communication, StagesSendMore) {
  const PassTimes busy{Seconds(0), Seconds(0), 1};
  const double once = 7.0 / 8 * 1e9;
  EXPECT_DOUBLE_EQ(of(Sharding::zero1, 8, busy).bytes, 2 * once);
  EXPECT_DOUBLE_EQ(of(Sharding::zero2, 8, busy).bytes, 2 * once);
  EXPECT_DOUBLE_EQ(of(Sharding::zero3, 8, busy).bytes, 3 * once)
      << "weights forward and backward, and the gradients";
  EXPECT_EQ(of(Sharding::zero3, 1, busy).seconds, Seconds(0));
  EXPECT_EQ(of(Sharding::none, 8, busy).seconds, Seconds(0));
}

TEST(Communication, OfSeveralPassesWholeGradientsAreSummedOnce) {
  const PassTimes one{Seconds(0), Seconds(0), 1}, four{Seconds(0), Seconds(0), 4};
  const auto ratio = [&](Sharding sharding) {
    return of(sharding, 8, four).bytes / of(sharding, 8, one).bytes;
  };
  EXPECT_DOUBLE_EQ(ratio(Sharding::data_parallel), 1);
  EXPECT_DOUBLE_EQ(ratio(Sharding::zero1), 1);
  EXPECT_DOUBLE_EQ(ratio(Sharding::zero2), 5.0 / 2) << "divided gradients in every pass, weights once";
  EXPECT_DOUBLE_EQ(ratio(Sharding::zero3), 4);
}

// ---- Links

const hardware::Device& listed(std::string_view id) {
  for (const hardware::Device& device : hardware::built_in_catalogue()->devices())
    if (device.id == id) return device;
  ADD_FAILURE() << id;
  return hardware::built_in_catalogue()->devices().front();
}

TEST(Links, WithinAMachineIsHalfOfWhatTheDatasheetAdds) {
  const auto link = link_between(listed("h200"), {}, 8);
  ASSERT_TRUE(link) << link.error().text();
  EXPECT_DOUBLE_EQ(link->link.bandwidth.value(), 450e9);
  EXPECT_FALSE(link->latency_known);
}

TEST(Links, AreUnknownWithoutAFigureAndBetweenMachines) {
  const auto none = link_between(listed("t4"), {}, 2);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().text(), HasSubstr("not known"));
  EXPECT_THAT(none.error().hint, HasSubstr("--link"));
  const auto between = link_between(listed("h200"), {}, 9);
  ASSERT_FALSE(between);
  EXPECT_THAT(between.error().text(), HasSubstr("machines"));
  EXPECT_TRUE(link_between(listed("h200"), {.devices_per_machine = 16}, 9));
  const auto given = link_between(listed("t4"), {.bandwidth = 5e10, .latency = 1e-6}, 1024);
  ASSERT_TRUE(given);
  EXPECT_DOUBLE_EQ(given->link.bandwidth.value(), 5e10);
  EXPECT_TRUE(given->latency_known);
}

// ---- Whole steps

struct Trained {
  network::Network network = network::zoo::build("gpt2:layers=4", network::Mode::train).value();
  network::Shapes shapes =
      network::infer(network, network::bind(network, {.batch = 4, .sequence = 128}).value()).value();
  [[nodiscard]] Result<TimeEstimate> step(auto&& change, std::string_view device = "h200") const {
    network::Setting setting{.mode = network::Mode::train,
                             .precision = network::Precision::amp_bf16,
                             .optimizer = network::Optimizer::adam};
    change(setting);
    return time_of(network, shapes, setting, {&listed(device), nullptr});
  }
};

TEST(StepTime, AccumulatesPassesAndStepsOnce) {
  const Trained model;
  const auto one = model.step([](auto&) {});
  const auto eight = model.step([](auto& s) { s.accumulate = 8; });
  ASSERT_TRUE(one && eight);
  EXPECT_EQ(eight->passes, 8);
  EXPECT_DOUBLE_EQ(eight->forward.value(), 8 * one->forward.value());
  EXPECT_GT(eight->backward, 8 * one->backward) << "gradients are added";
  EXPECT_LT(eight->backward, 10 * one->backward);
  EXPECT_EQ(eight->optimizer, one->optimizer);
  EXPECT_NEAR(eight->seconds.value(), (eight->forward + eight->backward + eight->optimizer).value(), 1e-9);
  double layers = 0;
  for (const LayerTime& layer : eight->layers) layers += (layer.forward + layer.backward).value();
  EXPECT_NEAR(eight->seconds.value(), layers, 1e-9);
  EXPECT_GT(*eight->joules, 7 * (*one->joules - Watts(700) * one->optimizer));
  EXPECT_GT(eight->eager, 7 * one->eager - 8 * one->optimizer);
  EXPECT_EQ(eight->samples(4), 32);
}

TEST(StepTime, RecomputationTakesAboutAnotherForward) {
  const Trained model;
  const auto plain = model.step([](auto&) {});
  const auto again = model.step([](auto& s) { s.checkpoint = true; });
  ASSERT_TRUE(plain && again);
  EXPECT_GT(again->recomputed, 0.3 * plain->forward);
  EXPECT_LT(again->recomputed, plain->forward);
  EXPECT_NEAR(again->seconds.value(), (plain->seconds + again->recomputed).value(), 1e-9);
  EXPECT_EQ(again->forward, plain->forward);
  EXPECT_GT(*again->joules, *plain->joules);
}

TEST(StepTime, OfSeveralHasCommunicationAndDividedUpdates) {
  const Trained model;
  const auto alone = model.step([](auto&) {});
  const auto on = [&](Sharding sharding) {
    return model.step([&](auto& s) {
      s.devices = 8;
      s.sharding = sharding;
    });
  };
  const auto data = on(Sharding::data_parallel), first = on(Sharding::zero1), third = on(Sharding::zero3);
  ASSERT_TRUE(alone && data && first && third);
  EXPECT_FALSE(alone->communication);
  ASSERT_TRUE(data->communication);
  EXPECT_EQ(data->devices, 8);
  EXPECT_NEAR(data->seconds.value(), (alone->seconds + data->communication->exposed).value(), 1e-9);
  EXPECT_LT(first->optimizer, alone->optimizer / 4);
  EXPECT_LT(third->forward, alone->forward) << "weights are cast in parts";
  EXPECT_LE(third->low, third->seconds);
  EXPECT_GE(third->high, third->seconds + third->communication->high - third->communication->exposed);
  const auto unsaid = on(Sharding::none);
  ASSERT_TRUE(unsaid);
  EXPECT_EQ(unsaid->seconds, data->seconds);
}

TEST(StepTime, IsUnknownWithoutALinkNeverZero) {
  const Trained model;
  const auto step = model.step([](auto& s) { s.devices = 2; }, "t4");
  ASSERT_FALSE(step);
  EXPECT_THAT(step.error().text(), HasSubstr("not known"));
  EXPECT_THAT(step.error().hint, HasSubstr("Computing alone takes"));
}

}  // namespace
}  // namespace plimsoll::estimate
