#include "store/checkpointer.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.hpp"
#include "store/sqlite.hpp"

namespace plimsoll::store {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// So long that only what never comes is not there by then.
constexpr auto kNever = 300s;

template <class Condition>
bool comes_true(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + kNever;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

/// A file with a write-ahead log, whose commits are of a few pages each.
class CheckpointerTest : public testing::Test {
 protected:
  /// What the log may take: its longest, and the commit that made it so. A page has 24 bytes before it.
  static constexpr std::uintmax_t kLongestBytes = std::uintmax_t{kLongestLog + 10} * (4096 + 24);

  CheckpointerTest() : path_(directory_.path() / "a.db") {
    sqlite3* made = nullptr;
    sqlite3_open(path_.c_str(), &made);
    sqlite3_exec(made, "PRAGMA journal_mode = WAL; CREATE TABLE t(b BLOB)", nullptr, nullptr, nullptr);
    sqlite3_close(made);
    write_with_patience(4 * kNever);
  }
  /// A quarter of it is what the writer waits for readers.
  void write_with_patience(std::chrono::milliseconds busy) {
    writer_ = SqliteDatabase::open(path_, busy).value();
    EXPECT_TRUE(writer_->execute("PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 16777216"));
    writer_->leave_log_to_another();
  }
  /// About five pages each.
  void commit(int times) {
    for (int i = 0; i < times; ++i) ASSERT_TRUE(writer_->execute("INSERT INTO t VALUES (randomblob(16000))"));
  }
  /// Some 120 MB, without a pause; the longest that the log was.
  std::uintmax_t commit_without_a_pause() {
    std::uintmax_t longest = 0;
    for (int i = 0; i < 60; ++i) {
      commit(100);
      longest = std::max(longest, log_bytes());
    }
    return longest;
  }
  [[nodiscard]] std::uintmax_t log_bytes() const { return fs::file_size(path_.string() + "-wal"); }

  TemporaryDirectory directory_ = TemporaryDirectory::make("checkpointer-test").value();
  fs::path path_;
  std::unique_ptr<SqliteDatabase> writer_;
};

/// Holds every thread but the one that made it before it writes to a file through SQLite, until `may_go`.
class OthersHeldUp {
 public:
  explicit OthersHeldUp(std::function<bool()> may_go) {
    may_go_ = std::move(may_go);
    free_ = std::this_thread::get_id();
    set("write", reinterpret_cast<sqlite3_syscall_ptr>(&OthersHeldUp::write));
    set("pwrite", reinterpret_cast<sqlite3_syscall_ptr>(&OthersHeldUp::pwrite));
    set("pwrite64", reinterpret_cast<sqlite3_syscall_ptr>(&OthersHeldUp::pwrite));
  }
  OthersHeldUp(const OthersHeldUp&) = delete;
  OthersHeldUp& operator=(const OthersHeldUp&) = delete;
  ~OthersHeldUp() {
    for (const char* name : {"write", "pwrite", "pwrite64"}) set(name, nullptr);
  }
  [[nodiscard]] static bool held_one() { return held_; }

 private:
  static void set(const char* name, sqlite3_syscall_ptr call) {
    sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
    system->xSetSystemCall(system, name, call);
  }
  static void wait() {
    if (std::this_thread::get_id() == free_) return;
    held_ = true;
    EXPECT_TRUE(comes_true(may_go_));
  }
  static ssize_t write(int file, const void* data, std::size_t size) {
    wait();
    return ::write(file, data, size);
  }
  static ssize_t pwrite(int file, const void* data, std::size_t size, off_t at) {
    wait();
    return ::pwrite(file, data, size, at);
  }

  static inline std::function<bool()> may_go_;
  static inline std::thread::id free_;
  static inline std::atomic<bool> held_ = false;
};

TEST_F(CheckpointerTest, MovesALongLogWithoutTheWriter) {
  const std::uintmax_t before = fs::file_size(path_);
  commit(150);
  EXPECT_EQ(fs::file_size(path_), before);  // it is not worth it yet
  commit(150);                              // fewer than those that the writer would move itself
  EXPECT_TRUE(comes_true([&] { return fs::file_size(path_) > before + 2'000'000; }));
}

TEST_F(CheckpointerTest, TheLogStaysShortUnderAWriterWithoutAPause) {
  EXPECT_LT(commit_without_a_pause(), kLongestBytes);
}

TEST_F(CheckpointerTest, TheLogStaysShortWhereTheThreadGetsNowhere) {
  // It goes on when the log is too long, or the writer has stopped: a second without a longer log. A machine
  // on which a commit takes a second lets it go too early, which harms nobody.
  std::uintmax_t seen = 0;
  auto since = std::chrono::steady_clock::now();
  bool gone = false;  // the thread's alone, as are the two before
  const OthersHeldUp held([&] {
    const std::uintmax_t now = log_bytes();
    if (now != seen) since = std::chrono::steady_clock::now();
    seen = now;
    return gone = gone || now > 2 * kLongestBytes || std::chrono::steady_clock::now() - since > 1s;
  });
  EXPECT_LT(commit_without_a_pause(), kLongestBytes);
  EXPECT_TRUE(comes_true([&] {
    commit(1);
    return OthersHeldUp::held_one();
  }));
  writer_.reset();
}

TEST_F(CheckpointerTest, TheLogStaysShortUnderReadersWithoutAPause) {
  // At any moment one of them reads: each ends only after the other has begun once more.
  constexpr int kReaders = 2;
  std::array<std::atomic<int>, kReaders> begun{};
  std::atomic<bool> stop = false;
  std::vector<std::thread> readers;
  for (std::size_t me = 0; me < kReaders; ++me)
    readers.emplace_back([&, me] {
      auto database = SqliteDatabase::open(path_, kNever).value();
      const std::atomic<int>& other = begun.at(1 - me);
      while (!stop) {
        EXPECT_TRUE(database->execute("BEGIN; SELECT count(*) FROM t"));
        const int others = other;
        ++begun.at(me);
        while (other == others && !stop) std::this_thread::sleep_for(1ms);
        EXPECT_TRUE(database->execute("COMMIT"));
      }
    });
  EXPECT_TRUE(comes_true([&] { return begun[0] > 0 && begun[1] > 0; }));
  EXPECT_LT(commit_without_a_pause(), kLongestBytes);
  stop = true;
  for (std::thread& reader : readers) reader.join();
}

TEST_F(CheckpointerTest, AReaderThatStaysHoldsUpTheLogAndNotTheWriter) {
  write_with_patience(4ms);
  auto reader = SqliteDatabase::open(path_, kNever).value();
  commit(1);
  ASSERT_TRUE(reader->execute("BEGIN; SELECT count(*) FROM t"));
  EXPECT_GT(commit_without_a_pause(), 100U << 20U);  // all of it, since the reader needs what was before it
  ASSERT_TRUE(reader->execute("COMMIT"));
  // The writer asks again after some pages, and the log has its usual size again.
  commit(300);
  EXPECT_LE(log_bytes(), 16U << 20U);
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
