#include "run/kept_files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file_descriptor.hpp"
#include "base/files.hpp"

namespace plimsoll::running {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A job's directory with files, and a private key outside of it.
class KeptFiles : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(directory_);
    job_.directory = root() / "job";
    job_.command = {"true"};
    fs::create_directories(job_.directory / "out");
    fs::create_directories(root() / "home");
    ASSERT_TRUE(write_file(job_.directory / "out" / "model.pt", "weights"));
    ASSERT_TRUE(write_file(key(), "private"));
  }

  [[nodiscard]] fs::path root() const { return directory_->path(); }
  [[nodiscard]] fs::path key() const { return root() / "home" / "id_rsa"; }
  [[nodiscard]] std::vector<std::string> keep(const std::string& named) const {
    return keep_files(job_, {named}, root() / "artifacts");
  }
  [[nodiscard]] std::string kept(const std::string& name) const {
    return read_file(root() / "artifacts" / "files" / name, 1000).value_or("");
  }

  Result<TemporaryDirectory> directory_ = TemporaryDirectory::make();
  JobSpec job_;
};

TEST_F(KeptFiles, OfTheJobsDirectoryAreKept) {
  EXPECT_THAT(keep("out/model.pt"), IsEmpty());
  EXPECT_EQ(kept("model.pt"), "weights");
  ASSERT_TRUE(write_file(job_.directory / "a.txt", "a"));
  EXPECT_THAT(keep((job_.directory / "a.txt").string()), IsEmpty()) << "by its whole path";
  EXPECT_EQ(kept("a.txt"), "a");
  EXPECT_THAT(keep("out/../a.txt"), IsEmpty());
  fs::create_symlink("out/model.pt", job_.directory / "latest.pt");
  EXPECT_THAT(keep("latest.pt"), IsEmpty()) << "a link that stays within";
  EXPECT_EQ(kept("latest.pt"), "weights");
}

TEST_F(KeptFiles, OutsideOfItAreNotKeptForSomethingThatWasPrinted) {
  fs::create_symlink(key(), job_.directory / "link.txt");
  fs::create_directory_symlink(root() / "home", job_.directory / "folder");
  fs::create_symlink("../../home/id_rsa", job_.directory / "out" / "relative.txt");
  for (const std::string& path :
       {key().string(), std::string("../home/id_rsa"), std::string("out/../../home/id_rsa"),
        std::string("link.txt"), std::string("folder/id_rsa"), std::string("out/relative.txt"),
        std::string("/proc/self/environ"), job_.directory.string() + "/../home/id_rsa"}) {
    EXPECT_THAT(keep(path), ElementsAre(HasSubstr("not below the job's directory"))) << path;
    EXPECT_EQ(kept(fs::path(path).filename().string()), "") << path;
  }
  job_.artifacts = {key()};
  EXPECT_THAT(keep_files(job_, {}, root() / "artifacts"), IsEmpty())
      << "who names it on the command line may";
  EXPECT_EQ(kept("id_rsa"), "private");
}

TEST_F(KeptFiles, ThatAreNoFilesAreNotKept) {
  ASSERT_EQ(::mkfifo((job_.directory / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(keep("pipe"), ElementsAre(HasSubstr("it is no file"))) << "and nobody waits for its other end";
  EXPECT_THAT(keep("out"), ElementsAre(HasSubstr("it is no file")));
  EXPECT_THAT(keep("."), ElementsAre(HasSubstr("it is no file")));
  EXPECT_THAT(keep("none.pt"), ElementsAre(HasSubstr("No such file")));
  EXPECT_THAT(keep("\x1b[2J"), ElementsAre(HasSubstr("\\x1b")))
      << "names are not written to terminals as they are";
}

TEST_F(KeptFiles, ManyTroublesAreFewLines) {
  const std::vector<std::string> named(1000, "none");
  const auto troubles = keep_files(job_, named, root() / "artifacts");
  ASSERT_EQ(troubles.size(), 6U);
  EXPECT_THAT(troubles.back(), HasSubstr("995 more"));
}

TEST_F(KeptFiles, WithoutOpenat2NothingLeavesTheDirectoryEither) {
  fs::create_symlink(key(), job_.directory / "link");
  fs::create_directory_symlink(root() / "home", job_.directory / "folder");
  const FileDescriptor folder(::open(job_.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto opens = [&](const fs::path& path) {
    return static_cast<bool>(FileDescriptor(open_without_links(folder.get(), path)));
  };
  EXPECT_TRUE(opens("out/model.pt"));
  EXPECT_TRUE(opens("./out/./model.pt"));
  for (const fs::path& path :
       {key(), job_.directory / "out" / "model.pt", fs::path("/etc/passwd"), fs::path("//etc/passwd"),
        fs::path("../home/id_rsa"), fs::path("out/../../home/id_rsa"), fs::path("link"),
        fs::path("folder/id_rsa"), fs::path("")})
    EXPECT_FALSE(opens(path)) << path;
}

}  // namespace
}  // namespace plimsoll::running
