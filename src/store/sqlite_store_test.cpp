// What holds of a store in a file.
#include <cstdlib>
#include <fstream>

#include <sqlite3.h>
#include <sys/stat.h>

#include "store/points.hpp"
#include "store/schema.hpp"
#include "store/test_store.hpp"

namespace plimsoll::store {
namespace {

using test::counting;
using test::StoreTest;

/// Runs statements on the file beside the store, as another program might.
void tamper(const std::filesystem::path& path, const char* sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
  sqlite3_close(handle);
}

mode_t permissions(const std::filesystem::path& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 ? facts.st_mode & 0777 : 0;
}

TEST_F(StoreTest, IsForThisUserOnly) {
  EXPECT_EQ(permissions(path_.parent_path()), 0700U);
  EXPECT_EQ(permissions(path_), 0600U);
  new_run();
  EXPECT_EQ(permissions(path_.string() + "-wal"), 0600U);
}

TEST_F(StoreTest, FindsByTheBeginningOfAnId) {
  const std::string id = new_run();
  tamper(path_,
         "INSERT INTO run(id, experiment, name, status, start) VALUES "
         "('abcd0000000000000000000000000000', 0, 'one', 'RUNNING', 1),"
         "('abcd1000000000000000000000000000', 0, 'two', 'RUNNING', 1)");
  EXPECT_EQ(store_->find(id.substr(0, 20))->id, id);
  EXPECT_EQ(store_->find("ABCD0")->name, "one");
  const Result<store::Run> several = store_->find("abcd");
  ASSERT_FALSE(several);
  EXPECT_NE(several.error().text().find("several"), std::string::npos);
  EXPECT_NE(several.error().hint.find("abcd10000000 'two'"), std::string::npos) << several.error().hint;
  for (const char* wrong : {"", "abc", "xyzw", "ffffffffffffffffffffffffffffffff", "abcd' OR 1=1 --",
                            "abcd00000000000000000000000000000"})
    EXPECT_FALSE(store_->find(wrong)) << wrong;
}

/// Chunks of all metrics in the file.
std::int64_t chunks(const std::filesystem::path& path) {
  sqlite3* handle = nullptr;
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  EXPECT_EQ(sqlite3_prepare_v2(handle, "SELECT count(*) FROM chunk", -1, &statement, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
  const std::int64_t count = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  sqlite3_close(handle);
  return count;
}

TEST_F(StoreTest, JoinsSmallChunksByItselfAndWhenAsked) {
  const std::string id = new_run();
  constexpr std::int64_t kTotal = 10'000, kEach = 10;
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < kTotal; i += kEach) {
    ASSERT_TRUE(store_->append({{Batch{id, "m", {}, counting(i, kEach)}}}));
    if (i % 500 == 0) most = std::max(most, chunks(path_));
  }
  EXPECT_LE(most, 2 + kManyChunks) << "two full ones, and those that wait to be joined";
  EXPECT_EQ(store_->history(id, "m"), counting(0, kTotal));
  ASSERT_TRUE(store_->compact(id));
  EXPECT_EQ(chunks(path_), 3);  // 4096, 4096, 1808
  EXPECT_EQ(store_->history(id, "m"), counting(0, kTotal));
  ASSERT_TRUE(store_->compact(id));
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, counting(kTotal, 8192)}}}));
  ASSERT_TRUE(store_->compact(id));
  EXPECT_EQ(chunks(path_), 5);
  EXPECT_EQ(store_->history(id, "m"), counting(0, kTotal + 8192));
  EXPECT_EQ(store_->find(id)->metrics.at("m").points, kTotal + 8192);
}

TEST_F(StoreTest, StaysQuickAndWholeWhenPointsComeOneByOne) {
  const std::string id = new_run();
  constexpr std::int64_t kTotal = 9000;
  // Several points of one metric in one call as well as one: chunks of every size come together.
  std::int64_t next = 0;
  for (std::int64_t call = 0; next < kTotal; ++call) {
    std::vector<Batch> batches;
    for (std::int64_t i = 0; i < 100; ++i) {
      const std::int64_t count = call % 7 == 3 && i == 50 ? 200 : 1;
      batches.push_back({id, "m", {}, counting(next, count)});
      next += count;
    }
    ASSERT_TRUE(store_->append(batches));
    ASSERT_LE(chunks(path_), next / 4096 + 128);
    ASSERT_EQ(store_->history(id, "m"), counting(0, next));
  }
  ASSERT_TRUE(store_->compact(id));
  EXPECT_EQ(chunks(path_), (next + 4095) / 4096);
  EXPECT_EQ(store_->history(id, "m"), counting(0, next));
}

TEST_F(StoreTest, KeepsNewPointsBesideADamagedChunk) {
  const std::string id = new_run();
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, counting(0, 5)}, Batch{id, "other", {}, counting(0, 5)}}}));
  tamper(path_, "UPDATE chunk SET bytes = x'0102' WHERE metric = 1");
  for (int i = 1; i < 140; ++i) ASSERT_TRUE(store_->append({{Batch{id, "m", {}, counting(5 * i, 5)}}}));
  const Result<std::vector<Point>> history = store_->history(id, "m");
  ASSERT_FALSE(history);
  EXPECT_NE(history.error().text().find("metric 'm'"), std::string::npos) << history.error().text();
  EXPECT_EQ(store_->history(id, "other"), counting(0, 5));
  EXPECT_EQ(store_->find(id)->metrics.at("m").points, 700);
  for (int i = 1; i < 40; ++i) ASSERT_TRUE(store_->append({{Batch{id, "other", {}, counting(5 * i, 5)}}}));
  const std::int64_t before = chunks(path_);
  EXPECT_TRUE(store_->compact(id));
  EXPECT_EQ(chunks(path_), before - 39) << "the other metric is joined all the same";
  EXPECT_EQ(store_->history(id, "other"), counting(0, 200));
}

TEST_F(StoreTest, RefusesCountsThatNobodyWrote) {
  const std::string id = new_run();
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, counting(0, 5)}}}));
  for (const char* sql :
       {"UPDATE metric SET full_chunks = -9223372036854775808",
        "UPDATE metric SET full_chunks = 9223372036854775807, chunks = 9223372036854775807"}) {
    tamper(path_, sql);
    const Status status = store_->append({{Batch{id, "m", {}, counting(5, 5)}}});
    ASSERT_FALSE(status) << sql;
    EXPECT_NE(status.error().text().find("damaged"), std::string::npos) << status.error().text();
    EXPECT_TRUE(store_->compact(id)) << "nothing to join";
    EXPECT_EQ(store_->history(id, "m"), counting(0, 5));
  }
}

TEST_F(StoreTest, OfAnotherProgramIsRefusedAndUntouched) {
  const std::filesystem::path other = directory_->path() / "other.db";
  tamper(other, "CREATE TABLE notes(text); INSERT INTO notes VALUES ('mine')");
  const std::filesystem::path text = directory_->path() / "text.db";
  std::ofstream(text) << "These are lines of a log, and no database.\n";
  for (const auto& file : {other, text}) {
    const std::string before = read_file(file, 1 << 20).value_or("");
    const Result<std::unique_ptr<Store>> opened = open(file.string());
    ASSERT_FALSE(opened) << file;
    EXPECT_EQ(opened.error().kind, Error::Kind::bad_input);
    EXPECT_NE(opened.error().hint.find("not changed"), std::string::npos) << opened.error().hint;
    EXPECT_EQ(read_file(file, 1 << 20).value_or("gone"), before);
    EXPECT_FALSE(std::filesystem::exists(file.string() + "-wal"));
  }
}

TEST_F(StoreTest, OfANewerVersionIsRefused) {
  const std::string id = new_run();
  store_.reset();
  tamper(path_, "PRAGMA user_version = 1000");
  const Result<std::unique_ptr<Store>> opened = open(path_.string());
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().text().find("version 1000"), std::string::npos) << opened.error().text();
  tamper(path_, fmt::format("PRAGMA user_version = {}", schema_version()).c_str());
  store_ = reopened();
  EXPECT_TRUE(store_->find(id));
}

TEST_F(StoreTest, ThatIsDamagedSaysSo) {
  for (int i = 0; i < 50; ++i) new_run({.name = std::string(500, 'x')});
  store_.reset();
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    file << std::string(8 * 4096, '\x55');
  }
  const Result<std::unique_ptr<Store>> opened = open(path_.string());
  const Result<std::vector<store::Run>> runs =
      opened ? (*opened)->search({}) : std::unexpected(opened.error());
  ASSERT_FALSE(runs);
  EXPECT_NE(runs.error().text().find("damaged"), std::string::npos) << runs.error().text();
}

TEST_F(StoreTest, WorksWithARollbackJournalToo) {
  const std::string id = new_run();
  const auto logged = [&] { return std::filesystem::exists(path_.string() + "-wal"); };
  ASSERT_TRUE(logged());
  store_.reset();
  store_ = reopened({.journal = Journal::rollback});
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, counting(0, 5000)}}}));
  EXPECT_FALSE(logged());
  const auto other = reopened({.busy_timeout = std::chrono::milliseconds(50), .journal = Journal::rollback});
  ASSERT_NE(other, nullptr);
  ASSERT_TRUE(other->append({{Batch{id, "m", {}, counting(5000, 10)}}}));
  EXPECT_EQ(store_->history(id, "m"), counting(0, 5010));
}

TEST_F(StoreTest, IsNotMadeWhereThatIsNotWanted) {
  const std::filesystem::path absent = directory_->path() / "none" / "x.db";
  const Result<std::unique_ptr<Store>> opened = open(absent.string(), {.create = false});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().text().find("no store yet"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(absent.parent_path()));
}

TEST_F(StoreTest, CannotBeADirectoryOrAnythingElse) {
  EXPECT_FALSE(open(directory_->path().string()));
  EXPECT_FALSE(open("mysql://localhost/runs"));
  EXPECT_FALSE(open("/dev/null"));
  const Result<std::unique_ptr<Store>> opened = open("/proc/store/plimsoll.db");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, Error::Kind::machine_lacks);
}

TEST_F(StoreTest, IsFoundThroughTheEnvironment) {
  const auto opened_at = [] {
    const Result<std::unique_ptr<Store>> opened = open();
    return opened ? (*opened)->location() : opened.error().text();
  };
  const std::string root = directory_->path().string();
  ::unsetenv("PLIMSOLL_STORE");
  ::unsetenv("XDG_DATA_HOME");
  ::setenv("HOME", root.c_str(), 1);
  EXPECT_EQ(opened_at(), root + "/.local/share/plimsoll/plimsoll.db");
  ::setenv("XDG_DATA_HOME", (root + "/data").c_str(), 1);
  EXPECT_EQ(opened_at(), root + "/data/plimsoll/plimsoll.db");
  ::setenv("PLIMSOLL_STORE", (root + "/mine.db").c_str(), 1);
  EXPECT_EQ(opened_at(), root + "/mine.db");
  ::unsetenv("PLIMSOLL_STORE");
  ::unsetenv("XDG_DATA_HOME");
}

TEST_F(StoreTest, GivesSpaceBackWhenRunsArePurged) {
  const std::string kept = new_run(), gone = new_run();
  ASSERT_TRUE(store_->append({{Batch{kept, "m", {}, counting(0, 20'000)}}}));
  ASSERT_TRUE(store_->append({{Batch{gone, "m", {}, counting(0, 500'000)}}}));
  store_.reset();  // the log is written into the file
  store_ = reopened();
  const auto before = std::filesystem::file_size(path_);
  ASSERT_TRUE(store_->remove(gone));
  EXPECT_EQ(store_->purge(), 1U);
  EXPECT_EQ(chunks(path_), 5) << "of the run that is kept";
  EXPECT_LT(std::filesystem::file_size(path_), before / 3);
  EXPECT_EQ(store_->history(kept, "m"), counting(0, 20'000));
}

}  // namespace
}  // namespace plimsoll::store
