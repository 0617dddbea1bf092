// Stores that older versions of Plimsoll have made: each is kept as a text of SQL in tests/fixtures/store,
// opened, brought up to date, read and written.
#include <cmath>
#include <cstdlib>
#include <fstream>

#include <sqlite3.h>

#include "base/files.hpp"
#include "store/host_series.hpp"
#include "store/schema.hpp"
#include "store/test_store.hpp"

namespace plimsoll::store {
namespace {

namespace fs = std::filesystem;
using test::counting;

const std::string kTraining(32, 'a'), kFailed(32, 'b'),
    kDeleted(32, 'c'), kModel = "m-" + std::string(32, 'd');

std::vector<Point> power() {
  std::vector<Point> out;
  for (int i = 0; i < 300; ++i) out.push_back({2'000'000 + i * 100'000, 0, 300 + 10 * std::sin(i)});
  return out;
}

Status fill_queue(Queue& queue) {
  const std::vector<NewQueueJob> jobs = {
      {.user = "ada", .name = "training", .request = "{\"note\":\"ä 'quoted'\"}", .environment = "{}"},
      {.user = "bob", .pool = "night", .priority = 1.5, .after = {-1}, .state = QueueState::held}};
  PLIMSOLL_TRY(queue.submit(jobs, "of the fixture"));
  PLIMSOLL_TRY(queue.change(
      {{{.number = 1, .version = 1, .state = QueueState::starting, .attempt = 1, .host = "node7"}}},
      {{{.at = 5'000'000, .job = 1, .host = "node7", .kind = "start", .reason = "there is room"}}}));
  return queue.keep_profile("0f", "{}");
}

Status fill_registry(Registry& registry) {
  PLIMSOLL_TRY(registry.create(
      {.name = "net ä", .description = "what it is", .tags = {{"team", "blue"}}, .created = 8'000'000}));
  for (int i = 0; i < 3; ++i)
    PLIMSOLL_TRY(registry.create_version({.model = "net ä",
                                          .source = "models:/" + kModel,
                                          .location = "mlflow-artifacts:/1/models/" + kModel + "/artifacts",
                                          .run = kTraining,
                                          .logged_model = kModel,
                                          .tags = {{"quoted", "'"}},
                                          .created = 9'000'000}));
  PLIMSOLL_TRY(registry.remove_version("net ä", 3));
  PLIMSOLL_TRY(registry.change("net ä", {.aliases = {{"champion", 1}}, .changed = 9'000'000}));
  return {};
}

Status fill_rest(Store& store, int version) {
  if (version < 2) return {};
  PLIMSOLL_TRY(store.change_experiment(1, {.tags = {{"team", "blue"}}}));
  PLIMSOLL_TRY(store.add_inputs(kTraining, {{Input{{.name = "cifar", .digest = "1f", .source_type = "local"},
                                                   {{"use", "training"}}}}}));
  const Result<std::string> model = store.create_model({.experiment_id = 1,
                                                        .name = "resnet",
                                                        .source_run = kTraining,
                                                        .params = {{"depth", "18"}},
                                                        .status = ModelStatus::ready,
                                                        .id = kModel,
                                                        .created = 7'000'000});
  if (!model) return std::unexpected(model.error());
  PLIMSOLL_TRY(store.add_outputs(kTraining, {{ModelLink{kModel, 3}}}));
  if (version < 4) return {};
  PLIMSOLL_TRY(store.append({{Batch{
      kTraining, host_series_name("node8", "system/gpu/0/power"), {"W", "NVML", "node8"}, power()}}}));
  const Result<ClaimAnswer> claim =
      store.claims().take({"queue/node7", "daemon", kLongestLease, "of the fixture"});
  if (!claim) return std::unexpected(claim.error());
  if (version < 5) return {};
  PLIMSOLL_TRY(fill_queue(store.queue()));
  return version < 6 ? Status() : fill_registry(store.registry());
}

/// What the fixtures hold, as far as a version knows it.
Status fill(Store& store, int version) {
  NewExperiment vision{.name = "vision", .id = 1, .created = 5'000'000};
  if (const auto made = store.create_experiment(vision); !made) return std::unexpected(made.error());
  for (const NewRun& run :
       {NewRun{.name = "training",
               .status = RunStatus::finished,
               .start = 5'000'000,
               .params = {{"lr", "0.1"}, {"model", "resnet18"}},
               .tags = {{"plimsoll.host", "node7"}, {"note", "ä 'quoted'\n"}},
               .experiment_id = 1,
               .id = kTraining,
               .end = 65'000'000},
        NewRun{
            .name = "", .status = RunStatus::failed, .start = 6'000'000, .experiment_id = 0, .id = kFailed},
        NewRun{.name = "old", .start = 4'000'000, .experiment_id = 0, .id = kDeleted}})
    if (const auto made = store.create(run); !made) return std::unexpected(made.error());
  PLIMSOLL_TRY(store.remove(kDeleted));
  // A full chunk and many small ones; a NaN and infinities; a metric that was sampled.
  for (int i = 0; i < 10; ++i)
    PLIMSOLL_TRY(
        store.append({{Batch{kTraining, "loss", {"1", "the command's output"}, counting(i * 500, 500)}}}));
  PLIMSOLL_TRY(
      store.append({{Batch{kFailed, "loss", {}, {{1, 1, std::nan("")}, {2, 2, INFINITY}, {3, 3, -0.0}}},
                     Batch{kTraining, "system/gpu/0/power", {"W", "NVML"}, power()}}}));
  return fill_rest(store, version);
}

/// The same of two runs: one that was brought up to date, and one that this version wrote.
void expect_same(Store& migrated, Store& fresh, const std::string& id) {
  const Result<store::Run> one = migrated.find(id), other = fresh.find(id);
  ASSERT_TRUE(one) << one.error().text();
  ASSERT_TRUE(other) << other.error().text();
  EXPECT_EQ(one->name, other->name);
  EXPECT_EQ(one->experiment, other->experiment);
  EXPECT_EQ(one->status, other->status);
  EXPECT_EQ(one->start, other->start);
  EXPECT_EQ(one->end, other->end);
  EXPECT_EQ(one->deleted, other->deleted);
  EXPECT_EQ(one->params, other->params);
  EXPECT_EQ(one->tags, other->tags);
  EXPECT_EQ(one->inputs, other->inputs);
  EXPECT_EQ(one->model_outputs, other->model_outputs);
  ASSERT_EQ(one->metrics.size(), other->metrics.size());
  for (const auto& [name, metric] : other->metrics) {
    ASSERT_TRUE(one->metrics.contains(name)) << name;
    EXPECT_EQ(one->metrics.at(name).points, metric.points);
    EXPECT_EQ(one->metrics.at(name).description, metric.description);
    const Result<std::vector<Point>> old = migrated.history(id, name), now = fresh.history(id, name);
    ASSERT_TRUE(old && now);
    ASSERT_EQ(old->size(), now->size());
    for (std::size_t i = 0; i < now->size(); ++i) {
      EXPECT_EQ((*old)[i].time, (*now)[i].time);
      EXPECT_EQ((*old)[i].step, (*now)[i].step);
      EXPECT_TRUE((*old)[i].value == (*now)[i].value ||
                  (std::isnan((*old)[i].value) && std::isnan((*now)[i].value)));
    }
    const Result<std::vector<Span>> outline = migrated.outline(id, name, 10);
    ASSERT_TRUE(outline) << outline.error().text();
    EXPECT_FALSE(outline->empty());
  }
}

/// The same of two queues, but for when their jobs were submitted.
void expect_same_queue(Queue& migrated, Queue& fresh) {
  Result<std::vector<QueueJob>> one = migrated.jobs({}), other = fresh.jobs({});
  ASSERT_TRUE(one && other);
  for (QueueJob& job : *one) job.submitted = 0;
  for (QueueJob& job : *other) job.submitted = 0;
  EXPECT_EQ(*one, *other);
  EXPECT_EQ(*migrated.version(), *fresh.version());
  EXPECT_EQ(*migrated.decisions({}, 0, 10), *fresh.decisions({}, 0, 10));
  EXPECT_EQ(*migrated.profiles({{"0f"}}), *fresh.profiles({{"0f"}}));
}

void expect_same_registry(Registry& migrated, Registry& fresh) {
  EXPECT_EQ(*migrated.search({}), *fresh.search({}));
  EXPECT_EQ(*migrated.search_versions({}), *fresh.search_versions({}));
}

/// All that a store can be asked to do, on one that is not new.
void expect_works(Store& store) {
  ASSERT_TRUE(store.append({{Batch{kTraining, "loss", {}, counting(5000, 700)},
                             Batch{kTraining, "new", {"s", "", "node7"}, counting(0, 10)}}}));
  EXPECT_EQ(store.history(kTraining, "loss"), counting(0, 5700));
  ASSERT_TRUE(store.compact(kTraining));
  EXPECT_EQ(store.history(kTraining, "loss"), counting(0, 5700));
  EXPECT_TRUE(store.change(kFailed, {.tags = {{"a", "b"}}}));
  EXPECT_TRUE(store.change_experiment(1, {.tags = {{"a", "b"}}}));
  EXPECT_EQ(store.search({.filter = "metrics.loss > 5000"})->size(), 1U);
  EXPECT_TRUE(store.create({}));
  const Result<ClaimAnswer> claim = store.claims().take({"job/1", "me", std::chrono::hours(1)});
  ASSERT_TRUE(claim) << claim.error().text();
  EXPECT_TRUE(claim->held);
  const std::int64_t version = store.queue().version().value_or(-1);
  const Result<std::vector<std::int64_t>> jobs = store.queue().submit({{{.user = "ada"}}}, "new");
  ASSERT_TRUE(jobs) << jobs.error().text();
  EXPECT_EQ(store.queue().change({{{.number = jobs->front(), .version = version + 1}}}, {}, claim->claim),
            true);
  if (!store.registry().model("net ä")) {
    EXPECT_TRUE(store.registry().create({.name = "net ä"}));
  }
  EXPECT_TRUE(store.registry().create_version({.model = "net ä", .source = "s3://there"}));
  EXPECT_EQ(store.purge(), 1U);
  EXPECT_FALSE(store.find(kDeleted));
}

fs::path fixture(int version, test::Backend backend) {
  const char* const suffix = backend == test::Backend::sqlite ? "sqlite" : "postgres";
  return fs::path(PLIMSOLL_SOURCE_DIR) / "tests/fixtures/store" / fmt::format("v{}.{}.sql", version, suffix);
}

class Migration : public test::EveryStore {
 protected:
  /// A store of that version, as the text says.
  void load(int version) {
    const Result<std::string> sql = read_file(fixture(version, GetParam()), std::size_t{1} << 24);
    ASSERT_TRUE(sql) << sql.error().text() << ": a version has a fixture (tests/fixtures/store/README.md)";
    store_.reset();
    if (GetParam() == test::Backend::postgres) {
      ASSERT_TRUE(server_->clear());
      const auto database = PostgresDatabase::open(location_, std::chrono::minutes(1));
      ASSERT_TRUE(database);
      const Status loaded = (*database)->execute(*sql);
      ASSERT_TRUE(loaded) << loaded.error().text();
      return;
    }
    location_ = (directory_->path() / fmt::format("v{}.db", version)).string();
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(location_.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, sql->c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(handle);
    sqlite3_close(handle);
  }

  /// The first version that the database has known.
  [[nodiscard]] int first() const { return GetParam() == test::Backend::sqlite ? 1 : 2; }
};

TEST_P(Migration, OfEveryVersionKeepsItsRunsAndLearnsTheRest) {
  for (int version = first(); version <= schema_version(); ++version) {
    SCOPED_TRACE(version);
    load(version);
    if (HasFatalFailure()) return;
    const Result<std::unique_ptr<Store>> fresh =
        open((directory_->path() / fmt::format("fresh{}.db", version)).string());
    ASSERT_TRUE(fresh);
    const Status filled = fill(**fresh, version);
    ASSERT_TRUE(filled) << filled.error().text();
    for (int time = 0; time < 2; ++time) {
      store_ = reopened();
      ASSERT_NE(store_, nullptr);
      for (const std::string& id : {kTraining, kFailed, kDeleted}) expect_same(*store_, **fresh, id);
      const Result<Experiment> experiment = store_->experiment(1);
      ASSERT_TRUE(experiment);
      EXPECT_EQ(experiment->name, "vision");
      EXPECT_EQ(experiment->created, 5'000'000) << "of version 1: when its first run began";
      EXPECT_EQ(experiment->tags.contains("team"), version >= 2);
      EXPECT_EQ(store_->search_models({})->size(), version >= 2 ? 1U : 0U);
      EXPECT_EQ(store_->claims().all_held("queue/")->size(), version >= 4 ? 1U : 0U);
      EXPECT_EQ(store_->queue().jobs({})->size(), version >= 5 ? 2U : 0U);
      expect_same_queue(store_->queue(), (*fresh)->queue());
      expect_same_registry(store_->registry(), (*fresh)->registry());
    }
    expect_works(*store_);
    store_ = reopened();
    EXPECT_EQ(store_->history(kTraining, "loss"), counting(0, 5700));
  }
}

PLIMSOLL_IN_EVERY_STORE(Migration);

/// With PLIMSOLL_UPDATE_FIXTURE=FILE the store that tests/fixtures/store/make_fixtures.py makes texts of.
TEST(MigrationFixture, CanBeWritten) {
  const char* const wanted = std::getenv("PLIMSOLL_UPDATE_FIXTURE");
  const Result<TemporaryDirectory> directory = TemporaryDirectory::make("fixture");
  ASSERT_TRUE(directory);
  const std::string path = wanted != nullptr ? wanted : (directory->path() / "fixture.db").string();
  const Result<std::unique_ptr<Store>> store = open(path, {.journal = Journal::rollback});
  ASSERT_TRUE(store) << store.error().text();
  const Status filled = fill(**store, schema_version());
  ASSERT_TRUE(filled) << filled.error().text();
}

}  // namespace
}  // namespace plimsoll::store
