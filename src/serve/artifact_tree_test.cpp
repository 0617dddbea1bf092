#include "serve/artifact_tree.hpp"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.hpp"

namespace plimsoll::serve {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class ArtifactTree : public testing::Test {
 protected:
  ArtifactTree() : folder_(*TemporaryDirectory::make()), root_(folder_.path() / "root") {
    fs::create_directory(root_);
    write(folder_.path() / "secret", "secret");
  }

  static void write(const fs::path& path, std::string_view text) { std::ofstream(path) << text; }
  static ArtifactPath path(std::string_view text) { return *ArtifactPath::parse(text); }

  Status put(std::string_view place, std::string_view text) {
    write(folder_.path() / "upload", text);
    ReceivedFile file(folder_.path() / "upload");
    return put_artifact(root_, path(place), file);
  }

  TemporaryDirectory folder_;
  fs::path root_;
};

TEST(ArtifactPath, PathsThatStayInTheirFolder) {
  EXPECT_EQ(ArtifactPath::parse("a/b.txt")->text(), "a/b.txt");
  EXPECT_EQ(ArtifactPath::parse("./a//b/")->text(), "a/b");
  EXPECT_TRUE(ArtifactPath::parse("")->empty());
  EXPECT_TRUE(ArtifactPath::parse(".")->empty());
  EXPECT_EQ(ArtifactPath::parse("..a/b..")->text(), "..a/b..");
  EXPECT_EQ(ArtifactPath::parse("folder\\a.txt")->parts().size(), 1U) << "a backslash is a letter of a name";
  EXPECT_EQ(ArtifactPath::parse("a:b/c")->text(), "a:b/c");
}

TEST(ArtifactPath, PathsThatClimbOrHideAreRefused) {
  for (const char* path : {"..", "../a", "a/../../b", "/etc/passwd", "..\\a", "a\\..\\..\\b", "a/..\\b",
                           "\\\\server\\a", "C:\\a", "c:/a", "a\nb", "a#b", "a\x7F"})
    EXPECT_FALSE(ArtifactPath::parse(path)) << path;
  EXPECT_FALSE(ArtifactPath::parse(std::string(5000, 'a')));
  EXPECT_FALSE(ArtifactPath::parse(std::string(256, 'a')));
  std::string deep;
  for (int i = 0; i < 65; ++i) deep += "a/";
  EXPECT_FALSE(ArtifactPath::parse(deep));
}

TEST_F(ArtifactTree, PutsListsOpensAndRemoves) {
  ASSERT_TRUE(put("model/data/weights.bin", "12345"));
  ASSERT_TRUE(put("note.txt", "hello"));
  ASSERT_TRUE(put("note.txt", "again"));
  EXPECT_THAT(*list_artifacts(root_, path("")),
              ElementsAre(ArtifactEntry{"model", true, 0}, ArtifactEntry{"note.txt", false, 5}));
  EXPECT_THAT(*list_artifacts(root_, path("model/data")),
              ElementsAre(ArtifactEntry{"weights.bin", false, 5}));
  EXPECT_THAT(*list_artifacts(root_, path("note.txt")), ElementsAre());
  EXPECT_THAT(*list_artifacts(root_, path("nowhere")), ElementsAre());
  EXPECT_EQ(open_artifact(root_, path("model/data/weights.bin"))->bytes, 5U);
  EXPECT_TRUE(remove_artifact(root_, path("model")));
  EXPECT_FALSE(fs::exists(root_ / "model"));
  EXPECT_TRUE(remove_artifact(root_, path("")));
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(ArtifactTree, AFileThatHasItsPlaceLeavesItsOldNameAlone) {
  const fs::path upload = folder_.path() / "upload";
  write(upload, "first");
  {
    ReceivedFile file(upload);
    ASSERT_TRUE(put_artifact(root_, path("a"), file));
    write(upload, "another's");
  }
  EXPECT_TRUE(fs::exists(upload));
  {
    ReceivedFile file(upload);
    EXPECT_FALSE(put_artifact(root_, path("a/below"), file));
  }
  EXPECT_FALSE(fs::exists(upload));
}

TEST_F(ArtifactTree, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(open_artifact(root_, path("a/b")).error().kind, Error::Kind::not_found);
  EXPECT_EQ(remove_artifact(root_, path("a")).error().kind, Error::Kind::not_found);
  ASSERT_TRUE(put("folder/file", "x"));
  EXPECT_FALSE(open_artifact(root_, path("folder")));
  EXPECT_FALSE(put("folder", "a file in a folder's place"));
  EXPECT_FALSE(put("folder/file/below", "a folder in a file's place"));
}

TEST_F(ArtifactTree, FollowsNoSymbolicLink) {
  fs::create_symlink(folder_.path(), root_ / "out");
  fs::create_symlink(folder_.path() / "secret", root_ / "link");
  EXPECT_FALSE(open_artifact(root_, path("out/secret")));
  EXPECT_FALSE(open_artifact(root_, path("link")));
  EXPECT_THAT(*list_artifacts(root_, path("")), ElementsAre());
  EXPECT_THAT(*list_artifacts(root_, path("out")), ElementsAre());
  EXPECT_FALSE(put("out/new", "x"));
  EXPECT_FALSE(fs::exists(folder_.path() / "new"));
  ASSERT_TRUE(put("link", "in the link's place"));
  EXPECT_EQ(*read_file(folder_.path() / "secret", 100), "secret");
  fs::create_symlink(folder_.path() / "secret", root_ / "second");
  EXPECT_TRUE(remove_artifact(root_, path("second")));  // the link, not what it points at
  EXPECT_TRUE(remove_artifact(root_, path("out")));
  EXPECT_TRUE(fs::exists(folder_.path() / "secret"));
}

TEST_F(ArtifactTree, APipeIsNoArtifactAndKeepsNobodyWaiting) {
  ASSERT_EQ(::mkfifo((root_ / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(open_artifact(root_, path("pipe")));
  EXPECT_THAT(*list_artifacts(root_, path("")), ElementsAre());
}

}  // namespace
}  // namespace plimsoll::serve
