#pragma once
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.hpp"
#include "store/sqlite.hpp"
#include "store/store.hpp"
#include "store/test_postgres.hpp"

namespace plimsoll::store::test {

/// A directory of the test's own, with a store in it.
class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(directory_) << directory_.error().text();
    path_ = directory_->path() / "runs" / "plimsoll.db";
    location_ = path_.string();
    store_ = reopened();
    ASSERT_NE(store_, nullptr);
  }

  std::unique_ptr<Store> reopened(OpenOptions options = {}) {
    options.artifacts = directory_->path() / "runs" / "plimsoll-artifacts";
    Result<std::unique_ptr<Store>> opened = open(location_, options);
    if (!opened) ADD_FAILURE() << opened.error().text();
    return opened ? std::move(*opened) : nullptr;
  }

  std::string new_run(const NewRun& run = {}) {
    const Result<std::string> id = store_->create(run);
    if (!id) ADD_FAILURE() << id.error().text();
    return id.value_or("");
  }

  Result<TemporaryDirectory> directory_ = TemporaryDirectory::make("store-test");
  std::filesystem::path path_;  ///< of the file
  std::string location_;        ///< what the store is opened by
  std::unique_ptr<Store> store_;
};

enum class Backend { sqlite, postgres };

/// What must hold in every database.
class EveryStore : public StoreTest, public testing::WithParamInterface<Backend> {
 protected:
  void SetUp() override {
    if (GetParam() == Backend::sqlite) return StoreTest::SetUp();
    ASSERT_TRUE(directory_) << directory_.error().text();
    server_ = PostgresServer::shared();
    if (server_ == nullptr) GTEST_SKIP() << "there is no PostgreSQL on this machine";
    const Status cleared = server_->clear();
    ASSERT_TRUE(cleared) << cleared.error().text();
    location_ = server_->address();
    store_ = reopened();
    ASSERT_NE(store_, nullptr);
  }

  /// Does `sql` to the database, past the store.
  void execute(const std::string& sql) {
    constexpr std::chrono::minutes kPatient(5);
    Status done;
    if (GetParam() == Backend::sqlite) {
      const Result<std::unique_ptr<SqliteDatabase>> database = SqliteDatabase::open(path_, kPatient);
      ASSERT_TRUE(database);
      done = (*database)->execute(sql);
    } else {
      const Result<std::unique_ptr<PostgresDatabase>> database = PostgresDatabase::open(location_, kPatient);
      ASSERT_TRUE(database);
      done = (*database)->execute(sql);
    }
    ASSERT_TRUE(done) << done.error().text();
  }

  PostgresServer* server_ = nullptr;
};

#define PLIMSOLL_IN_EVERY_STORE(Suite)                                                \
  INSTANTIATE_TEST_SUITE_P(Sqlite, Suite, testing::Values(test::Backend::sqlite),     \
                           [](const auto&) { return "Sqlite"; });                     \
  INSTANTIATE_TEST_SUITE_P(Postgres, Suite, testing::Values(test::Backend::postgres), \
                           [](const auto&) { return "Postgres"; })

/// `count` points from step `first` on, a millisecond apart; a point's value is its step.
inline std::vector<Point> counting(std::int64_t first, std::int64_t count) {
  std::vector<Point> out;
  for (std::int64_t i = first; i < first + count; ++i)
    out.push_back({1'000'000 + i * 1000, i, static_cast<double>(i)});
  return out;
}

}  // namespace plimsoll::store::test
