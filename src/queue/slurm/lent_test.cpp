#include "queue/slurm/lent.hpp"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::queue::slurm {
namespace {

using Environment = std::map<std::string, std::string>;
Environment environment;

Result<LentAllocation> read(Environment variables) {
  environment = std::move(variables);
  return read_allocation([](const char* name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(LentAllocation, IsWhatSlurmTellsItsScript) {
  const auto whole = read({{"SLURM_JOB_ID", "17"},
                           {"SLURM_CLUSTER_NAME", "scout"},
                           {"SLURM_RESTART_COUNT", "1"},
                           {"SLURMD_NODENAME", "node1"},
                           {"CUDA_VISIBLE_DEVICES", "1,MIG-3a"}});
  ASSERT_TRUE(whole);
  EXPECT_EQ(host_name(whole->id), "scout-17.1@node1");
  EXPECT_THAT(whole->devices, testing::ElementsAre("1", "MIG-3a"));
  EXPECT_EQ(whole->shards, 0U);
}

TEST(LentAllocation, OfShardsIsAPartOfAGpu) {
  const auto part =
      read({{"SLURM_JOB_ID", "17"}, {"GPU_DEVICE_ORDINAL", "0"}, {"SLURM_SHARDS_ON_NODE", "2"}});
  ASSERT_TRUE(part);
  EXPECT_THAT(part->devices, testing::ElementsAre("0"));
  EXPECT_EQ(share_of(part->shards, 8, 2), 0.5);
  EXPECT_EQ(share_of(6, 8, 2), 1);
  EXPECT_EQ(share_of(0, 8, 2), 1);
  EXPECT_EQ(share_of(2, 0, 0), 1);
}

TEST(LentAllocation, MustHoldAGpuAndBeOne) {
  EXPECT_FALSE(read({{"CUDA_VISIBLE_DEVICES", "0"}}));
  EXPECT_FALSE(read({{"SLURM_JOB_ID", "17"}}));
  EXPECT_FALSE(read({{"SLURM_JOB_ID", "17"}, {"CUDA_VISIBLE_DEVICES", ""}}));
}

}  // namespace
}  // namespace plimsoll::queue::slurm
