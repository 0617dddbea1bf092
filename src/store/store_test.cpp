#include "store/store.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include <sqlite3.h>
#include <sys/stat.h>

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

TEST_F(StoreTest, GivesARunBackAsItWasMade) {
  const std::string id = new_run({.experiment = "resnet",
                                  .name = "first try",
                                  .start = 5'000'000,
                                  .params = {{"lr", "0.1"}, {"empty", ""}},
                                  .tags = {{"plimsoll.command", std::string("a\0b", 3)}}});
  EXPECT_EQ(id.size(), 32U);
  store_ = reopened();
  const Result<store::Run> run = store_->find(id);
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_EQ(run->id, id);
  EXPECT_EQ(run->experiment, "resnet");
  EXPECT_EQ(run->name, "first try");
  EXPECT_EQ(run->status, RunStatus::running);
  EXPECT_EQ(run->start, 5'000'000);
  EXPECT_FALSE(run->end);
  EXPECT_FALSE(run->deleted);
  EXPECT_EQ(run->params, (std::map<std::string, std::string>{{"lr", "0.1"}, {"empty", ""}}));
  EXPECT_EQ(run->tags.at("plimsoll.command"), std::string("a\0b", 3));
}

TEST_F(StoreTest, ChangesStatusEndAndTagsButNoParam) {
  const std::string id = new_run({.params = {{"lr", "0.1"}}, .tags = {{"model", "a"}}});
  ASSERT_TRUE(store_->change(id, {.status = RunStatus::finished,
                                  .end = 9,
                                  .params = {{"lr", "0.1"}, {"momentum", "0.9"}},
                                  .tags = {{"model", "b"}}}));
  const Status refused =
      store_->change(id, {.status = RunStatus::failed, .params = {{"lr", "0.2"}}, .tags = {{"model", "c"}}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("'lr' is '0.1' already"), std::string::npos)
      << refused.error().text();
  const Result<store::Run> run = store_->find(id);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->status, RunStatus::finished) << "nothing of a refused change is kept";
  EXPECT_EQ(run->end, 9);
  EXPECT_EQ(run->params, (std::map<std::string, std::string>{{"lr", "0.1"}, {"momentum", "0.9"}}));
  EXPECT_EQ(run->tags.at("model"), "b");
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

TEST_F(StoreTest, KeepsPointsAndDescribesTheMetric) {
  const std::string id = new_run();
  const std::vector<Batch> batches = {{id, "loss", {"1", "the command's output"}, counting(0, 10)},
                                      {id, "gpu/power", {"W", "NVML"}, counting(5, 1)},
                                      {id, "nothing", {}, {}}};
  ASSERT_TRUE(store_->append(batches));
  ASSERT_TRUE(store_->append({{Batch{id, "loss", {}, counting(10, 5000)}}}));
  const Result<store::Run> run = store_->find(id);
  ASSERT_TRUE(run);
  ASSERT_EQ(run->metrics.size(), 2U) << "a batch without points leaves no metric";
  const Metric& loss = run->metrics.at("loss");
  EXPECT_EQ(loss.description, (Description{"1", "the command's output"}));
  EXPECT_EQ(loss.points, 5010);
  EXPECT_EQ(loss.latest, counting(5009, 1).front());
  EXPECT_EQ(store_->history(id, "loss"), counting(0, 5010));
  EXPECT_EQ(store_->history(id, "gpu/power"), counting(5, 1));
  EXPECT_EQ(store_->history(id, "absent"), std::vector<Point>());
  EXPECT_FALSE(store_->history("0000", "loss"));
}

TEST_F(StoreTest, GivesTheTimesThatWereAskedFor) {
  const std::string id = new_run();
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, counting(0, 10'000)}}}));
  const auto at = [](std::int64_t step) { return counting(step, 1).front().time; };
  EXPECT_EQ(store_->history(id, "m", at(4090), at(4100)), counting(4090, 11));
  EXPECT_EQ(store_->history(id, "m", at(9999)), counting(9999, 1));
  EXPECT_EQ(store_->history(id, "m", {}, at(0)), counting(0, 1));
  EXPECT_EQ(store_->history(id, "m", at(3), at(2)), std::vector<Point>());
}

TEST_F(StoreTest, PutsLatePointsWhereTheyBelong) {
  const std::string id = new_run();
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, {{30, 0, 3}, {10, 0, 1}}}}}));
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, {{20, 0, 2}, {30, 0, 4}}}}}));
  EXPECT_EQ(store_->history(id, "m"), (std::vector<Point>{{10, 0, 1}, {20, 0, 2}, {30, 0, 3}, {30, 0, 4}}));
}

TEST_F(StoreTest, TakesTheLatestByStepThenTimeThenValue) {
  const std::string id = new_run();
  const auto latest = [&] { return store_->find(id)->metrics.at("m").latest; };
  const auto add = [&](Point p) { EXPECT_TRUE(store_->append({{Batch{id, "m", {}, {p}}}})); };
  add({50, 5, 1.0});
  add({90, 4, 2.0});  // a smaller step, though later
  EXPECT_EQ(latest(), (Point{50, 5, 1.0}));
  add({60, 5, 0.5});
  EXPECT_EQ(latest(), (Point{60, 5, 0.5}));
  add({60, 5, 0.25});
  EXPECT_EQ(latest(), (Point{60, 5, 0.5}));
  add({60, 5, std::nan("")});
  EXPECT_EQ(latest(), (Point{60, 5, 0.5}));
  add({61, 5, std::nan("")});
  EXPECT_TRUE(std::isnan(latest().value));
  add({61, 5, -std::numeric_limits<double>::infinity()});
  EXPECT_EQ(latest().value, -std::numeric_limits<double>::infinity());
}

TEST_F(StoreTest, AppendsAllOrNothing) {
  const std::string id = new_run();
  const std::vector<Batch> batches = {{id, "m", {}, counting(0, 10)}, {"ffff", "m", {}, counting(0, 10)}};
  EXPECT_FALSE(store_->append(batches));
  EXPECT_TRUE(store_->find(id)->metrics.empty());
  EXPECT_FALSE(store_->append({{Batch{id, std::string(251, 'x'), {}, counting(0, 1)}}}));
  EXPECT_FALSE(store_->append({{Batch{id, "", {}, counting(0, 1)}}}));
  EXPECT_FALSE(store_->change(id, {.tags = {{"long", std::string(70'000, 'x')}}}));
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
  EXPECT_LE(most, 2 + 64) << "two full ones, and those that wait to be joined";
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

TEST_F(StoreTest, KeepsNewPointsBesideADamagedChunk) {
  const std::string id = new_run();
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, counting(0, 5)}, Batch{id, "other", {}, counting(0, 5)}}}));
  tamper(path_, "UPDATE chunk SET bytes = x'0102' WHERE metric = 1");
  for (int i = 1; i < 70; ++i) ASSERT_TRUE(store_->append({{Batch{id, "m", {}, counting(5 * i, 5)}}}));
  const Result<std::vector<Point>> history = store_->history(id, "m");
  ASSERT_FALSE(history);
  EXPECT_NE(history.error().text().find("metric 'm'"), std::string::npos) << history.error().text();
  EXPECT_EQ(store_->history(id, "other"), counting(0, 5));
  EXPECT_FALSE(store_->compact(id));
  EXPECT_EQ(store_->find(id)->metrics.at("m").points, 350);
}

TEST_F(StoreTest, RemovesRestoresAndPurges) {
  const std::string kept = new_run(), gone = new_run();
  for (const std::string& id : {kept, gone})
    ASSERT_TRUE(store_->append({{Batch{id, "m", {}, counting(0, 20'000)}}}));
  const Result<std::filesystem::path> files = store_->artifacts(gone), others = store_->artifacts(kept);
  ASSERT_TRUE(files && others);
  EXPECT_EQ(*files, path_.parent_path() / "plimsoll-artifacts" / gone);
  EXPECT_EQ(permissions(*files), 0700U);
  std::ofstream(*files / "log.txt") << "text";
  ASSERT_TRUE(store_->remove(gone));
  EXPECT_EQ(store_->search({})->size(), 1U);
  EXPECT_EQ(store_->search({.deleted = true})->at(0).id, gone);
  ASSERT_TRUE(store_->restore(gone));
  EXPECT_EQ(store_->search({})->size(), 2U);
  EXPECT_EQ(store_->purge(), 0U);
  ASSERT_TRUE(store_->remove(gone));
  EXPECT_TRUE(std::filesystem::exists(*files / "log.txt"));
  EXPECT_EQ(store_->purge(), 1U);
  EXPECT_FALSE(std::filesystem::exists(*files));
  EXPECT_TRUE(std::filesystem::exists(*others));
  EXPECT_FALSE(store_->find(gone));
  EXPECT_EQ(chunks(path_), 5) << "of the run that is kept";
  EXPECT_EQ(store_->history(kept, "m"), counting(0, 20'000));
}

TEST_F(StoreTest, ListsARunsFiles) {
  const std::string id = new_run();
  EXPECT_EQ(store_->files(id), std::vector<File>());
  EXPECT_FALSE(std::filesystem::exists(path_.parent_path() / "plimsoll-artifacts"))
      << "listing makes nothing";
  const Result<std::filesystem::path> directory = store_->artifacts(id);
  ASSERT_TRUE(directory);
  std::filesystem::create_directory(*directory / "logs");
  std::ofstream(*directory / "logs" / "output.txt") << "four";
  std::ofstream(*directory / "b") << "";
  std::filesystem::create_symlink("/etc/passwd", *directory / "link");
  EXPECT_EQ(store_->files(id), (std::vector<File>{{"b", 0}, {"logs/output.txt", 4}}));
  EXPECT_FALSE(store_->files("ffff"));
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
  tamper(path_, "PRAGMA user_version = 1");
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

TEST_F(StoreTest, IsNotMadeWhereThatIsNotWanted) {
  const std::filesystem::path absent = directory_->path() / "none" / "x.db";
  const Result<std::unique_ptr<Store>> opened = open(absent.string(), {.create = false});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().text().find("no store yet"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(absent.parent_path()));
}

TEST_F(StoreTest, CannotBeADirectoryOrAServerYet) {
  EXPECT_FALSE(open(directory_->path().string()));
  EXPECT_FALSE(open("postgresql://localhost/runs"));
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

}  // namespace
}  // namespace plimsoll::store
