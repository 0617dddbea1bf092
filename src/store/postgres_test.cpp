#include "store/postgres.hpp"

#include <limits>
#include <random>
#include <thread>

#include "store/location.hpp"
#include "store/postgres_statement.hpp"
#include "store/postgres_text.hpp"
#include "store/test_store.hpp"

namespace plimsoll::store {
namespace {

using test::counting;

TEST(PostgresAddress, IsShownWithoutPasswords) {
  EXPECT_EQ(masked("postgresql://u:secret@host:5432/db"), "postgresql://u:***@host:5432/db");
  EXPECT_EQ(masked("postgres://u@host:5432/db"), "postgres://u@host:5432/db");
  EXPECT_EQ(masked("postgresql://u:se:c@ret@host/db"), "postgresql://u:***@host/db");
  EXPECT_EQ(masked("postgresql:///db?user=u&password=secret&host=/tmp"),
            "postgresql:///db?user=u&password=***&host=/tmp");
  EXPECT_EQ(masked("postgresql:///db?sslpassword=secret"), "postgresql:///db?sslpassword=***");
  EXPECT_EQ(masked("postgresql:///db?p%61ssword=secret"), "postgresql:///db?p%61ssword=***");
  EXPECT_EQ(masked("a/path"), "a/path");
}

TEST(PostgresAddress, ThatIsWrongIsAnErrorWithoutPasswords) {
  for (const char* address :
       {"postgresql://u:sec%zzret@host/db", "postgresql://u:secret@[::1/db",
        "postgresql:///db?unknown=1&password=secret", "postgresql://u:secret@127.0.0.1:1/db"}) {
    const Result<std::unique_ptr<Store>> opened = open(address, {.artifacts = "/tmp/unused"});
    ASSERT_FALSE(opened) << address;
    EXPECT_EQ((opened.error().text() + opened.error().hint).find("sec"), std::string::npos)
        << opened.error().text();
  }
}

TEST(PostgresText, ComesBackToTheByte) {
  std::mt19937 random(8);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    constexpr std::string_view kPieces[] = {"a",
                                            "\xC3\xBC",
                                            "\xF4\x8F\xBC\x80",
                                            "\xF4",
                                            "\x8F",
                                            "\xBC",
                                            std::string_view("\0", 1),
                                            "\xFF",
                                            "\xE2\x82\xAC",
                                            "\x80"};
    for (std::size_t n = random() % 8; n > 0; --n) text += kPieces[random() % std::size(kPieces)];
    const std::string kept = to_postgres(text);
    ASSERT_EQ(from_postgres(kept), text);
    ASSERT_EQ(kept.find('\0'), std::string::npos);
    ASSERT_EQ(fits_postgres(text), kept == text);
  }
}

TEST(PostgresStatement, NumbersItsValues) {
  EXPECT_EQ(numbered("SELECT ? FROM t WHERE a = '?' AND \"b?\" = ?"),
            "SELECT $1 FROM t WHERE a = '?' AND \"b?\" = $2");
}

/// What holds of a store on a server alone.
class PostgresStore : public test::EveryStore {};

TEST_P(PostgresStore, SurvivesARestartOfTheServer) {
  const std::string id = new_run();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(store_->append({{Batch{id, "m", {}, counting(i * 100, 100)}}}));
    server_->stop(i % 2 == 0 ? SIGQUIT : SIGINT);
    ASSERT_TRUE(server_->start());
    // The next call finds its connection lost, makes another and goes on.
    EXPECT_EQ(store_->history(id, "m"), counting(0, (i + 1) * 100));
  }
  EXPECT_TRUE(store_->change(id, {.name = "afterwards"}));
}

TEST_P(PostgresStore, SaysThatTheServerIsAway) {
  const std::string id = new_run();
  store_ = reopened({.busy_timeout = std::chrono::milliseconds(50)});
  server_->stop(SIGINT);
  const Status refused = store_->append({{Batch{id, "m", {}, counting(0, 1)}}});
  ASSERT_TRUE(server_->start());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::unavailable) << refused.error().text();
  EXPECT_TRUE(store_->append({{Batch{id, "m", {}, counting(0, 1)}}}));
}

/// Statements that are under way together.
class PostgresPipeline : public PostgresStore {
 protected:
  void SetUp() override {
    PostgresStore::SetUp();
    if (IsSkipped()) return;
    Result<std::unique_ptr<PostgresDatabase>> opened =
        PostgresDatabase::open(location_, std::chrono::seconds(1));
    ASSERT_TRUE(opened);
    database_ = std::move(*opened);
  }
  std::unique_ptr<PostgresDatabase> database_;
};

TEST_P(PostgresPipeline, GivesEachStatementItsOwnRowsInWhateverOrderTheyAreRead) {
  const Result<Transaction> moment = Transaction::read(*database_);
  ASSERT_TRUE(moment);
  constexpr std::int64_t kMany = 600;  // more than are left unanswered
  std::vector<Query> queries;
  for (std::int64_t i = 0; i < kMany; ++i) {
    queries.push_back(database_->query("SELECT ?::bigint * 2"));
    ASSERT_TRUE(queries.back().bind(i).start());
  }
  for (std::int64_t i = kMany; i-- > 0;) {
    Query& query = queries[static_cast<std::size_t>(i)];
    ASSERT_TRUE(query.row());
    EXPECT_EQ(query.integer(0), 2 * i);
    EXPECT_EQ(query.next(), false);
  }
}

TEST_P(PostgresPipeline, GivesUpWhatFollowsAnErrorAndGoesOnAfterIt) {
  {
    const Result<Transaction> moment = Transaction::read(*database_);
    ASSERT_TRUE(moment);
    Query good = database_->query("SELECT 1"), bad = database_->query("SELECT 1 / (?::bigint)"),
          after = database_->query("SELECT 3");
    ASSERT_TRUE(good.start());
    ASSERT_TRUE(bad.bind(std::int64_t{0}).start());
    ASSERT_TRUE(after.start());
    EXPECT_FALSE(bad.next());
    EXPECT_EQ(good.next(), true);
    EXPECT_FALSE(after.next());
  }
  const Result<Transaction> moment = Transaction::read(*database_);
  ASSERT_TRUE(moment);
  // One that was prepared, and one whose preparation was skipped.
  Query query = database_->query("SELECT 1 / (?::bigint)"), after = database_->query("SELECT 3");
  ASSERT_TRUE(query.bind(std::int64_t{1}).row());
  EXPECT_EQ(query.integer(0), 1);
  ASSERT_TRUE(after.row());
  EXPECT_EQ(after.integer(0), 3);
}

TEST_P(PostgresPipeline, ForgetsAStatementThatNobodyReads) {
  const Result<Transaction> moment = Transaction::read(*database_);
  ASSERT_TRUE(moment);
  for (int i = 0; i < 3; ++i) {
    {
      Query unread = database_->query("SELECT 7"), once = database_->query_once("SELECT 8");
      ASSERT_TRUE(unread.start());
      ASSERT_TRUE(once.start());
    }
    Query read = database_->query("SELECT 7");
    ASSERT_TRUE(read.row());
    EXPECT_EQ(read.integer(0), 7);
  }
}

TEST_P(PostgresPipeline, ComparesWithManyIntegers) {
  const Result<Transaction> moment = Transaction::read(*database_);
  ASSERT_TRUE(moment);
  for (const std::vector<std::int64_t>& wanted :
       {std::vector<std::int64_t>{},
        {3},
        {1, 5, 9, -2, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}}) {
    Query query = database_->query_once(
        fmt::format("SELECT n FROM generate_series(1, 9) AS n WHERE n {} ORDER BY n", database_->one_of()));
    query.bind_integers(wanted);
    std::vector<std::int64_t> found;
    ASSERT_TRUE(for_each_row(query, [&](const Query& row) { found.push_back(row.integer(0)); }));
    std::vector<std::int64_t> expected;
    for (const std::int64_t n : wanted)
      if (n >= 1 && n <= 9) expected.push_back(n);
    EXPECT_EQ(found, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Postgres, PostgresPipeline, testing::Values(test::Backend::postgres),
                         [](const auto&) { return "Postgres"; });

TEST_P(PostgresStore, GoesOnAfterAnotherHasHeldARunTooLong) {
  const std::string id = new_run();
  store_ = reopened({.busy_timeout = std::chrono::milliseconds(100)});
  const Result<std::unique_ptr<PostgresDatabase>> other =
      PostgresDatabase::open(location_, std::chrono::seconds(1));
  ASSERT_TRUE(other);
  ASSERT_TRUE((*other)->execute("BEGIN; SELECT * FROM run FOR UPDATE"));
  const std::vector<Batch> batches = {{id, "a", {}, counting(0, 3)}, {id, "b", {}, counting(0, 3)}};
  const Status refused = store_->append(batches);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::unavailable) << refused.error().text();
  EXPECT_FALSE(store_->append({{batches.front()}}));
  ASSERT_TRUE((*other)->execute("ROLLBACK"));
  for (int i = 0; i < 3; ++i) {
    const Status done = store_->append(batches);
    EXPECT_TRUE(done) << done.error().text();
    EXPECT_TRUE(store_->find(id));
  }
  EXPECT_EQ(store_->history(id, "b"), counting(0, 3));
}

TEST_P(PostgresStore, IsNotMadeWhereThatIsNotWanted) {
  ASSERT_TRUE(server_->clear());
  const Result<std::unique_ptr<Store>> opened =
      open(location_, {.create = false, .artifacts = directory_->path()});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().text().find("no store yet"), std::string::npos);
}

TEST_P(PostgresStore, OfAnotherProgramOrANewerVersionIsRefused) {
  const Result<std::unique_ptr<PostgresDatabase>> database =
      PostgresDatabase::open(location_, std::chrono::seconds(1));
  ASSERT_TRUE(database);
  ASSERT_TRUE((*database)->execute("UPDATE plimsoll.version SET number = 1000"));
  EXPECT_NE(open(location_, {.artifacts = "x"}).error().text().find("version 1000"), std::string::npos);
  ASSERT_TRUE((*database)->execute("DROP TABLE plimsoll.version"));
  EXPECT_NE(open(location_, {.artifacts = "x"}).error().text().find("another program's"), std::string::npos);
}

TEST_P(PostgresStore, LooksAtTablesThatHaveGrown) {
  const Result<std::unique_ptr<PostgresDatabase>> database =
      PostgresDatabase::open(location_, std::chrono::seconds(1));
  ASSERT_TRUE(database);
  const auto known_rows = [&] {
    Query query =
        (*database)->query_once("SELECT reltuples::float8 FROM pg_class WHERE oid = 'param'::regclass");
    return query.row() ? query.real(0) : -2;
  };
  std::map<std::string, std::string> params;
  for (int i = 0; i < 1000; ++i) params.emplace("p" + std::to_string(i), "x");
  const std::string id = new_run({.params = params});
  EXPECT_LT(known_rows(), 1);
  // What was written is told to the server's statistics a second later at most.
  for (int i = 0; i < 6000 && known_rows() < 1; ++i) {
    ASSERT_TRUE(store_->maintain({}));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ASSERT_TRUE(store_->change(id, {.tags = {{"t", std::to_string(i)}}}));
  }
  EXPECT_EQ(known_rows(), 1000);
}

TEST_P(PostgresStore, IsMadeByManyAtOnce) {
  ASSERT_TRUE(server_->clear());
  std::atomic<int> failures = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        const Result<std::unique_ptr<Store>> opened =
            open(location_, {.busy_timeout = std::chrono::minutes(5), .artifacts = directory_->path()});
        if (!opened || !(*opened)->create({})) ++failures;
      });
  }
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(reopened()->search({})->size(), 8U);
}

INSTANTIATE_TEST_SUITE_P(Postgres, PostgresStore, testing::Values(test::Backend::postgres),
                         [](const auto&) { return "Postgres"; });

}  // namespace
}  // namespace plimsoll::store
