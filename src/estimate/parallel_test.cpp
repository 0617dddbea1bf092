#include "estimate/parallel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::estimate {
namespace {

using testing::HasSubstr;

constexpr Link kNoLatency{BytesPerSecond(1e9), Seconds(0)};
constexpr Bytes kGigabyte{1'000'000'000};  // one second over the link

double seconds(Communication c, std::int64_t n, const Link& link = kNoLatency, std::int64_t servers = 1) {
  return all_reduce(c, kGigabyte, n, link, servers).value();
}

TEST(AllReduce, BandwidthTerms) {
  using enum Communication;
  for (const Communication c : {ring, tree, butterfly, halving_doubling, parameter_server})
    EXPECT_EQ(seconds(c, 1), 0) << name(c) << ": nobody to talk to";
  EXPECT_DOUBLE_EQ(seconds(ring, 8), 2 * 7.0 / 8);
  EXPECT_DOUBLE_EQ(seconds(tree, 8), 6) << "PALEO: 2 ceil(log2 n)";
  EXPECT_DOUBLE_EQ(seconds(tree, 5), 6);
  EXPECT_DOUBLE_EQ(seconds(butterfly, 8), 3) << "PALEO: log2 n";
  EXPECT_DOUBLE_EQ(seconds(halving_doubling, 8), 2 * 7.0 / 8) << "as little as the ring";
  EXPECT_DOUBLE_EQ(seconds(parameter_server, 8), 14) << "PALEO's one-to-all: 2 (n - 1)";
  EXPECT_DOUBLE_EQ(seconds(parameter_server, 8, kNoLatency, 8), seconds(ring, 8))
      << "every worker a server: as little as the ring";
  EXPECT_DOUBLE_EQ(seconds(parameter_server, 8, kNoLatency, 100),
                   seconds(parameter_server, 8, kNoLatency, 8));
  EXPECT_DOUBLE_EQ(seconds(ring, 2), 1);
}

TEST(AllReduce, NumbersThatAreNoPowerOfTwoFoldFirst) {
  using enum Communication;
  EXPECT_DOUBLE_EQ(seconds(butterfly, 6), 2 + 2) << "two rounds of four, in and out for the other two";
  EXPECT_DOUBLE_EQ(seconds(halving_doubling, 6), 2 * 3.0 / 4 + 2);
}

TEST(AllReduce, LatencyTerms) {
  using enum Communication;
  const Link slow{BytesPerSecond(1e9), Seconds(0.1)};
  const auto extra = [&](Communication c, std::int64_t n) { return seconds(c, n, slow) - seconds(c, n); };
  EXPECT_NEAR(extra(ring, 8), 14 * 0.1, 1e-12) << "a ring's grows with n";
  EXPECT_NEAR(extra(tree, 8), 6 * 0.1, 1e-12);
  EXPECT_NEAR(extra(butterfly, 8), 3 * 0.1, 1e-12);
  EXPECT_NEAR(extra(halving_doubling, 8), 6 * 0.1, 1e-12);
  EXPECT_NEAR(extra(parameter_server, 8), 2 * 0.1, 1e-12);
  // Small messages over many devices: the tree beats the ring, as NCCL finds.
  const Bytes small(1000);
  EXPECT_LT(all_reduce(tree, small, 256, slow), all_reduce(ring, small, 256, slow));
}

ParallelSetting setting() {
  return {.link = kNoLatency, .gradients = kGigabyte};
}
const StepTime kStep{Seconds(1), Seconds(2), Seconds(0.5)};

TEST(Parallel, WhatOverlapHides) {
  ParallelSetting s = setting();
  const StepOf step = proportional(kStep, 64);
  const auto at = [&](double overlap) {
    s.overlap = overlap;
    return *parallel_step(s, 8, 64, step);
  };
  EXPECT_DOUBLE_EQ(at(0).communication.value(), 1.75);
  EXPECT_DOUBLE_EQ(at(0).step.value(), 3.5 + 1.75);
  EXPECT_DOUBLE_EQ(at(0.5).step.value(), 3.5 + 0.75) << "behind half of two seconds of backward";
  EXPECT_DOUBLE_EQ(at(1).step.value(), 3.5);
  EXPECT_DOUBLE_EQ(at(1).global_batch, 512);
}

TEST(Parallel, StrongAndWeakScaling) {
  const ParallelSetting s = setting();
  const StepOf step = proportional({Seconds(1), Seconds(2), Seconds(0)}, 64);
  const std::int64_t devices[] = {1, 2, 4};
  const auto strong = scaling(s, Scaling::strong, 64, devices, step);
  ASSERT_TRUE(strong);
  EXPECT_DOUBLE_EQ((*strong)[0].speedup, 1);
  EXPECT_DOUBLE_EQ((*strong)[2].local_batch, 16);
  EXPECT_DOUBLE_EQ((*strong)[2].step.value(), 0.75 + 1.5);
  EXPECT_DOUBLE_EQ((*strong)[2].speedup, 3 / 2.25);
  const auto weak = scaling(s, Scaling::weak, 64, devices, step);
  ASSERT_TRUE(weak);
  EXPECT_DOUBLE_EQ((*weak)[2].step.value(), 3 + 1.5);
  EXPECT_DOUBLE_EQ((*weak)[2].efficiency, 3 / 4.5);
  const std::int64_t many[] = {128};
  EXPECT_THAT(scaling(s, Scaling::strong, 64, many, step).error().message, HasSubstr("cannot be divided"));
}

TEST(Parallel, PipelinesAndTensorsSplitTheNetwork) {
  ParallelSetting s = setting();
  s.split = {.tensor = 2,
             .pipeline = 4,
             .micro_batches = 8,
             .tensor_sums_per_sample = Bytes(10'000'000),
             .between_stages_per_sample = Bytes(8'000'000)};
  const auto row = parallel_step(s, 16, 64, proportional({Seconds(8), Seconds(16), Seconds(0)}, 64));
  ASSERT_TRUE(row);
  EXPECT_DOUBLE_EQ(row->compute.value(), 24.0 / 8);
  EXPECT_DOUBLE_EQ(row->bubble.value(), 24.0 / 8 * 3 / 8) << "GPipe: (p - 1) / k";
  // 0.64 s of sums over two devices, a quarter of the layers each; 0.064 s a micro-batch, three hops, both
  // ways.
  EXPECT_DOUBLE_EQ(row->inner.value(), 0.64 / 4 + 6 * 0.064);
  EXPECT_DOUBLE_EQ(row->communication.value(), 0.125) << "an eighth of the gradients over two replicas";
  EXPECT_DOUBLE_EQ(row->global_batch, 128);
  EXPECT_THAT(parallel_step(s, 12, 64, proportional(kStep, 64)).error().message, HasSubstr("do not divide"));
}

TEST(Parallel, NamesRoundTrip) {
  for (const char* text : {"ring", "tree", "butterfly", "halving-doubling", "parameter-server"}) {
    const auto named = communication_named(text);
    ASSERT_TRUE(named) << text;
    EXPECT_EQ(name(*named), text);
  }
  EXPECT_FALSE(communication_named("star"));
}

}  // namespace
}  // namespace plimsoll::estimate
