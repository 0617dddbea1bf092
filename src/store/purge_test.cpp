// Purges that end halfway: what is left over is done by the next one.
#include "store/purge.hpp"

#include <fstream>
#include <random>
#include <thread>

#include "store/sqlite.hpp"
#include "store/test_process.hpp"
#include "store/test_store.hpp"

namespace plimsoll::store {
namespace {

namespace fs = std::filesystem;
using test::Child;
using test::counting;

class PurgeFaults : public test::EveryStore {
 protected:
  /// A run with points and files, marked as deleted.
  std::string deleted_run() {
    const std::string id = new_run();
    EXPECT_TRUE(store_->append({{Batch{id, "m", {}, counting(0, 1000)}}}));
    const Result<fs::path> files = store_->artifacts(id);
    EXPECT_TRUE(files);
    fs::create_directories(*files / "files" / "deep");
    std::ofstream(*files / "files" / "deep" / "log.txt") << "text";
    EXPECT_TRUE(store_->remove(id));
    return id;
  }

  [[nodiscard]] fs::path folder() const { return path_.parent_path() / "plimsoll-artifacts"; }

  void SetUp() override {
    path_ = directory_->path() / "runs" / "plimsoll.db";
    EveryStore::SetUp();
  }

  std::unique_ptr<Database> database() {
    if (GetParam() == test::Backend::sqlite) {
      auto opened = SqliteDatabase::open(path_, std::chrono::minutes(1));
      return opened ? std::move(*opened) : nullptr;
    }
    auto opened = PostgresDatabase::open(location_, std::chrono::minutes(1));
    return opened ? std::move(*opened) : nullptr;
  }

  /// As a purge that was killed when the rows were gone.
  void purge_rows_alone() {
    const std::unique_ptr<Database> database = this->database();
    ASSERT_NE(database, nullptr);
    Result<Transaction> transaction = Transaction::write(*database);
    ASSERT_TRUE(transaction);
    ASSERT_TRUE(purge_rows(*database));
    const Status done = transaction->commit();
    ASSERT_TRUE(done) << done.error().text();
  }

  /// What is noted as left over.
  std::int64_t leftovers() {
    const std::unique_ptr<Database> database = this->database();
    Query query = database->query("SELECT count(*) FROM leftover");
    return query.row() ? query.integer(0) : -1;
  }

  /// Entries of the artifacts' directory.
  std::size_t folders() {
    std::error_code none;
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder(), none), {}));
  }
};

TEST_P(PurgeFaults, ThatEndsAfterTheRowsIsFinishedByTheNext) {
  const std::string gone = deleted_run(), other = deleted_run(), kept = new_run();
  ASSERT_TRUE(store_->artifacts(kept));
  purge_rows_alone();
  EXPECT_FALSE(store_->find(gone));
  EXPECT_TRUE(fs::exists(folder() / gone / "files" / "deep" / "log.txt"));
  EXPECT_EQ(leftovers(), 2);
  EXPECT_EQ(store_->purge(), 0U) << "of runs: they are gone already";
  EXPECT_EQ(folders(), 1U) << "of the run that is there";
  EXPECT_EQ(leftovers(), 0);
  EXPECT_FALSE(store_->find(other));
}

TEST_P(PurgeFaults, ThatEndsWhileFilesAreRemovedIsFinishedByTheNext) {
  const std::string set_aside = deleted_run(), removed = deleted_run(), half = deleted_run();
  purge_rows_alone();
  fs::rename(folder() / set_aside, folder() / ("purged-" + set_aside));
  fs::remove_all(folder() / removed);
  fs::remove_all(folder() / half / "files");
  EXPECT_EQ(store_->purge(), 0U);
  EXPECT_EQ(folders(), 0U);
  EXPECT_EQ(leftovers(), 0);
}

TEST_P(PurgeFaults, NothingOfItHappensWhereTheRowsCannotBeRemoved) {
  const std::string id = deleted_run();
  {
    const std::unique_ptr<Database> other = database();
    store_ = reopened({.busy_timeout = std::chrono::milliseconds(50)});
    Result<Transaction> holds = Transaction::write(*other);
    ASSERT_TRUE(holds);
    Query query = other->query("UPDATE run SET name = 'held' RETURNING id");
    ASSERT_TRUE(query.row());
    const Result<std::size_t> refused = store_->purge();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Error::Kind::unavailable) << refused.error().text();
    EXPECT_TRUE(fs::exists(folder() / id / "files" / "deep" / "log.txt"));
  }
  store_ = reopened();
  EXPECT_EQ(store_->purge(), 1U);
  EXPECT_EQ(folders(), 0U);
}

TEST_P(PurgeFaults, AFolderThatCannotBeRemovedDoesNotKeepTheOthersAndGoesWithTheNext) {
  const std::string stuck = deleted_run(), other = deleted_run();
  // Who may not write in a directory removes nothing from it.
  const fs::path deep = folder() / stuck / "files" / "deep";
  fs::permissions(deep, fs::perms::owner_read | fs::perms::owner_exec);
  constexpr uid_t kNobody = 65534;
  if (::geteuid() == 0) {
    for (const auto& entry : fs::recursive_directory_iterator(directory_->path()))
      ASSERT_EQ(::chown(entry.path().c_str(), kNobody, kNobody), 0);
    ASSERT_EQ(::chown(directory_->path().c_str(), kNobody, kNobody), 0);
    // To the server's socket.
    if (server_ != nullptr)
      fs::permissions(server_->directory(), fs::perms::others_exec, fs::perm_options::add);
  }
  store_.reset();
  Child child([&] {
    // Root may remove anything: the child becomes somebody else.
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) return 1;
    const auto store = reopened();
    if (!store) return 2;
    const Result<std::size_t> refused = store->purge();
    if (refused) return 3;
    if (refused.error().kind != Error::Kind::machine_lacks || refused.error().hint.empty()) return 4;
    const Result<std::size_t> again = store->purge();
    if (again || again.error().kind != Error::Kind::machine_lacks) return 5;
    return 0;
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(leftovers(), 1);
  EXPECT_FALSE(fs::exists(folder() / other));
  for (const auto& entry : fs::recursive_directory_iterator(folder()))
    if (entry.path().filename() == "deep") fs::permissions(entry.path(), fs::perms::owner_all);
  store_ = reopened();
  EXPECT_EQ(store_->purge(), 0U);
  EXPECT_EQ(folders(), 0U);
  EXPECT_EQ(leftovers(), 0);
}

TEST_P(PurgeFaults, ARunThatHasComeAgainKeepsItsFiles) {
  const std::string id = deleted_run();
  purge_rows_alone();
  ASSERT_TRUE(store_->create({.id = id}));
  EXPECT_EQ(store_->purge(), 0U);
  EXPECT_TRUE(fs::exists(folder() / id / "files" / "deep" / "log.txt"));
  EXPECT_EQ(leftovers(), 0);
}

TEST_P(PurgeFaults, AnIdThatNamesNoDirectoryOfItsOwnRemovesNone) {
  const std::unique_ptr<Database> strange = database();
  ASSERT_TRUE(store_->artifacts(new_run()));
  const std::string prefix = GetParam() == test::Backend::sqlite ? "" : "plimsoll.";
  ASSERT_TRUE(strange->execute("INSERT INTO " + prefix +
                               "leftover VALUES ('..'), ('.'), (''), ('uploads'), "
                               "('../../etc'), ('m-../x')"));
  EXPECT_EQ(store_->purge(), 0U);
  EXPECT_EQ(folders(), 1U);
  EXPECT_EQ(leftovers(), 0);
}

TEST_P(PurgeFaults, KilledAtAnyMomentIsFinishedByTheNext) {
  std::mt19937 random(19);
  const std::string kept = new_run();
  ASSERT_TRUE(store_->artifacts(kept));
  for (int round = 0; round < 15; ++round) {
    for (int i = 0; i < 5; ++i) deleted_run();
    store_.reset();
    {
      test::Pipe begun;
      Child child([&] {
        const auto store = reopened();
        if (!store || ::write(begun.write.get(), "x", 1) != 1) return 1;
        return store->purge() ? 0 : 2;
      });
      begun.write.reset();
      char byte = 0;
      ASSERT_EQ(::read(begun.read.get(), &byte, 1), 1);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
      child.kill();
    }
    store_ = reopened();
    ASSERT_NE(store_, nullptr);
    const Result<std::size_t> purged = store_->purge();
    ASSERT_TRUE(purged) << purged.error().text();
    EXPECT_EQ(folders(), 1U);
    EXPECT_EQ(leftovers(), 0);
    EXPECT_EQ(store_->search({.view = View::all})->size(), 1U);
  }
}

PLIMSOLL_IN_EVERY_STORE(PurgeFaults);

}  // namespace
}  // namespace plimsoll::store
