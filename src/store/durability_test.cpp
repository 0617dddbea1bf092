// What stays when processes are killed, meet each other, or find the disk full. The children are real
// processes.
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include "store/test_process.hpp"
#include "store/test_store.hpp"

namespace plimsoll::store {
namespace {

using test::Child;
using test::counting;
using test::Pipe;

/// Without forked copies of an open connection, which SQLite forbids: each process opens the file
/// itself.
class Durability : public test::StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    run_ = new_run();
    store_.reset();
  }

  std::string run_;
};

/// What holds on every database.
class KilledWriters : public test::EveryStore {
 protected:
  void SetUp() override {
    EveryStore::SetUp();
    if (IsSkipped()) return;
    run_ = new_run();
    store_.reset();
  }

  /// Appends batch after batch from `first` on, and says through the pipe how far each call that returned has
  /// come.
  int append_for_ever(std::int64_t first, std::int64_t each, int acknowledge) {
    const Result<std::unique_ptr<Store>> store = open(location_, {.artifacts = directory_->path()});
    if (!store) return 1;
    for (std::int64_t next = first;;) {
      if (!(*store)->append({{Batch{run_, "m", {}, counting(next, each)}}})) return 2;
      next += each;
      if (::write(acknowledge, &next, sizeof next) != sizeof next) return 3;
    }
  }

  std::string run_;
};

/// For a lock that others pass on: they may be slow to.
constexpr std::chrono::milliseconds kPatient = std::chrono::minutes(5);

/// The last number that came through, none lost: a number is 8 bytes and written at once.
std::int64_t last_number(int descriptor, std::int64_t otherwise) {
  std::int64_t number = otherwise;
  while (::read(descriptor, &number, sizeof number) == sizeof number) {
  }
  return number;
}

TEST_P(KilledWriters, LeaveEveryAcknowledgedPointOfAMillion) {
  constexpr std::int64_t kTotal = 1'000'000, kEach = 1000;
  std::mt19937 random(2026);
  std::int64_t acknowledged = 0;
  int kills = 0;
  while (acknowledged < kTotal || kills < 10) {
    Pipe pipe;
    {
      Child child([&] { return append_for_ever(acknowledged, kEach, pipe.write.get()); });
      pipe.write.reset();
      // After a random number of answers, and a random moment within the next call.
      const auto answers = 1 + random() % 60;
      std::int64_t number = 0;
      for (unsigned i = 0; i < answers; ++i)
        ASSERT_EQ(::read(pipe.read.get(), &number, sizeof number), static_cast<ssize_t>(sizeof number));
      acknowledged = number;
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
      child.kill();
      ++kills;
    }
    acknowledged = last_number(pipe.read.get(), acknowledged);
    // A call that had not returned may have been whole, or nothing: a server may even finish it now. The next
    // begins after what was acknowledged, and what is there already comes once more, which shows nowhere.
    const auto store = reopened();
    const Result<store::Run> run = store->find(run_);
    ASSERT_TRUE(run) << run.error().text();
    ASSERT_GE(run->metrics.at("m").points, acknowledged);
  }
  const auto store = reopened();
  const Result<std::vector<Point>> history = store->history(run_, "m");
  ASSERT_TRUE(history) << history.error().text();
  const auto there = static_cast<std::int64_t>(history->size());
  EXPECT_TRUE(there == acknowledged || there == acknowledged + kEach) << there << " of " << acknowledged;
  EXPECT_EQ(*history, counting(0, there)) << "each once, in order";
  RecordProperty("points", static_cast<int>(acknowledged));
  RecordProperty("kills", kills);
}

PLIMSOLL_IN_EVERY_STORE(KilledWriters);

TEST_F(Durability, TwoWritersAtOnceLoseNothing) {
  constexpr int kBatches = 200;
  const auto writer = [&](const std::string& metric, std::int64_t first) {
    const Result<std::unique_ptr<Store>> store = open(path_.string(), {.busy_timeout = kPatient});
    if (!store) return 1;
    for (int i = 0; i < kBatches; ++i)
      if (!(*store)->append({{Batch{run_, metric, {}, counting(i * 10, 10)},
                              Batch{run_, "shared", {}, counting(first + i, 1)}}}))
        return 2;
    return 0;
  };
  Child one([&] { return writer("one", 0); });
  Child two([&] { return writer("two", kBatches); });
  EXPECT_EQ(one.wait(), 0);
  EXPECT_EQ(two.wait(), 0);
  const auto store = reopened();
  EXPECT_EQ(store->history(run_, "one"), counting(0, 10 * kBatches));
  EXPECT_EQ(store->history(run_, "two"), counting(0, 10 * kBatches));
  EXPECT_EQ(store->history(run_, "shared"), counting(0, 2 * kBatches));
}

TEST_F(Durability, ManyProcessesMayMakeTheStoreAtOnce) {
  const std::string fresh = (directory_->path() / "fresh" / "new.db").string();
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 8; ++i)
    children.push_back(std::make_unique<Child>([&fresh] {
      const Result<std::unique_ptr<Store>> store = open(fresh, {.busy_timeout = kPatient});
      return store && (*store)->create({}) ? 0 : 1;
    }));
  for (const auto& child : children) EXPECT_EQ(child->wait(), 0);
  const Result<std::unique_ptr<Store>> store = open(fresh);
  ASSERT_TRUE(store);
  EXPECT_EQ((*store)->search({})->size(), 8U);
}

/// Exit codes of the child below, each for one thing that went wrong.
enum class Full { as_it_should, cannot_open, never_full, wrong_kind, half_written, not_well_again };

Full fill_the_disk(const std::string& path, const std::string& run) {
  const Result<std::unique_ptr<Store>> store = open(path);
  if (!store) return Full::cannot_open;
  // No file of this process may become larger: what the disk answers when it is full. Data that compresses
  // badly.
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{rlim_t{1} << 20, limit.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  std::mt19937_64 random(1);
  std::size_t written = 0;
  Status last;
  for (int i = 0; i < 1000 && last; ++i) {
    std::vector<Point> points(1000);
    for (Point& p : points) p = {static_cast<Time>(random() >> 2U), 0, static_cast<double>(random())};
    last = (*store)->append({{Batch{run, "a", {}, points}, Batch{run, "b", {}, points}}});
    if (last) written += points.size();
  }
  if (last) return Full::never_full;
  if (last.error().kind != Error::Kind::unavailable || last.error().hint.empty()) return Full::wrong_kind;
  for (const char* metric : {"a", "b"}) {
    const Result<std::vector<Point>> history = (*store)->history(run, metric);
    if (!history || history->size() != written) return Full::half_written;
  }
  // A claim is taken or not; one that could not be is nobody's.
  const Result<ClaimAnswer> claim = (*store)->claims().take({"full", "me", std::chrono::hours(1)});
  if (!claim && claim.error().kind != Error::Kind::unavailable) return Full::wrong_kind;
  const Result<std::optional<Claim>> held = (*store)->claims().held("full");
  if (!held || held->has_value() != claim.has_value()) return Full::half_written;
  ::setrlimit(RLIMIT_FSIZE, &limit);
  if (!(*store)->append({{Batch{run, "a", {}, counting(0, 10)}}})) return Full::not_well_again;
  return Full::as_it_should;
}

TEST_F(Durability, AFullDiskIsAnErrorThatCanBeMended) {
  Child child([&] { return static_cast<int>(fill_the_disk(path_.string(), run_)); });
  EXPECT_EQ(child.wait(), static_cast<int>(Full::as_it_should));
  const auto store = reopened();
  const Result<std::vector<Point>> history = store->history(run_, "b");
  ASSERT_TRUE(history);
  EXPECT_GT(history->size(), 0U);
  EXPECT_EQ(store->history(run_, "a")->size(), history->size() + 10);
}

TEST_F(Durability, AStoreThatAnotherKeepsLockedIsAnErrorThatPasses) {
  Pipe locked, release;
  Child child([&] {
    sqlite3* handle = nullptr;
    if (sqlite3_open(path_.c_str(), &handle) != SQLITE_OK) return 1;
    if (sqlite3_exec(handle, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) != SQLITE_OK) return 2;
    char byte = 'x';
    if (::write(locked.write.get(), &byte, 1) != 1) return 3;
    if (::read(release.read.get(), &byte, 1) != 1) return 4;
    return sqlite3_exec(handle, "ROLLBACK", nullptr, nullptr, nullptr) == SQLITE_OK ? 0 : 5;
  });
  char byte = 0;
  ASSERT_EQ(::read(locked.read.get(), &byte, 1), 1);
  const auto store = reopened({.busy_timeout = std::chrono::milliseconds(50)});
  ASSERT_NE(store, nullptr);
  const std::vector<Batch> batches = {{run_, "m", {}, counting(0, 10)}};
  const Status refused = store->append(batches);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::unavailable);
  EXPECT_NE(refused.error().text().find("locked"), std::string::npos) << refused.error().text();
  EXPECT_TRUE(store->find(run_)) << "reading goes on beside a writer";
  ASSERT_EQ(::write(release.write.get(), &byte, 1), 1);
  EXPECT_EQ(child.wait(), 0);
  EXPECT_TRUE(store->append(batches));
  EXPECT_EQ(store->history(run_, "m"), counting(0, 10));
}

TEST_F(Durability, AFileThatMayNotBeWrittenToIsAnErrorThatSaysSo) {
  using std::filesystem::perms;
  constexpr perms kMayRead = perms::owner_read | perms::group_read | perms::others_read;
  constexpr perms kMayEnter = kMayRead | perms::owner_exec | perms::group_exec | perms::others_exec;
  std::filesystem::permissions(path_, kMayRead);
  std::filesystem::permissions(path_.parent_path(), kMayEnter);
  std::filesystem::permissions(directory_->path(), kMayEnter);
  Child child([&] {
    // Root may write anywhere: the child becomes somebody else.
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 1;
    const Result<std::unique_ptr<Store>> store = open(path_.string());
    if (store) return 2;
    return store.error().kind == Error::Kind::machine_lacks && !store.error().hint.empty() ? 0 : 3;
  });
  EXPECT_EQ(child.wait(), 0);
  std::filesystem::permissions(directory_->path(), perms::owner_all);
  std::filesystem::permissions(path_.parent_path(), perms::owner_all);
}

}  // namespace
}  // namespace plimsoll::store
