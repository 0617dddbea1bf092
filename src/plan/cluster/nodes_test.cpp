#include "plan/cluster/nodes.hpp"

#include <gmock/gmock.h>

namespace plimsoll::plan::cluster {
namespace {

using testing::HasSubstr;

constexpr std::string_view kTwoNodes =
    "sn,cpu_milli,memory_mib,gpu,model\n"
    "a,8000,1000,2,T4\n"
    "b,4000,1000,0,\n"
    "c,4000,500,1,G2\n";

TEST(ClusterNodes, AreReadByColumnAndThoseWithoutGpusAreLeftOut) {
  const auto cluster = read_nodes(kTwoNodes);
  ASSERT_TRUE(cluster) << cluster.error().text();
  EXPECT_EQ(cluster->names, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(cluster->models, (std::vector<std::string>{"T4", "G2"}));
  EXPECT_EQ(cluster->capacity_milli(), 3000);
  EXPECT_EQ(cluster->nodes[0].free_gpus(), 2);
  EXPECT_EQ(cluster->nodes[1].memory, 500);
}

TEST(ClusterNodes, PodsThatAskForTheSameAreOneKind) {
  auto cluster = read_nodes(kTwoNodes);
  const auto workload = read_pods(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
      "p,1000,10,1,500,\nq,1000,10,1,500,\nr,1000,10,1,500,G2|V100\ns,2000,10,0,0,\n",
      *cluster);
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(workload->pods, (std::vector<std::uint32_t>{0, 0, 1, 2}));
  EXPECT_EQ(workload->shares(), (std::vector<double>{0.5, 0.25, 0.25}));
  EXPECT_FALSE(fits(cluster->nodes[0], workload->kinds[1]));  // a T4
  EXPECT_TRUE(fits(cluster->nodes[1], workload->kinds[1]));
  EXPECT_EQ(cluster->models.size(), 3U);  // V100, which no node has
}

TEST(ClusterNodes, AllRowsThatCannotBeUsedAreToldAtOnce) {
  auto cluster = read_nodes(kTwoNodes);
  const auto pods = read_pods(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
      "p,-1,10,1,500\nq,1000,10,2,500\nr,1000,10,1,0\ns,1000,10,17,1000\nt,1000\nu,1000,10,1,500\n",
      *cluster);
  ASSERT_FALSE(pods);
  for (const char* line : {"line 2: cpu_milli '-1'", "line 3: parts of 2 GPUs", "line 4: a GPU is asked for",
                           "line 5: num_gpu '17'", "line 6: memory_mib is missing"})
    EXPECT_THAT(pods.error().message, HasSubstr(line));
  EXPECT_THAT(pods.error().message, testing::Not(HasSubstr("line 7")));
  const auto nodes = read_nodes("sn,cpu_milli,memory_mib,gpu,model\na,1,1,99,T4\nb,x,1,1,T4\n");
  ASSERT_FALSE(nodes);
  EXPECT_THAT(nodes.error().message, HasSubstr("line 2"));
  EXPECT_THAT(nodes.error().message, HasSubstr("line 3"));
}

TEST(ClusterNodes, ManyBadRowsAreCounted) {
  std::string text = "cpu_milli,memory_mib,gpu\n";
  for (int i = 0; i < 100; ++i) text += "x,1,1\n";
  const auto nodes = read_nodes(text);
  ASSERT_FALSE(nodes);
  EXPECT_THAT(nodes.error().message, HasSubstr("and 80 more rows"));
}

TEST(ClusterNodes, MissingColumnsAndEmptyFilesAreRefused) {
  EXPECT_THAT(read_nodes("sn,gpu\n").error().message, HasSubstr("no column cpu_milli, memory_mib"));
  EXPECT_THAT(read_nodes("").error().message, HasSubstr("empty"));
  EXPECT_THAT(read_nodes("cpu_milli,memory_mib,gpu\n1,1,0\n").error().message,
              HasSubstr("no node has a GPU"));
  std::string models = "cpu_milli,memory_mib,gpu,model\n";
  for (int i = 0; i < 70; ++i) models += fmt::format("1,1,1,m{}\n", i);
  EXPECT_THAT(read_nodes(models).error().message, HasSubstr("more than 64 models"));
}

TEST(ClusterNodes, PlacingTakesAShareOfOneGpuOrWholeOnes) {
  auto cluster = read_nodes(kTwoNodes);
  Node node = cluster->nodes[0];
  place(node, {.cpu = 1000, .memory = 10, .gpus = 1, .milli = 300}, 1);
  EXPECT_EQ(node.milli[1], 700);
  EXPECT_EQ(tightest_gpu(node, {.gpus = 1, .milli = 700}), 1);
  EXPECT_EQ(tightest_gpu(node, {.gpus = 1, .milli = 710}), 0);
  EXPECT_FALSE(fits(node, {.gpus = 2, .milli = 1000}));
  place(node, {.cpu = 1000, .memory = 10, .gpus = 1, .milli = 1000}, -1);
  EXPECT_EQ(node.milli[0], 0);
  EXPECT_EQ(node.cpu, 6000);
  EXPECT_EQ(node.memory, 980);
  EXPECT_EQ(node.kinds, 3U);
}

}  // namespace
}  // namespace plimsoll::plan::cluster
