#include "run/jobs_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"

namespace plimsoll::running {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string all(const std::vector<Error>& errors) {
  std::string out;
  for (const Error& error : errors) out += error.text() + " | " + error.hint + "\n";
  return out;
}

TEST(JobsFile, UnderstandsRadtsColumns) {
  const auto file = parse_csv_jobs(
      "Experiment,Workload,Status,Run,Devices,Collocation,File,Listeners,Params\n"
      "cifar,1,,,0,-,train.py,smi+top+dcgmi,\"--lr 0.1 --name \"\"a b\"\"\"\n"
      "cifar,2,FINISHED,0123abcd,0+1,MPS,train.py,,\n");
  ASSERT_TRUE(file) << all(file.error());
  ASSERT_EQ(file->jobs.size(), 2U);
  EXPECT_THAT(file->jobs[0].spec.command, ElementsAre("python3", "train.py", "--lr", "0.1", "--name", "a b"));
  EXPECT_EQ(file->jobs[0].spec.sharing, Sharing::naive);
  EXPECT_THAT(file->jobs[1].spec.devices, ElementsAre("0", "1"));
  EXPECT_EQ(file->jobs[1].spec.sharing, Sharing::mps);
  EXPECT_TRUE(file->jobs[1].is_finished());
  EXPECT_EQ(file->jobs[1].run, "0123abcd");
}

TEST(JobsFile, ReportsEveryBadRowAtOnce) {
  const auto file = parse_csv_jobs(
      "Command,Mode,MPS percentage,Time limit,Colour\n"
      "true,3g.20gb,,,\n"
      "\"echo \"\"x\",naive,,soon,\n"
      "true,naive,20,,\n"
      ",mps,200,,\n");
  ASSERT_FALSE(file);
  const std::string said = all(file.error());
  EXPECT_THAT(said, HasSubstr("the header: there is no column 'Colour'"));
  EXPECT_THAT(said, HasSubstr("line 2: Mode: '3g.20gb' is not a way of sharing"));
  EXPECT_THAT(said, HasSubstr("MIG instances are not made here"));
  EXPECT_THAT(said, HasSubstr("line 3: Command: a quote is opened"));
  EXPECT_THAT(said, HasSubstr("line 3: Time limit: 'soon' is not a duration"));
  EXPECT_THAT(said, HasSubstr("line 4: an MPS limit is given, but the mode is not mps"));
  EXPECT_THAT(said, HasSubstr("line 5: MPS percentage: '200'"));
  EXPECT_THAT(said, HasSubstr("line 5: there is no command"));
}

TEST(JobsFile, AWorkloadIsSharedInOneWay) {
  const auto file = parse_csv_jobs("Workload,Mode,Command\na,mps,true\na,naive,true\n");
  ASSERT_FALSE(file);
  EXPECT_THAT(all(file.error()), HasSubstr("workload 'a' is mps in one row and naive in another"));
}

TEST(JobsFile, TomlGivesWorkloadsWithDefaultsAndCounts) {
  const auto directory = TemporaryDirectory::make();
  ASSERT_TRUE(directory);
  const auto path = directory->path() / "jobs.toml";
  ASSERT_TRUE(write_file(path, R"(
experiment = "study"
time_limit = "2m"
[[workload]]
name = "four"
mode = "mps"
devices = [0]
[[workload.job]]
name = "small"
command = "python3 train.py 'a b'"
count = 2
mps_percentage = 25
mps_memory = "4GiB"
[[workload.job]]
command = ["sleep", "1"]
environment = { SEED = 3, NAME = "x" }
)"));
  auto file = read_jobs(path);
  ASSERT_TRUE(file) << all(file.error());
  ASSERT_EQ(file->jobs.size(), 3U);
  const JobSpec& small = file->jobs[1].spec;
  EXPECT_EQ(small.name, "small-2");
  EXPECT_EQ(small.experiment, "study");
  EXPECT_THAT(small.command, ElementsAre("python3", "train.py", "a b"));
  EXPECT_THAT(small.devices, ElementsAre("0"));
  EXPECT_EQ(small.mps_percentage, 25);
  EXPECT_EQ(small.mps_memory, 4 * kGiB);
  EXPECT_EQ(small.time_limit, Seconds(120));
  EXPECT_THAT(file->jobs[2].spec.environment, ElementsAre(std::pair("NAME", "x"), std::pair("SEED", "3")));
  file->jobs[1].status = "FINISHED";
  file->jobs[1].run = "beef";
  ASSERT_TRUE(write_status(*file, 1));
  const auto again = read_jobs(path);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->jobs[1].is_finished());
  EXPECT_FALSE(again->jobs[0].is_finished());
}

TEST(JobsFile, TomlSaysWhereItIsWrong) {
  const auto file =
      parse_toml_jobs("[[workload]]\nmode = \"mig\"\ncolour = 1\n[[workload.job]]\ncount = 0\n");
  ASSERT_FALSE(file);
  const std::string said = all(file.error());
  EXPECT_THAT(said, HasSubstr("line 2: mode:"));
  EXPECT_THAT(said, HasSubstr("line 3: there is no setting 'colour'"));
  EXPECT_THAT(said, HasSubstr("line 5: 'count'"));
  EXPECT_THAT(said, HasSubstr("this job has no command"));
  EXPECT_FALSE(parse_toml_jobs("x = "));
  const auto no_key = parse_toml_jobs("[}");  // the library asserts that a key begins here
  ASSERT_FALSE(no_key);
  EXPECT_THAT(all(no_key.error()), HasSubstr("line 1"));
  const auto foreign = parse_toml_jobs("# fine: Ɛ\n[[workload]]\nname = \"Ɛ\"\nƐ = 1\n");
  ASSERT_FALSE(foreign);
  EXPECT_THAT(all(foreign.error()), HasSubstr("line 4: there is a letter beyond ASCII outside quotes"));
  EXPECT_FALSE(parse_toml_jobs(""));
}

TEST(JobsFile, JobsMayWaitForOthersAndForATime) {
  const auto csv = parse_csv_jobs(
      "Workload,Name,After,Start,Command\n"
      "w,a,,0,true\n"
      "w,b c,a,1.5m,true\n"
      "w,d,a;'b c',,true\n");
  ASSERT_TRUE(csv) << all(csv.error());
  EXPECT_EQ(csv->jobs[0].spec.start, Seconds(0));
  EXPECT_THAT(csv->jobs[1].spec.after, ElementsAre("a"));
  EXPECT_EQ(csv->jobs[1].spec.start, Seconds(90));
  EXPECT_THAT(csv->jobs[2].spec.after, ElementsAre("a", "b c"));
  const auto toml = parse_toml_jobs(
      "[[workload]]\n"
      "[[workload.job]]\nname = \"a\"\ncommand = \"true\"\ncount = 2\n"
      "[[workload.job]]\nname = \"b\"\ncommand = \"true\"\nafter = [\"a-1\", \"a-2\"]\nstart = 12\n"
      "[[workload.job]]\nname = \"c\"\ncommand = \"true\"\nafter = \"b\"\nstart = \"2m\"\n");
  ASSERT_TRUE(toml) << all(toml.error());
  EXPECT_THAT(toml->jobs[2].spec.after, ElementsAre("a-1", "a-2"));
  EXPECT_EQ(toml->jobs[2].spec.start, Seconds(12));
  EXPECT_THAT(toml->jobs[3].spec.after, ElementsAre("b"));
  EXPECT_EQ(toml->jobs[3].spec.start, Seconds(120));
}

TEST(JobsFile, ATimeThatIsNoneIsToldWithItsLine) {
  const auto toml = parse_toml_jobs(
      "[[workload]]\nstart = 1\n"
      "[[workload.job]]\ncommand = \"true\"\nstart = -1\n"
      "[[workload.job]]\ncommand = \"true\"\nstart = inf\n"
      "[[workload.job]]\ncommand = \"true\"\nstart = nan\n"
      "[[workload.job]]\ncommand = \"true\"\nstart = \"noon\"\n");
  ASSERT_FALSE(toml);
  const std::string said = all(toml.error());
  EXPECT_THAT(said, HasSubstr("line 2: there is no setting 'start'"));
  for (const char* part : {"line 5: start: '-1'", "line 8: start: 'inf'", "line 11: start: 'nan'",
                           "line 14: start: 'noon' is not a time after the workload's begin"})
    EXPECT_THAT(said, HasSubstr(part));
  const auto csv = parse_csv_jobs("Command,Start\ntrue,-3\n");
  ASSERT_FALSE(csv);
  EXPECT_THAT(all(csv.error()), HasSubstr("line 2: Start: '-3'"));
}

TEST(JobWords, SplitsAsAShellWouldAndExpandsNothing) {
  EXPECT_THAT(*split_words(R"(a "b c" 'd"e' f\ g $HOME *)"),
              ElementsAre("a", "b c", "d\"e", "f g", "$HOME", "*"));
  EXPECT_THAT(*split_words("''"), ElementsAre(""));
  EXPECT_THAT(*split_words("  "), IsEmpty());
  EXPECT_EQ(*parse_duration("1.5h"), Seconds(5400));
  EXPECT_EQ(*parse_size("4G"), 4 * kGiB);
  EXPECT_EQ(*parse_size("2 GB"), Bytes(2'000'000'000));
  EXPECT_FALSE(parse_size("-1G"));
  EXPECT_FALSE(parse_duration("nan"));
}

}  // namespace
}  // namespace plimsoll::running
