#include "store/checkpointer.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/files.hpp"
#include "store/sqlite.hpp"

namespace plimsoll::store {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// A file with a write-ahead log, whose commits are of a few pages each.
class CheckpointerTest : public testing::Test {
 protected:
  CheckpointerTest() : path_(directory_.path() / "a.db") {
    sqlite3* made = nullptr;
    sqlite3_open(path_.c_str(), &made);
    sqlite3_exec(made, "PRAGMA journal_mode = WAL; CREATE TABLE t(b BLOB)", nullptr, nullptr, nullptr);
    sqlite3_close(made);
    writer_ = SqliteDatabase::open(path_, 1000ms).value();
    EXPECT_TRUE(writer_->execute("PRAGMA synchronous = NORMAL"));
    writer_->leave_log_to_another();
  }
  /// About five pages each.
  void commit(int times) {
    for (int i = 0; i < times; ++i) ASSERT_TRUE(writer_->execute("INSERT INTO t VALUES (randomblob(16000))"));
  }
  [[nodiscard]] std::uintmax_t log_bytes() const { return fs::file_size(path_.string() + "-wal"); }

  TemporaryDirectory directory_ = TemporaryDirectory::make("checkpointer-test").value();
  fs::path path_;
  std::unique_ptr<SqliteDatabase> writer_;
};

TEST_F(CheckpointerTest, MovesALongLogWithoutTheWriter) {
  const std::uintmax_t before = fs::file_size(path_);
  commit(150);
  EXPECT_EQ(fs::file_size(path_), before);  // it is not worth it yet
  commit(150);                              // fewer than those that the writer would move itself
  for (int i = 0; i < 200 && fs::file_size(path_) == before; ++i) std::this_thread::sleep_for(50ms);
  EXPECT_GT(fs::file_size(path_), before + 2'000'000);
}

TEST_F(CheckpointerTest, TheLogStaysShortUnderAWriterWithoutAPause) {
  std::uintmax_t longest = 0;
  for (int i = 0; i < 60; ++i) {
    commit(100);
    longest = std::max(longest, log_bytes());
  }
  EXPECT_LT(longest, 24U << 20U);  // of 120 MB that were written
}

TEST_F(CheckpointerTest, AllIsThereAfterwards) {
  commit(1000);
  writer_.reset();
  EXPECT_FALSE(fs::exists(path_.string() + "-wal"));  // moved by the last to close
  auto again = SqliteDatabase::open(path_, 1000ms).value();
  Query query = again->query_once("SELECT count(*), sum(length(b)) FROM t");
  ASSERT_TRUE(query.next().value());
  EXPECT_EQ(query.integer(0), 1000);
  EXPECT_EQ(query.integer(1), 16'000'000);
}

}  // namespace
}  // namespace plimsoll::store
