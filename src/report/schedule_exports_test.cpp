#include "report/schedule_exports.hpp"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "base/process.hpp"
#include "report/test_schedules.hpp"
#include "run/jobs_file.hpp"

namespace plimsoll::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using plan::schedule::Plan;

std::vector<ExportedJob> commands_for(const Plan& plan) {
  std::vector<ExportedJob> out;
  for (const plan::schedule::Job& job : plan.instance.jobs)
    out.push_back({.command = {"train", "--name", job.name}});
  return out;
}

/// What stands in the table of one job.
std::string job_table(const std::string& toml, const std::string& name) {
  const std::size_t at = toml.find("name = \"" + name + "\"");
  if (at == std::string::npos) return {};
  return toml.substr(at, toml.find("[[", at) - at);
}

TEST(RunJobs, AWorkloadForEachGpuIsReadAgain) {
  Plan plan = made_up_plan();
  for (auto& ran : plan.outcome.jobs) ran.start = 0;  // nobody waits
  plan.instance.jobs[0].name = "a \"quoted\" \\ name\n\xC3\xBC";
  std::vector<ExportedJob> jobs = commands_for(plan);
  jobs[0].command = {"python3", "it's \"a\"\tpath\\", "\xC3\xBC"};
  jobs[0].estimate = {"resnet50", "--batch", "8"};
  jobs[0].directory = "/some where";
  const Result<std::string> toml = run_jobs_toml(plan, jobs, "a plan");
  ASSERT_TRUE(toml) << toml.error().text();
  const auto file = running::parse_toml_jobs(*toml);
  ASSERT_TRUE(file) << file.error().front().text() << "\n" << *toml;
  ASSERT_EQ(file->jobs.size(), 4U);
  const running::JobSpec& first = file->jobs[0].spec;
  EXPECT_EQ(first.experiment, "a plan");
  EXPECT_EQ(first.workload, "GPU 0");
  EXPECT_EQ(first.command, jobs[0].command);
  EXPECT_EQ(first.estimate, jobs[0].estimate);
  EXPECT_EQ(first.directory, "/some where");
  EXPECT_EQ(first.sharing, running::Sharing::mps);
  EXPECT_EQ(first.mps_percentage, 50);
  EXPECT_THAT(first.devices, ElementsAre("0"));
  EXPECT_EQ(file->jobs[3].spec.workload, "GPU 1");
  EXPECT_THAT(file->jobs[3].spec.devices, ElementsAre("1"));
}

TEST(RunJobs, AJobStartsWhenAnotherEndsElseAtItsTime) {
  const Plan plan = made_up_plan();
  const std::string toml = run_jobs_toml(plan, commands_for(plan), "x").value();
  EXPECT_THAT(job_table(toml, "one"), Not(testing::ContainsRegex("after|start")));
  EXPECT_THAT(job_table(toml, "three"), HasSubstr("after = [\"two\"]\n"));
  EXPECT_THAT(job_table(toml, "three"), Not(HasSubstr("start")));
  EXPECT_THAT(job_table(toml, "four"), HasSubstr("start = 20\n"));
  const auto file = running::parse_toml_jobs(toml);
  ASSERT_TRUE(file) << file.error().front().text();
  EXPECT_THAT(file->jobs[2].spec.after, ElementsAre("two"));
  EXPECT_EQ(file->jobs[3].spec.start, Seconds(20));
  EXPECT_TRUE(
      running::parse_toml_jobs(run_jobs_toml(plan_in_slices(), commands_for(plan_in_slices()), "x").value()));
}

TEST(RunJobs, WhoWaitsForAnotherIsInItsWorkloadAndNeverBeforeItArrives) {
  Plan plan = plan_in_slices();
  plan.instance.jobs[2].arrival = 25;
  const std::string toml = run_jobs_toml(plan, commands_for(plan), "x").value();
  EXPECT_THAT(toml, HasSubstr("name = \"GPUs 0, 1\"\nmode = \"naive\"\n"));
  EXPECT_THAT(
      toml, HasSubstr("# Slices, as `nvidia-smi -L` must count them: 0:0 is a 3g.71gb, 0:1 is a 4g.71gb\n"));
  EXPECT_THAT(job_table(toml, "serve"), HasSubstr("devices = [\"0:0\"]"));
  EXPECT_THAT(job_table(toml, "second"),
              HasSubstr("devices = [\"0:1\"]\n  after = [\"first\"]\n  start = 25\n"));
}

TEST(RunJobs, AJobOnSeveralGpusBindsThem) {
  Plan plan = made_up_plan();
  plan.outcome.jobs[3] = {.start = 120, .end = 200, .places = {0, 1}};
  const std::string toml = run_jobs_toml(plan, commands_for(plan), "x").value();
  EXPECT_THAT(job_table(toml, "four"),
              HasSubstr("devices = [\"0\", \"1\"]\n  mps_percentage = 50\n  after = [\"three\"]\n"));
}

TEST(RunJobs, JobsThatTakeNoTimeDoNotWaitForEachOther) {
  Plan plan = made_up_plan();
  for (auto& ran : plan.outcome.jobs) ran = {.start = 5, .end = 5, .places = {0}};
  EXPECT_THAT(run_jobs_toml(plan, commands_for(plan), "x").value(), Not(HasSubstr("after")));
}

TEST(RunJobs, NamesAreToldApart) {
  Plan plan = made_up_plan();
  for (auto& job : plan.instance.jobs) job.name = "same";
  const std::string toml = run_jobs_toml(plan, commands_for(plan), "x").value();
  EXPECT_THAT(job_table(toml, "same-3"), HasSubstr("after = [\"same-2\"]"));
}

TEST(RunJobs, AllJobsThatCannotBeWrittenAreTold) {
  const Plan plan = made_up_plan();
  std::vector<ExportedJob> jobs = commands_for(plan);
  jobs[0].command.clear();
  jobs[2].command.push_back("\xFF");
  jobs.pop_back();
  const auto toml = run_jobs_toml(plan, jobs, "x");
  ASSERT_FALSE(toml);
  EXPECT_THAT(toml.error().message,
              testing::ContainsRegex("one. has no command.*three. has words.*four. has no command"));
  EXPECT_FALSE(sbatch_scripts(plan, jobs));
}

TEST(KubernetesSharing, HasAsManyReplicasAsJobsAtOnce) {
  Plan plan = made_up_plan();
  EXPECT_THAT(
      kubernetes_sharing(plan),
      HasSubstr("version: v1\nflags:\n  migStrategy: none\nsharing:\n  mps:\n    resources:\n      - name: "
                "nvidia.com/gpu\n        replicas: 2\n"));
  plan.instance.setups[0] = {.way = share::Way::naive};
  EXPECT_THAT(kubernetes_sharing(plan), HasSubstr("timeSlicing:\n    resources:"));
  plan.instance.setups[0] = {.way = share::Way::exclusive};
  EXPECT_THAT(kubernetes_sharing(plan), Not(HasSubstr("sharing:")));
  EXPECT_THAT(kubernetes_sharing(plan_in_slices()), HasSubstr("migStrategy: mixed\n"));
}

TEST(MigConfiguration, CountsTheSlicesAndLeavesWholeGpusWhole) {
  hardware::MigTable table;
  table.profiles = {{.name = "3g.71gb"}, {.name = "4g.71gb"}};
  const auto configuration = mig_configuration(plan_in_slices(), table, "plan");
  ASSERT_TRUE(configuration);
  EXPECT_EQ(
      mig_parted_text(table, {*configuration}),
      "version: v1\nmig-configs:\n  plan:\n    - devices: [0]\n      mig-enabled: true\n      mig-devices:\n"
      "        \"3g.71gb\": 1\n        \"4g.71gb\": 1\n    - devices: [1]\n      mig-enabled: false\n"
      "      mig-devices: {}\n");
  EXPECT_FALSE(mig_configuration(made_up_plan(), table, "plan"));
  table.profiles.pop_back();
  EXPECT_FALSE(mig_configuration(plan_in_slices(), table, "plan"));
}

class BatchScripts : public testing::Test {
 protected:
  /// Where the scripts run, with stand-ins for NVIDIA's programs.
  void SetUp() override {
    auto made = TemporaryDirectory::make("plimsoll_sbatch");
    ASSERT_TRUE(made);
    folder_.emplace(*std::move(made));
    stand_in("nvidia-cuda-mps-control",
             "[ \"${1-}\" = -d ] && echo \"begun $CUDA_VISIBLE_DEVICES\" >>order || { cat >>order; }");
    stand_in("nvidia-smi",
             "case \"$1\" in --query-gpu=uuid) echo \"GPU-$4\" | tr , '\\n'; exit ;; esac\n"
             "echo 'GPU 0: a GPU (UUID: GPU-1)'; echo '  MIG 4g.71gb     Device  0: (UUID: MIG-four)'; "
             "echo '  MIG 3g.71gb     Device  1: (UUID: MIG-three)'");
  }
  void stand_in(const std::string& name, const std::string& lines) {
    const auto path = folder_->path() / name;
    ASSERT_TRUE(write_file(path, "#!/bin/sh\n" + lines + "\n"));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  Result<ProcessOutput> run_script(const std::string& script) {
    const auto path = folder_->path() / "script";
    if (Status written = write_file(path, script); !written) return std::unexpected(written.error());
    return run({.argv = {"sh", "-c", "cd \"$1\" && PATH=\"$1:$PATH\" exec bash ./script", "sh",
                         folder_->path().string()},
                .environment = {{"SLURM_JOB_ID", "7"}, {"CUDA_VISIBLE_DEVICES", "4,5"}},
                .timeout = std::chrono::minutes(4)});
  }
  [[nodiscard]] std::string contents(const std::string& name) const {
    return read_file(folder_->path() / name, 1 << 20).value_or("");
  }
  static void keep(const std::string& name, const std::string& script) {
    if (const char* where = std::getenv("PLIMSOLL_KEEP_PAGES"))
      (void)write_file(std::filesystem::path(where) / name, script);
  }

  std::optional<TemporaryDirectory> folder_;
};

TEST_F(BatchScripts, OneForEachGpuStartsItsJobsInTheirOrder) {
  const Plan plan = made_up_plan();
  std::vector<ExportedJob> jobs = commands_for(plan);
  jobs[0].command = {"sh", "-c",
                     "echo \"one $CUDA_VISIBLE_DEVICES $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE\" >>order; "
                     "until [ -e go ]; do sleep 0.1; done; echo 'one ends' >>order"};
  jobs[1].command = {"sh", "-c",
                     "until grep -q one order; do sleep 0.1; done; echo \"$1\"; echo two >>order; exit 3",
                     "sh", "it's $HOME `x`"};
  jobs[2].command = {"sh", "-c", "echo three >>../order; touch ../go"};
  jobs[2].directory = "a folder";
  std::filesystem::create_directory(folder_->path() / "a folder");
  const auto scripts = sbatch_scripts(plan, jobs);
  ASSERT_TRUE(scripts);
  ASSERT_EQ(scripts->size(), 2U);
  EXPECT_EQ(scripts->front().first, "gpu-0.sbatch");
  EXPECT_EQ(scripts->back().first, "gpu-1.sbatch");
  keep("gpu-0.sbatch", scripts->front().second);
  EXPECT_THAT(scripts->front().second, testing::StartsWith("#!/bin/bash\n#SBATCH --job-name=plimsoll-gpu-0\n"
                                                           "#SBATCH --nodes=1\n#SBATCH --gres=gpu:1\n"));
  EXPECT_THAT(scripts->back().second, HasSubstr("\njob 4 \"${held[0]}\" 50 20 . -- train --name four\n"));
  const auto done = run_script(scripts->front().second);
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->exit_code, 1) << "one of the jobs failed" << done->output << done->error;
  EXPECT_EQ(contents("order"), "begun GPU-4,5\none GPU-4 50\ntwo\nthree\none ends\nquit\n");
  EXPECT_EQ(contents("plimsoll-7-2.log"), "it's $HOME `x`\n");
}

TEST_F(BatchScripts, SlicesAreFoundByTheirProfilesAndServicesEndWithTheRest) {
  const Plan plan = plan_in_slices();
  std::vector<ExportedJob> jobs = commands_for(plan);
  jobs[0].command = {"sh", "-c", "echo \"serve $CUDA_VISIBLE_DEVICES\" >served; while :; do sleep 0.1; done"};
  jobs[1].command = {"sh", "-c",
                     "until [ -e served ]; do sleep 0.1; done; echo \"first $CUDA_VISIBLE_DEVICES\" >>order"};
  jobs[2].command = {"sh", "-c", "echo \"second $CUDA_VISIBLE_DEVICES\" >>order"};
  const auto scripts = sbatch_scripts(plan, jobs);
  ASSERT_TRUE(scripts);
  ASSERT_EQ(scripts->size(), 1U) << "the second waits for the first, on the other GPU";
  EXPECT_EQ(scripts->front().first, "gpus-0-1.sbatch");
  keep("gpus-0-1.sbatch", scripts->front().second);
  EXPECT_THAT(scripts->front().second, HasSubstr("--gres=gpu:2\n"));
  const auto done = run_script(scripts->front().second);
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->exit_code, 0) << done->output << done->error;
  EXPECT_EQ(contents("served"), "serve MIG-three\n");
  EXPECT_EQ(contents("order"), "first 5\nsecond MIG-four\n");
}

TEST_F(BatchScripts, NothingOfANameIsRun) {
  Plan plan = made_up_plan();
  plan.instance.jobs[0].name = "x\ntouch broken\n";
  plan.instance.setups[0] = {.way = share::Way::mig, .profile = "\";touch broken;$(touch broken)'"};
  std::vector<ExportedJob> jobs(plan.instance.jobs.size(), ExportedJob{.command = {"true", ";touch broken"},
                                                                       .directory = "$(touch broken)"});
  const auto scripts = sbatch_scripts(plan, jobs);
  ASSERT_TRUE(scripts);
  (void)run_script(scripts->front().second);
  EXPECT_FALSE(std::filesystem::exists(folder_->path() / "broken"));
  EXPECT_TRUE(std::filesystem::exists(folder_->path() / "plimsoll-7-1.log")) << "but the jobs were begun";
}

}  // namespace
}  // namespace plimsoll::report
