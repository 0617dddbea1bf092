#include "queue/slurm/pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::queue::slurm {
namespace {

using testing::Contains;
using testing::Not;
using testing::StartsWith;

const PoolSetting kSetting{.cluster = "scout", .user = "ada", .options = {"--partition=gpu", "--time=60"}};

TEST(SlurmPool, IsOfOneUserAndOfWhatIsWantedOfSlurm) {
  EXPECT_THAT(pool_name(kSetting), StartsWith("slurm/scout/ada/"));
  PoolSetting other = kSetting;
  std::ranges::reverse(other.options);
  EXPECT_EQ(pool_name(other), pool_name(kSetting));
  other.options.pop_back();
  EXPECT_NE(pool_name(other), pool_name(kSetting));
  other = kSetting;
  other.gpus = 2;
  EXPECT_NE(pool_name(other), pool_name(kSetting));
  EXPECT_EQ(pools_of("a/b", "c;d e"), "slurm/a_b/c_d_e/");
}

TEST(SlurmPool, OptionsThatPlimsollDecidesAreRefused) {
  EXPECT_TRUE(check_options({"--partition=gpu", "-Agroup", "--gres=shard:2", "--time=1:00"}));
  for (const char* wrong :
       {"--array=1-3", "-a1-3", "--wrap=true", "-Jx", "--signal=USR2", "gpu", "-", "--no-requeue"})
    EXPECT_FALSE(check_options({wrong})) << wrong;
}

TEST(SlurmPool, AsksForWholeGpusUnlessTheUserAsksForOthers) {
  const AllocationTerms terms{.log = "/home/ada/%j.log", .program = "/opt/plimsoll"};
  EXPECT_THAT(sbatch_words(kSetting, terms), Contains("--gres=gpu:1"));
  EXPECT_THAT(sbatch_words(kSetting, terms), Contains("--requeue"));
  EXPECT_THAT(sbatch_words(kSetting, terms), Contains("--signal=B:USR1@120"));
  PoolSetting shard = kSetting;
  shard.options.emplace_back("--gres=shard:2");
  EXPECT_THAT(sbatch_words(shard, terms), Contains("--gres=shard:2"));
  EXPECT_THAT(sbatch_words(shard, terms), Not(Contains("--gres=gpu:1")));
}

TEST(SlurmPool, TheScriptIsTheDaemonAlone) {
  EXPECT_EQ(batch_script({"/opt/my plimsoll", "queue", "start", "--slurm-option=--time=1"}),
            "#!/bin/sh\nexec '/opt/my plimsoll' queue start --slurm-option=--time=1\n");
}

TEST(SlurmPool, ShowsWhoIsInside) {
  const Inside inside{.running = {{12, "train a"}, {13, ""}}, .waiting = 5};
  EXPECT_EQ(shown_name(inside), "plimsoll 12,13");
  EXPECT_EQ(shown_comment("slurm/s/u/1", inside), "plimsoll slurm/s/u/1; 2 run: 12 train_a, 13; 5 wait");
  EXPECT_EQ(shown_comment("p", {.running = {{12, ""}}, .ending = true}), "plimsoll p (ending); 1 runs: 12");
  Inside many;
  for (int i = 1000; i < 2000; ++i) many.running.emplace_back(i, "a name of some length");
  EXPECT_LE(shown_comment("p", many).size(), 550U);
  EXPECT_LE(shown_name(many).size(), 70U);
}

TEST(SlurmPool, KnowsItsAllocationsByTheirComments) {
  EXPECT_TRUE(is_of_pool(shown_comment("a/b", {}), "a/b"));
  EXPECT_FALSE(is_of_pool(shown_comment("a/bc", {}), "a/b"));
  EXPECT_FALSE(is_of_pool("(null)", "a/b"));
  EXPECT_TRUE(takes_jobs(shown_comment("a/b", {})));
  EXPECT_TRUE(takes_jobs(shown_comment("a/b", {.running = {{1, "(ending)"}}})));
  EXPECT_FALSE(takes_jobs(shown_comment("a/b", {.ending = true})));
  EXPECT_TRUE(is_of_pool(shown_comment("a/b", {.ending = true}), "a/b"));
}

TEST(SlurmPool, TheDaemonsNameTellsTheJobOfSlurm) {
  const std::string host = host_name({.cluster = "big-one", .job = "17", .restart = "2", .node = "n-1"});
  EXPECT_EQ(host, "big-one-17.2@n-1");
  EXPECT_EQ(job_of_host(host), "17");
  EXPECT_EQ(job_of_host("here"), "here");
}

}  // namespace
}  // namespace plimsoll::queue::slurm
