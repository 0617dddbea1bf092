#include "base/new_folder.hpp"

#include <fstream>
#include <span>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

class NewFolders : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryDirectory::make("plimsoll-new-folder");
    ASSERT_TRUE(made);
    folder_ = std::make_unique<TemporaryDirectory>(*std::move(made));
    path_ = folder_->path() / "made";
    part_ = folder_->path() / "made.part";
  }
  static Status fill(const NewFolder& folder, std::string_view name) {
    auto file = folder.create(name);
    if (!file) return std::unexpected(file.error());
    if (Status written = file->write(std::as_bytes(std::span(name))); !written) return written;
    return file->finish();
  }
  [[nodiscard]] std::size_t files_in(const fs::path& path) const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
  std::unique_ptr<TemporaryDirectory> folder_;
  fs::path path_, part_;
};

TEST_F(NewFolders, AppearsWithAllItsFiles) {
  auto folder = NewFolder::begin(path_ / "");
  ASSERT_TRUE(folder) << folder.error().text();
  ASSERT_TRUE(fill(*folder, "a"));
  ASSERT_TRUE(fill(*folder, "b"));
  EXPECT_FALSE(fs::exists(path_));
  ASSERT_TRUE(folder->finish());
  EXPECT_FALSE(fs::exists(part_));
  EXPECT_EQ(files_in(path_), 2U);
  EXPECT_EQ(read_file(path_ / "b", 10).value_or("?"), "b");
}

TEST_F(NewFolders, LeavesNothingWhereItIsNotFinished) {
  {
    auto folder = NewFolder::begin(path_);
    ASSERT_TRUE(folder);
    ASSERT_TRUE(fill(*folder, "a"));
  }
  EXPECT_TRUE(fs::is_empty(folder_->path()));
}

TEST_F(NewFolders, ThrowsAwayWhatAnInterruptedProgramLeft) {
  fs::create_directory(part_);
  std::ofstream(part_ / ".plimsoll-part") << "";
  std::ofstream(part_ / "half") << "hal";
  auto folder = NewFolder::begin(path_);
  ASSERT_TRUE(folder) << folder.error().text();
  ASSERT_TRUE(fill(*folder, "whole"));
  ASSERT_TRUE(folder->finish());
  EXPECT_EQ(files_in(path_), 1U);
}

TEST_F(NewFolders, TouchesNothingThatAPersonPutThere) {
  fs::create_directory(part_);
  std::ofstream(part_ / "mine") << "mine";
  const auto folder = NewFolder::begin(path_);
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().text(), testing::HasSubstr("is in the way"));
  EXPECT_EQ(read_file(part_ / "mine", 10).value_or("?"), "mine");
}

TEST_F(NewFolders, RefusesWhatIsThereAlready) {
  fs::create_directory(path_);
  EXPECT_TRUE(NewFolder::begin(path_));  // empty
  std::ofstream(path_ / "file") << "";
  const auto folder = NewFolder::begin(path_);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().kind, Error::Kind::exists_already);
  EXPECT_FALSE(NewFolder::begin(path_ / "file"));
  EXPECT_FALSE(NewFolder::begin("/"));
  EXPECT_FALSE(NewFolder::begin(path_ / "not" / "there"));
}

TEST_F(NewFolders, FollowsNoLinks) {
  const fs::path elsewhere = folder_->path() / "elsewhere";
  fs::create_directory(elsewhere);
  fs::create_directory_symlink(elsewhere, part_);
  EXPECT_FALSE(NewFolder::begin(path_));
  EXPECT_TRUE(fs::is_empty(elsewhere));
}

TEST_F(NewFolders, HasOneWriterAtATime) {
  const auto first = NewFolder::begin(path_);
  ASSERT_TRUE(first);
  const auto second = NewFolder::begin(path_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, Error::Kind::unavailable);
}

}  // namespace
}  // namespace plimsoll
