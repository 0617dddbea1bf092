#include "queue/slurm/answers.hpp"

#include <gtest/gtest.h>

namespace plimsoll::queue::slurm {
namespace {

TEST(SlurmAnswers, RowsOfSqueueEndWithAnyComment) {
  const auto rows =
      read_rows("12|RUNNING|node1|plimsoll slurm/a/b/c; 1 runs: 3 a|b\n13|PENDING||(null)\n\nnonsense\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0], (AllocationRow{"12", "RUNNING", "node1", "plimsoll slurm/a/b/c; 1 runs: 3 a|b"}));
  EXPECT_EQ(rows[1].nodes, "");
  EXPECT_TRUE(read_rows("").empty());
}

TEST(SlurmAnswers, NumberOfASubmittedJob) {
  EXPECT_EQ(*submitted_number("17\n"), "17");
  EXPECT_EQ(*submitted_number("17;scout\n"), "17");
  EXPECT_EQ(*submitted_number("welcome to scout\n17\n"), "17");
  EXPECT_FALSE(submitted_number("Submitted batch job 17"));
  EXPECT_FALSE(submitted_number(""));
}

TEST(SlurmAnswers, TimesOfAllLengths) {
  EXPECT_EQ(read_time("1:00\n"), Seconds(60));
  EXPECT_EQ(read_time("0:09"), Seconds(9));
  EXPECT_EQ(read_time("2:03:04"), Seconds(2 * 3600 + 3 * 60 + 4));
  EXPECT_EQ(read_time("1-02:03:04"), Seconds(86400 + 2 * 3600 + 3 * 60 + 4));
  for (const char* none : {"UNLIMITED", "INVALID", "NOT_SET", "", "7", "1:2:3:4:5", "-1:00", "1-"})
    EXPECT_EQ(read_time(none), std::nullopt) << none;
}

TEST(SlurmAnswers, TimeThatIsLeftIsTheEarlierOfTwoEnds) {
  EXPECT_EQ(read_time_left("1:00|1000", 960), Seconds(40));
  EXPECT_EQ(read_time_left("1:00|1000\n", 900), Seconds(60));
  EXPECT_EQ(read_time_left("1:00|1000", 1100), Seconds(0));
  EXPECT_EQ(read_time_left("1:00|N/A", 900), Seconds(60));
  EXPECT_EQ(read_time_left("UNLIMITED|1000", 900), std::nullopt);
  EXPECT_EQ(read_time_left("", 900), std::nullopt);
}

TEST(SlurmAnswers, ValuesOfConfigurationsAndJobs) {
  const std::string config =
      "Configuration data as of…\nClusterName             = scout\nGresTypes               = gpu,shard\n";
  EXPECT_EQ(config_value(config, "ClusterName"), "scout");
  EXPECT_EQ(config_value(config, "GresTypes"), "gpu,shard");
  EXPECT_EQ(config_value(config, "Types"), std::nullopt);
  const std::string job = "JobId=7 JobName=JobState=x Requeue=1 JobState=CANCELLED Reason=None";
  EXPECT_EQ(field_value(job, "JobState"), "CANCELLED");
  EXPECT_EQ(field_value(job, "Requeue"), "1");
  EXPECT_EQ(field_value(job, "State"), std::nullopt);
}

TEST(SlurmAnswers, CountsOfGenericResources) {
  EXPECT_EQ(count_of("gpu:h200:2,shard:h200:8(S:0)", "gpu"), 2);
  EXPECT_EQ(count_of("gpu:h200:2,shard:h200:8(S:0)", "shard"), 8);
  EXPECT_EQ(count_of("gpu:a:2(IDX:0,1),gpu:1g.10gb:7", "gpu"), 9);
  EXPECT_EQ(count_of("mps:1K", "mps"), 1000);
  EXPECT_EQ(count_of("gpu", "gpu"), 1);
  EXPECT_EQ(count_of("(null)", "gpu"), 0);
}

}  // namespace
}  // namespace plimsoll::queue::slurm
