#include "plan/cluster/policy.hpp"

#include <gmock/gmock.h>

#include "plan/cluster/fragmentation.hpp"

namespace plimsoll::plan::cluster {
namespace {

Node node_with(std::int64_t cpu, std::initializer_list<int> free, std::uint32_t kinds = 0) {
  Node node{
      .cpu = cpu, .memory = 1'000'000, .gpu_count = static_cast<std::uint8_t>(free.size()), .kinds = kinds};
  std::ranges::copy(free, node.milli.begin());
  return node;
}

Cluster cluster_of(std::vector<Node> nodes) {
  Cluster cluster{.nodes = std::move(nodes), .names = {}, .models = {"T4", "G2"}};
  cluster.names.resize(cluster.nodes.size());
  return cluster;
}

const Cluster kLargest = cluster_of({node_with(100'000, {1000, 1000, 1000, 1000})});

TEST(ClusterPolicies, BestFitLeavesLeast) {
  const Scorer scorer = best_fit_policy(kLargest, {});
  const Pod pod{.cpu = 1000, .gpus = 1, .milli = 500};
  EXPECT_GT(scorer.score(node_with(10'000, {500}), pod), scorer.score(node_with(10'000, {1000}), pod));
  EXPECT_GT(scorer.score(node_with(10'000, {500}), pod), scorer.score(node_with(90'000, {500}), pod));
  EXPECT_EQ(scorer.score(node_with(1000, {500}), pod), 100);
}

TEST(ClusterPolicies, PackingGoesByThreeSteps) {
  const Scorer scorer = packing_policy(kLargest, {});
  const Pod share{.cpu = 0, .gpus = 1, .milli = 200};
  EXPECT_EQ(scorer.score(node_with(0, {300, 1000}, 1), share), 97);  // a GPU in use, 30 % free
  EXPECT_EQ(scorer.score(node_with(0, {100, 1000}, 1), share), 49);  // a free GPU of a node in use
  EXPECT_EQ(scorer.score(node_with(0, {1000, 1000}), share), 31);    // an empty node
  const Pod two{.cpu = 0, .gpus = 2, .milli = 1000};
  EXPECT_EQ(scorer.score(node_with(0, {0, 1000, 1000}, 2), two), 48);
  EXPECT_EQ(scorer.score(node_with(0, {0, 1000, 1000}, 2), {.cpu = 1}), 0);
}

TEST(ClusterPolicies, ClusteringSeeksItsOwnKind) {
  const Scorer scorer = clustering_policy(kLargest, {});
  const Pod share{.cpu = 0, .gpus = 1, .milli = 200};
  const double alone = scorer.score(node_with(0, {500}, 1), share);
  const double among = scorer.score(node_with(0, {500}, 3), share);
  const double empty = scorer.score(node_with(0, {1000}, 0), share);
  const double others = scorer.score(node_with(0, {500}, 2), share);
  EXPECT_GT(alone, among);
  EXPECT_GT(among, empty);
  EXPECT_GT(empty, others);
}

TEST(ClusterPolicies, DotProductAvoidsWhatIsAlike) {
  const Scorer scorer = dot_product_policy(kLargest, {});
  const Pod heavy{.cpu = 50'000, .gpus = 1, .milli = 100};
  EXPECT_GT(scorer.score(node_with(60'000, {1000, 1000, 1000}), heavy),
            scorer.score(node_with(100'000, {1000}), heavy));
  EXPECT_EQ(
      scorer.score(node_with(100'000, {1000, 1000, 1000, 1000}), {.cpu = 100'000, .gpus = 4, .milli = 1000}),
      0);
}

TEST(ClusterPolicies, RandomTakesAnyGpuWithRoom) {
  const Scorer scorer = random_policy(kLargest, {});
  EXPECT_TRUE(scorer.by_lot);
  Random random(1);
  for (int i = 0; i < 50; ++i)
    EXPECT_THAT(scorer.gpu(node_with(0, {100, 600, 0, 700}), {.gpus = 1, .milli = 500}, random),
                testing::AnyOf(1, 3));
}

// Half of all pods want a whole GPU and 4 cores, half of them half a GPU and 2 cores.
const Workload kHalves{
    .kinds = {{.cpu = 4000, .gpus = 1, .milli = 1000}, {.cpu = 2000, .gpus = 1, .milli = 500}},
    .pods = {0, 1}};

TEST(ClusterPolicies, FragmentationIsWhatPodsCannotUse) {
  const Fragmentation measure(kLargest, kHalves, 1.0);
  EXPECT_DOUBLE_EQ(measure.of(node_with(10'000, {1000, 1000})), 0);
  EXPECT_DOUBLE_EQ(measure.of(node_with(10'000, {500})), 250);        // of no use to whole ones
  EXPECT_DOUBLE_EQ(measure.of(node_with(3000, {1000})), 500);         // no CPU for whole ones
  EXPECT_DOUBLE_EQ(measure.of(node_with(1000, {1000})), 1000);        // nor for halves
  EXPECT_DOUBLE_EQ(measure.of(node_with(10'000, {1000, 400})), 400);  // 400 is of use to nobody
}

TEST(ClusterPolicies, GradientAndPlimsollCompleteAGpuBeforeTheyOpenOne) {
  for (const auto prepare : {fragmentation_policy, plimsoll_policy}) {
    const Scorer scorer = prepare(kLargest, kHalves);
    const Pod half = kHalves.kinds[1];
    EXPECT_GT(scorer.score(node_with(50'000, {500, 1000}, 1), half),
              scorer.score(node_with(50'000, {1000, 1000}), half));
    Random random(1);
    EXPECT_EQ(scorer.gpu(node_with(50'000, {1000, 500}, 1), half, random), 1);
  }
}

TEST(ClusterPolicies, PlimsollKeepsCpuForFreeGpus) {
  const Scorer scorer = plimsoll_policy(kLargest, kHalves);
  const Pod cpu_alone{.cpu = 6000};
  EXPECT_GT(scorer.score(node_with(20'000, {1000}), cpu_alone),
            scorer.score(node_with(8000, {1000}), cpu_alone));
}

TEST(ClusterPolicies, PlimsollKeepsModelsThatPodsName) {
  Node wanted = node_with(50'000, {1000});
  Node other = wanted;
  other.model = 1;
  const Cluster cluster = cluster_of({wanted, other});
  const Workload workload{
      .kinds = {{.cpu = 1, .gpus = 1, .milli = 1000}, {.cpu = 1, .gpus = 1, .milli = 1000, .models = 1}},
      .pods = {0, 1}};
  const Scorer scorer = plimsoll_policy(cluster, workload);
  EXPECT_GT(scorer.score(other, workload.kinds[0]), scorer.score(wanted, workload.kinds[0]));
}

TEST(ClusterPolicies, AreFoundByName) {
  const std::vector<std::string> two{"packing", "best-fit"}, all{"all"}, wrong{"bestfit"};
  EXPECT_EQ(policies_named(two)->at(1).name, "best-fit");
  EXPECT_EQ(policies_named(all)->size(), policies().size());
  EXPECT_THAT(policies_named(wrong).error().hint, testing::HasSubstr("best-fit"));
}

}  // namespace
}  // namespace plimsoll::plan::cluster
