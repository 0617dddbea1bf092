#include "run/provenance.hpp"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "base/process.hpp"

namespace plimsoll::running {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Provenance, SecretsAreMasked) {
  EXPECT_EQ(masked("WANDB_API_KEY", "abc"), "***");
  EXPECT_EQ(masked("DATABASE_URL", "postgres://me:hunter2@host/db"), "postgres://***@host/db");
  EXPECT_EQ(masked("OMP_NUM_THREADS", "4"), "4");
  EXPECT_THAT(
      masked_command({"train", "--token", "abc", "--lr", "0.1", "--api-key=xyz", "--password", "-dash"}),
      ElementsAre("train", "--token", "***", "--lr", "0.1", "--api-key=***", "--password", "***"));
  EXPECT_EQ(masked("HEADER", "Authorization: Bearer abc"), "Authorization: Bearer ***");
  for (const char* open : {"--tokenizer", "--max-tokens", "KEYBOARD", "MONKEY"})
    EXPECT_FALSE(is_secret_name(open)) << open;
  for (const char* secret : {"PGPASSWORD", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "apiKey", "--auth"})
    EXPECT_TRUE(is_secret_name(secret)) << secret;
}

TEST(Provenance, KeepsChosenVariablesAndNoOthers) {
  ASSERT_EQ(setenv("CUDA_PLIMSOLL_TEST", "1", 1), 0);
  ASSERT_EQ(setenv("PLIMSOLL_OTHER_TEST", "private-value", 1), 0);
  ASSERT_EQ(setenv("CUDA_SECRET_TEST", "hunter2", 1), 0);
  Job job{.command = {"true"}};
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
  Job job{.command = {"true"}};
  job.directory = directory->path();
  EXPECT_EQ(provenance_of(job, {}).tags.at("plimsoll.git.dirty"), "false");
  ASSERT_TRUE(write_file(directory->path() / "a.py", "x = 2\n"));
  const Provenance dirty = provenance_of(job, {});
  EXPECT_EQ(dirty.tags.at("plimsoll.git.revision").size(), 40U);
  EXPECT_EQ(dirty.tags.at("plimsoll.git.dirty"), "true");
  EXPECT_THAT(dirty.files.at("git.diff"), HasSubstr("+x = 2"));
}

TEST(Provenance, AFingerprintIsOfCommandAndDirectory) {
  const Job a{.command = {"a", "b"}};
  EXPECT_EQ(fingerprint(a), fingerprint(Job{.command = {"a", "b"}}));
  EXPECT_NE(fingerprint(a), fingerprint(Job{.command = {"ab"}}));
  Job elsewhere = a;
  elsewhere.directory = "/tmp";
  EXPECT_NE(fingerprint(a), fingerprint(elsewhere));
}

}  // namespace
}  // namespace plimsoll::running
