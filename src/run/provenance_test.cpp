#include "run/provenance.hpp"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "base/process.hpp"

namespace plimsoll::running {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Provenance, KeepsChosenVariablesAndNoOthers) {
  ASSERT_EQ(setenv("CUDA_PLIMSOLL_TEST", "1", 1), 0);
  ASSERT_EQ(setenv("PLIMSOLL_OTHER_TEST", "private-value", 1), 0);
  ASSERT_EQ(setenv("CUDA_SECRET_TEST", "hunter2", 1), 0);
  JobSpec job{.command = {"true"}};
  job.environment = {{"SEED", "3"}};
  const std::string kept = provenance_of(job, {}).files.at("environment.json");
  EXPECT_THAT(kept, HasSubstr("\"CUDA_PLIMSOLL_TEST\": \"1\""));
  EXPECT_THAT(kept, HasSubstr("\"SEED\": \"3\""));
  EXPECT_THAT(kept, Not(HasSubstr("private-value")));
  EXPECT_THAT(kept, Not(HasSubstr("hunter2")));
  EXPECT_THAT(provenance_of(job, {"PLIMSOLL_OTHER_TEST"}).files.at("environment.json"),
              HasSubstr("private-value"));
}

TEST(Provenance, TellsTheRevisionAndWhatIsNotCommitted) {
  if (!find_program("git")) GTEST_SKIP() << "git is not installed";
  const auto directory = TemporaryDirectory::make();
  ASSERT_TRUE(directory);
  const auto git = [&](std::vector<std::string> words) {
    words.insert(words.begin(),
                 {"git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"});
    const auto done = run({.argv = words, .directory = directory->path()});
    ASSERT_TRUE(done && done->succeeded()) << (done ? done->error : done.error().text());
  };
  git({"init", "-q"});
  ASSERT_TRUE(write_file(directory->path() / "a.py", "x = 1\n"));
  git({"add", "."});
  git({"commit", "-qm", "a"});
  JobSpec job{.command = {"true"}};
  job.directory = directory->path();
  // git has some seconds to answer, which a very busy machine may not give it at once.
  const auto told = [&] {
    Provenance out = git_facts(job);
    for (int i = 0; i < 30 && !out.tags.contains("plimsoll.git.dirty"); ++i) out = git_facts(job);
    return out;
  };
  EXPECT_EQ(told().tags.at("plimsoll.git.dirty"), "false");
  ASSERT_TRUE(write_file(directory->path() / "a.py", "x = 2\n"));
  const Provenance dirty = told();
  EXPECT_EQ(dirty.tags.at("plimsoll.git.revision").size(), 40U);
  EXPECT_EQ(dirty.tags.at("plimsoll.git.dirty"), "true");
  EXPECT_THAT(dirty.files.at("git.diff"), HasSubstr("+x = 2"));
  EXPECT_FALSE(dirty.tags.contains("plimsoll.git.diff")) << "nothing is left out of it";

  ASSERT_TRUE(write_file(directory->path() / "a.py",
                         "url = \"https://me:hunter2@host/x\"\nos.environ[\"A\"] = "
                         "\"hf_abcdefghijklmnopqrstuvwxyz123456\"\npassword = \"correct horse\"\nx = 3\n"));
  const Provenance secret = told();
  EXPECT_THAT(secret.files.at("git.diff"), HasSubstr("+x = 3"));
  for (const char* part : {"hunter2", "hf_abc", "horse"})
    EXPECT_THAT(secret.files.at("git.diff"), Not(HasSubstr(part)));
  EXPECT_THAT(secret.tags.at("plimsoll.git.diff"), HasSubstr("masked"));

  std::string large;
  while (large.size() < (std::size_t{17} << 20))
    large += "a line of data that is like many others, 0123456789\n";
  ASSERT_TRUE(write_file(directory->path() / "a.py", large));
  const Provenance cut = told();
  EXPECT_THAT(cut.tags.at("plimsoll.git.diff"), HasSubstr("cut after 16 MiB"));
  EXPECT_THAT(cut.files.at("git.diff").substr(cut.files.at("git.diff").size() - 80),
              HasSubstr("cut after 16 MiB"));
}

TEST(Provenance, AFingerprintIsOfCommandAndDirectory) {
  const JobSpec a{.command = {"a", "b"}};
  EXPECT_EQ(fingerprint(a), fingerprint(JobSpec{.command = {"a", "b"}}));
  EXPECT_NE(fingerprint(a), fingerprint(JobSpec{.command = {"ab"}}));
  JobSpec elsewhere = a;
  elsewhere.directory = "/tmp";
  EXPECT_NE(fingerprint(a), fingerprint(elsewhere));
}

}  // namespace
}  // namespace plimsoll::running
