#include "base/files.hpp"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace plimsoll {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class Files : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path in(std::string_view name) const { return directory_->path() / name; }
  [[nodiscard]] std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_->path()))
      names.push_back(entry.path().filename().string());
    return names;
  }
  static mode_t mode(const std::filesystem::path& path) {
    struct stat facts{};
    EXPECT_EQ(::stat(path.c_str(), &facts), 0);
    return facts.st_mode & 07777;
  }

  Result<TemporaryDirectory> directory_ = TemporaryDirectory::make("files-test");
};

TEST_F(Files, ComeBackAsWritten) {
  const std::string contents("zero \0 byte\nand more", 20);
  ASSERT_TRUE(write_file(in("a"), contents));
  EXPECT_EQ(read_file(in("a"), 20).value(), contents);
  EXPECT_THAT(listing(), testing::ElementsAre("a")) << "no temporary file may stay behind";
}

TEST_F(Files, AreReadUpToTheLimitAndNotBeyond) {
  ASSERT_TRUE(write_file(in("a"), "12345"));
  EXPECT_TRUE(read_file(in("a"), 5));
  const auto refused = read_file(in("a"), 4);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "is larger than 4 bytes");
  EXPECT_EQ(refused.error().where, in("a").string());
}

TEST_F(Files, WithoutAnAnnouncedSizeAreLimitedToo) {
  EXPECT_FALSE(read_file("/dev/zero", 1000));
  EXPECT_THAT(read_file("/proc/self/status", 1 << 20).value(), HasSubstr("Pid:"));
}

TEST_F(Files, ThatCannotBeReadSayWhy) {
  EXPECT_THAT(read_file(in("absent"), 1).error().message, HasSubstr("No such file"));
  EXPECT_THAT(read_file(directory_->path(), 1).error().message, HasSubstr("Is a directory"));
}

TEST_F(Files, KeepTheirPermissionsWhenReplaced) {
  ASSERT_TRUE(write_file(in("a"), "old"));
  std::filesystem::permissions(in("a"), std::filesystem::perms{0640});
  ASSERT_TRUE(write_file(in("a"), "new"));
  EXPECT_EQ(mode(in("a")), 0640U);
  EXPECT_EQ(read_file(in("a"), 100).value(), "new");
}

TEST_F(Files, GetTheUsualPermissionsWhenNew) {
  std::ofstream(in("plain")) << "x";
  ASSERT_TRUE(write_file(in("ours"), "x"));
  EXPECT_EQ(mode(in("ours")), mode(in("plain")));
}

TEST_F(Files, BehindALinkAreReplacedAndTheLinkStays) {
  ASSERT_TRUE(write_file(in("target"), "old"));
  std::filesystem::create_symlink("target", in("link"));
  ASSERT_TRUE(write_file(in("link"), "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(in("link")));
  EXPECT_EQ(read_file(in("target"), 100).value(), "new");
}

TEST_F(Files, ThatCannotBeWrittenLeaveNothingBehind) {
  EXPECT_THAT(write_file(in("no/such/place"), "x").error().message, HasSubstr("No such file"));
  std::filesystem::create_directory(in("folder"));
  EXPECT_THAT(write_file(in("folder"), "x").error().message, HasSubstr("Is a directory"));
  EXPECT_THAT(listing(), testing::ElementsAre("folder"));
}

TEST_F(Files, ThatAreDevicesAreWrittenToDirectly) {
  EXPECT_TRUE(write_file("/dev/null", "x"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(TemporaryDirectory, IsPrivateAndGoesWithAllItHolds) {
  std::filesystem::path path;
  {
    auto made = TemporaryDirectory::make();
    ASSERT_TRUE(made);
    path = made->path();
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
    ASSERT_TRUE(write_file(path / "a", "x"));
    const TemporaryDirectory moved = std::move(*made);
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace plimsoll
