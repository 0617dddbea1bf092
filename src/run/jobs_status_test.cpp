#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.hpp"
#include "run/jobs_file.hpp"

namespace plimsoll::running {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::string_view kThree =
    "Name,Command,Status,Run\n"
    "a,echo 1,,\n"
    "b,echo 2,,\n"
    "c,echo 3,,\n";

class JobsStatus : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(directory_);
    edit(kThree);
  }
  void edit(std::string_view text) { ASSERT_TRUE(write_file(path_, text)); }
  [[nodiscard]] JobsFile read() const {
    auto file = read_jobs(path_);
    EXPECT_TRUE(file);
    return file.value_or(JobsFile{});
  }
  static Status end(JobsFile& file, std::size_t job, const std::string& status, const std::string& run) {
    file.jobs.at(job).status = status;
    file.jobs.at(job).run = run;
    return write_status(file, job);
  }
  [[nodiscard]] std::string text() const { return read_file(path_, 100'000).value_or("(none)"); }
  [[nodiscard]] fs::path beside() const { return path_.string() + ".status.csv"; }
  [[nodiscard]] std::string beside_text() const { return read_file(beside(), 100'000).value_or("(none)"); }

  Result<TemporaryDirectory> directory_ = TemporaryDirectory::make();
  fs::path path_ = directory_ ? directory_->path() / "jobs.csv" : fs::path();
};

TEST_F(JobsStatus, IsWrittenBackIntoTheRow) {
  edit("Command,Status\n\"echo \"\"a, b\"\"\",\ntrue,\n");
  JobsFile file = read();
  ASSERT_TRUE(end(file, 1, "FAILED", "abcd"));
  EXPECT_EQ(text(), "Command,Status,Run\n\"echo \"\"a, b\"\"\",,\ntrue,FAILED,abcd\n");
  const JobsFile again = read();
  EXPECT_EQ(again.jobs[1].status, "FAILED");
  EXPECT_EQ(again.jobs[0].status, "");
  EXPECT_FALSE(fs::exists(beside()));
}

TEST_F(JobsStatus, AnEditMadeMeanwhileStays) {
  JobsFile file = read();
  ASSERT_TRUE(end(file, 0, "RUNNING", "r1"));
  // One row is added above, one below, one changed, a column too; titles are written and ordered otherwise.
  edit(
      "run,command,NAME,status,Need\n"
      ",echo 0,new,,\n"
      "r1,echo 1,a,RUNNING,\n"
      ",echo two,b,,\n"
      ",echo 3,c,,\n"
      ",echo 4,d,,4G\n");
  ASSERT_TRUE(end(file, 0, "FINISHED", "r1"));
  ASSERT_TRUE(end(file, 2, "FAILED", "r3"));
  EXPECT_EQ(text(),
            "run,command,NAME,status,Need\n"
            ",echo 0,new,,\n"
            "r1,echo 1,a,FINISHED,\n"
            ",echo two,b,,\n"
            "r3,echo 3,c,FAILED,\n"
            ",echo 4,d,,4G\n");
}

TEST_F(JobsStatus, OfARowThatWasChangedIsKeptBeside) {
  JobsFile file = read();
  const std::string edited = "Name,Command,Status,Run\na,echo 1,,\nb,echo 2 --more,,\n";
  edit(edited);
  const Status written = end(file, 1, "FINISHED", "r2");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().text(), HasSubstr("'b' was changed or removed meanwhile"));
  EXPECT_THAT(written.error().text(), HasSubstr("jobs.csv.status.csv"));
  EXPECT_EQ(text(), edited);
  EXPECT_THAT(beside_text(), HasSubstr("2,,b,FINISHED,r2,"));
  EXPECT_TRUE(end(file, 1, "FAILED", "r2")) << "said once";
  EXPECT_TRUE(end(file, 0, "FINISHED", "r1")) << "another's row is where it was";
  EXPECT_THAT(text(), HasSubstr("a,echo 1,FINISHED,r1\n"));
}

TEST_F(JobsStatus, OfARemovedRowComesBackWithIt) {
  JobsFile file = read();
  edit("Name,Command,Status,Run\na,echo 1,,\n");
  EXPECT_FALSE(end(file, 2, "FINISHED", "r3"));
  EXPECT_TRUE(fs::exists(beside()));
  edit(kThree);
  ASSERT_TRUE(end(file, 0, "RUNNING", "r1"));
  EXPECT_EQ(text(), "Name,Command,Status,Run\na,echo 1,RUNNING,r1\nb,echo 2,,\nc,echo 3,FINISHED,r3\n");
  EXPECT_FALSE(fs::exists(beside())) << "all of it is in the file";
}

TEST_F(JobsStatus, OfARemovedFileDoesNotMakeItAnew) {
  JobsFile file = read();
  fs::remove(path_);
  const Status written = end(file, 0, "FINISHED", "r1");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().text(), HasSubstr("is no longer there"));
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_THAT(beside_text(), HasSubstr("1,,a,FINISHED,r1,"));
}

TEST_F(JobsStatus, OfAFileThatIsNoTableWaitsUntilItIs) {
  JobsFile file = read();
  for (const char* half : {"Name,Command\na,\"echo", "", "\n"}) {
    edit(half);
    static_cast<void>(end(file, 0, "RUNNING", "r1"));
    EXPECT_EQ(text(), half);
    EXPECT_THAT(beside_text(), HasSubstr("1,,a,RUNNING,r1,"));
  }
  edit(kThree);
  EXPECT_TRUE(end(file, 0, "FINISHED", "r1"));
  EXPECT_THAT(text(), HasSubstr("a,echo 1,FINISHED,r1\n"));
}

TEST_F(JobsStatus, EqualRowsAreToldApart) {
  edit("Command\ntrue\ntrue\ntrue\n");
  JobsFile file = read();
  ASSERT_TRUE(end(file, 1, "RUNNING", "r2"));
  edit("Command,Status,Run\nfalse,,\ntrue,RUNNING,r2\ntrue,,\n");  // the first was changed
  ASSERT_TRUE(end(file, 1, "FINISHED", "r2"));
  EXPECT_EQ(text(), "Command,Status,Run\nfalse,,\ntrue,FINISHED,r2\ntrue,,\n") << "known by its run";
  EXPECT_FALSE(end(file, 2, "FINISHED", "r3")) << "there are no three of them any more";
}

TEST_F(JobsStatus, TwoSessionsWriteToOneFile) {
  std::string all = "Name,Command\n";
  for (int i = 0; i < 40; ++i) all += fmt::format("n{},echo {}\n", i, i);
  edit(all);
  const auto write_every_second = [&](std::size_t first) {
    JobsFile file = read();
    for (std::size_t i = first; i < file.jobs.size(); i += 2)
      EXPECT_TRUE(end(file, i, "FINISHED", fmt::format("r{}", i)));
  };
  std::thread other([&] { write_every_second(1); });
  write_every_second(0);
  other.join();
  for (const JobRow& job : read().jobs) EXPECT_EQ(job.run, fmt::format("r{}", job.place - 1));
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(directory_->path())) ++files;
  EXPECT_EQ(files, 1U) << "nothing is left beside it";
}

TEST_F(JobsStatus, ALinkAndTheModeAreKept) {
  const fs::path link = directory_->path() / "link.csv";
  fs::create_symlink("jobs.csv", link);
  ASSERT_EQ(::chmod(path_.c_str(), 0640), 0);
  auto file = read_jobs(link);
  ASSERT_TRUE(file);
  ASSERT_TRUE(end(*file, 0, "FINISHED", "r1"));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_THAT(text(), HasSubstr("a,echo 1,FINISHED,r1\n"));
  struct stat facts{};
  ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0640U);
}

class TomlStatus : public JobsStatus {
 protected:
  void SetUp() override {
    path_ = directory_->path() / "jobs.toml";
    edit(job("one") + job("two"));
  }
  static std::string job(std::string_view name) {
    return fmt::format("[[workload]]\nname = \"{0}\"\n[[workload.job]]\ncommand = \"echo {0}\"\ncount = 2\n",
                       name);
  }
};

TEST_F(TomlStatus, StandsBesideAndFollowsItsJob) {
  JobsFile file = read();
  const std::string before = text();
  ASSERT_TRUE(end(file, 2, "FINISHED", "r3"));
  EXPECT_EQ(text(), before) << "what people wrote stays";
  edit(job("zero") + job("one") + job("two"));
  const JobsFile again = read();
  EXPECT_EQ(again.jobs[4].run, "r3") << "it has another place";
  EXPECT_TRUE(again.jobs[4].is_finished());
  EXPECT_EQ(again.jobs[2].run, "");
}

TEST_F(TomlStatus, TwoSessionsKeepEachOthers) {
  JobsFile one = read(), two = read();
  ASSERT_TRUE(end(one, 0, "FINISHED", "r1"));
  ASSERT_TRUE(end(two, 3, "FAILED", "r4"));
  ASSERT_TRUE(end(one, 1, "RUNNING", "r2"));
  const JobsFile again = read();
  EXPECT_EQ(again.jobs[0].run, "r1");
  EXPECT_EQ(again.jobs[1].run, "r2");
  EXPECT_EQ(again.jobs[3].status, "FAILED");
}

TEST_F(TomlStatus, OfAnEarlierVersionIsRead) {
  ASSERT_TRUE(
      write_file(beside(), "Place,Workload,Name,Status,Run\n1,one,job-1,FINISHED,r1\n9,x,y,FAILED,r9\n"));
  JobsFile file = read();
  EXPECT_TRUE(file.jobs[0].is_finished());
  ASSERT_TRUE(end(file, 1, "FAILED", "r2"));
  EXPECT_TRUE(read().jobs[0].is_finished());
  EXPECT_EQ(read().jobs[1].status, "FAILED");
}

}  // namespace
}  // namespace plimsoll::running
