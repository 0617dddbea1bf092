#include "run/slurm_place.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::running {
namespace {

using Environment = std::map<std::string, std::string, std::less<>>;
const JobSpec kJob{.command = {"python", "train.py"}, .directory = "/"};

SlurmPlace place(const Environment& environment, const JobSpec& job = kJob) {
  return slurm_place(job, [&](std::string_view name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(SlurmPlace, IsNoneWithoutSlurm) {
  const SlurmPlace none = place({{"SLURM_PROCID", "3"}, {"CUDA_VISIBLE_DEVICES", "0"}});
  EXPECT_TRUE(none.tags.empty());
  EXPECT_FALSE(none.first);
}

TEST(SlurmPlace, OfABatchScriptIsNoRank) {
  const SlurmPlace batch = place({{"SLURM_JOB_ID", "7"},
                                  {"SLURM_PROCID", "0"},
                                  {"SLURM_NTASKS", "4"},
                                  {"SLURM_ARRAY_JOB_ID", "6"},
                                  {"SLURM_ARRAY_TASK_ID", "2"}});
  EXPECT_EQ(batch.tags.at("plimsoll.slurm.job_id"), "7");
  EXPECT_EQ(batch.tags.at("plimsoll.slurm.array_task_id"), "2");
  EXPECT_FALSE(batch.tags.contains("plimsoll.rank"));
  EXPECT_FALSE(batch.first);
}

TEST(SlurmPlace, RanksOfAStepKnowTheirFirst) {
  Environment environment{{"SLURM_CLUSTER_NAME", "scout"},
                          {"SLURM_JOB_ID", "7"},
                          {"SLURM_STEP_ID", "0"},
                          {"SLURM_PROCID", "0"},
                          {"SLURM_STEP_NUM_TASKS", "2"}};
  const SlurmPlace first = place(environment);
  environment["SLURM_PROCID"] = "1";
  environment["SLURMD_NODENAME"] = "elsewhere";
  const SlurmPlace second = place(environment);
  ASSERT_TRUE(first.first && second.first);
  EXPECT_EQ(first.first->size(), 32U);
  EXPECT_EQ(*first.first, *second.first);
  EXPECT_TRUE(first.is_first);
  EXPECT_FALSE(second.is_first);
  EXPECT_EQ(second.tags.at("plimsoll.rank"), "1");
  EXPECT_EQ(second.tags.at("plimsoll.ranks"), "2");
  environment["SLURM_STEP_ID"] = "1";
  EXPECT_NE(*place(environment).first, *first.first);
  JobSpec other = kJob;
  other.command.emplace_back("--lr=1");
  environment["SLURM_STEP_ID"] = "0";
  EXPECT_NE(*place(environment, other).first, *first.first);
}

}  // namespace
}  // namespace plimsoll::running
