#include "plan/cluster/replay.hpp"

#include <gmock/gmock.h>

namespace plimsoll::plan::cluster {
namespace {

/// Any cluster and any pods, also such as do not fit.
struct AnyTrace {
  Cluster cluster;
  Workload workload;

  explicit AnyTrace(std::uint64_t seed) {
    Random random(seed);
    cluster.models = {"A", "B", "C"};
    for (std::uint64_t i = 0; i < 1 + random.below(12); ++i) {
      Node node{.cpu = static_cast<std::int64_t>(random.below(100'000)),
                .memory = static_cast<std::int64_t>(random.below(100'000)),
                .gpu_count = static_cast<std::uint8_t>(1 + random.below(kMostGpus)),
                .model = static_cast<std::uint8_t>(random.below(3))};
      std::fill_n(node.milli.begin(), node.gpu_count, static_cast<std::int16_t>(kWholeGpu));
      cluster.nodes.push_back(node);
      cluster.names.push_back(fmt::format("n{}", i));
    }
    for (std::uint64_t i = 0; i < 1 + random.below(12); ++i) {
      Pod pod{.cpu = static_cast<std::int64_t>(random.below(20'000)),
              .memory = static_cast<std::int64_t>(random.below(20'000)),
              .gpus = i == 0 ? 1 : static_cast<int>(random.below(4))};
      if (pod.gpus > 0) pod.milli = pod.gpus == 1 ? static_cast<int>(1 + random.below(1000)) : kWholeGpu;
      if (random.below(3) == 0) pod.models = 1 + random.below(7);
      workload.kinds.push_back(pod);
    }
    for (std::uint32_t i = 0; i < 40; ++i)
      workload.pods.push_back(i == 0 ? 0 : static_cast<std::uint32_t>(random.below(workload.kinds.size())));
  }
};

TEST(ClusterReplay, NothingIsGivenTwice) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const AnyTrace trace(seed);
    for (const Policy& policy : policies()) {
      const auto done = replay(trace.cluster, trace.workload, policy, {seed, 1.3});
      ASSERT_TRUE(done) << done.error().text();
      std::int64_t free = 0;
      for (const Node& node : done->end.nodes) {
        EXPECT_GE(node.cpu, 0);
        EXPECT_GE(node.memory, 0);
        for (const int milli : node.gpus()) EXPECT_TRUE(milli >= 0 && milli <= kWholeGpu) << policy.name;
        free += node.free_milli();
      }
      // What is allocated at the end is what is no longer free.
      const double all = static_cast<double>(trace.cluster.capacity_milli());
      EXPECT_NEAR(done->allocated_at_end, 1 - static_cast<double>(free) / all, 1e-9);
      EXPECT_LE(done->allocated, 1);
      EXPECT_LE(done->refused, done->arrived);
      EXPECT_TRUE(done->fragmentation >= -1e-9 && done->fragmentation <= 1) << policy.name;
    }
  }
}

TEST(ClusterReplay, PodsThatNameAModelGetNoOther) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    AnyTrace trace(seed);
    for (Node& node : trace.cluster.nodes) node.model = 0;
    for (Pod& pod : trace.workload.kinds) pod.models = 2;  // of which there is none
    for (const Policy& policy : policies()) {
      const auto done = replay(trace.cluster, trace.workload, policy, {seed, 1.0});
      ASSERT_TRUE(done);
      EXPECT_EQ(done->allocated, 0) << policy.name;
    }
  }
}

TEST(ClusterReplay, IsTheSameFromTheSameSeed) {
  const AnyTrace trace(3);
  for (const Policy& policy : policies()) {
    const auto one = replay(trace.cluster, trace.workload, policy, {7, 1.3});
    const auto two = replay(trace.cluster, trace.workload, policy, {7, 1.3});
    EXPECT_EQ(one->end.nodes, two->end.nodes);
    EXPECT_EQ(one->allocated, two->allocated);
  }
}

TEST(ClusterReplay, ArrivalsAreAllPodsOnceAndThenAny) {
  AnyTrace trace(5);
  trace.workload.kinds = {{.gpus = 1, .milli = 10}, {.gpus = 1, .milli = 20}};
  trace.workload.pods = {0, 0, 1};
  trace.cluster.nodes.resize(1);
  trace.cluster.nodes[0].gpu_count = 1;
  auto order = *arrivals(trace.cluster, trace.workload, {1, 1.3});
  double asked = 0;
  for (const std::uint32_t kind : order) asked += trace.workload.kinds[kind].milli;
  EXPECT_GE(asked, 1300);
  EXPECT_LT(asked, 1320);
  order.resize(3);
  EXPECT_THAT(order, testing::UnorderedElementsAre(0, 0, 1));
}

TEST(ClusterReplay, RefusesWhatHasNoEnd) {
  AnyTrace trace(5);
  trace.workload.kinds.assign(trace.workload.kinds.size(), {.cpu = 1});
  EXPECT_THAT(arrivals(trace.cluster, trace.workload, {}).error().message,
              testing::HasSubstr("no pod asks for a GPU"));
  trace.workload.kinds[0] = {.gpus = 1, .milli = 1};
  trace.workload.pods.assign(100'000, 1);
  trace.workload.pods.front() = 0;
  trace.workload.kinds.resize(2);
  EXPECT_THAT(arrivals(trace.cluster, trace.workload, {}).error().message, testing::HasSubstr("so little"));
}

TEST(ClusterReplay, SummaryIsMeanAndDeviation) {
  const ReplaySummary of = summary({{.allocated = 0.8, .refused = 1}, {.allocated = 0.9, .refused = 2}});
  EXPECT_DOUBLE_EQ(of.allocated, 0.85);
  EXPECT_NEAR(of.deviation, 0.0707, 1e-4);
  EXPECT_DOUBLE_EQ(of.refused, 1.5);
}

}  // namespace
}  // namespace plimsoll::plan::cluster
