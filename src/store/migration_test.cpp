// Stores that older versions of Plimsoll have made.
#include <sqlite3.h>

#include "store/schema.hpp"
#include "store/test_store.hpp"

namespace plimsoll::store {
namespace {

/// The tables of version 1, as they were published, with a run in them.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE experiment(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE);
INSERT INTO experiment(id, name) VALUES (0, 'Default');

CREATE TABLE run(
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  experiment INTEGER NOT NULL REFERENCES experiment(id),
  name TEXT NOT NULL,
  status TEXT NOT NULL,
  start INTEGER NOT NULL,   -- microseconds since 1970, UTC, as all times here
  "end" INTEGER,
  deleted INTEGER NOT NULL DEFAULT 0);
CREATE INDEX run_by_start ON run(deleted, start DESC);
CREATE INDEX run_by_experiment ON run(experiment, deleted, start DESC);

CREATE TABLE param(
  run INTEGER NOT NULL REFERENCES run(number) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(run, name)) WITHOUT ROWID;
CREATE TABLE tag(
  run INTEGER NOT NULL REFERENCES run(number) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(run, name)) WITHOUT ROWID;

CREATE TABLE metric(
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(number) ON DELETE CASCADE,
  name TEXT NOT NULL,
  unit TEXT NOT NULL,
  source TEXT NOT NULL,
  latest_time INTEGER NOT NULL,
  latest_step INTEGER NOT NULL,
  latest_value REAL,               -- NULL: not a number
  points INTEGER NOT NULL,
  full_chunks INTEGER NOT NULL,    -- chunks 0 … full_chunks - 1 are full
  chunks INTEGER NOT NULL,         -- the others, up to chunks - 1, are joined when there are many
  UNIQUE(run, name));

CREATE TABLE chunk(
  id INTEGER PRIMARY KEY,          -- in the order of writing: the chunks of one transaction lie side by side
  metric INTEGER NOT NULL REFERENCES metric(id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  points INTEGER NOT NULL,
  first INTEGER NOT NULL,          -- the earliest time in it
  last INTEGER NOT NULL,           -- the latest
  bytes BLOB NOT NULL);
CREATE UNIQUE INDEX chunk_by_metric ON chunk(metric, sequence);

INSERT INTO experiment(id, name) VALUES (1, 'old');
INSERT INTO run(number, id, experiment, name, status, start, "end") VALUES
  (1, '0123456789abcdef0123456789abcdef', 1, 'kept', 'FINISHED', 5000000, 6000000);
INSERT INTO param VALUES (1, 'lr', '0.1');
INSERT INTO tag VALUES (1, 'model', 'resnet');
PRAGMA application_id = 1349282157;
PRAGMA user_version = 1;
)sql";

class Migration : public test::StoreTest {};

TEST_F(Migration, OfVersion1KeepsItsRunsAndLearnsTheRest) {
  const std::filesystem::path path = directory_->path() / "old.db";
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, kVersion1, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
  sqlite3_close(handle);
  for (int time = 0; time < 2; ++time) {
    const Result<std::unique_ptr<Store>> store = open(path.string());
    ASSERT_TRUE(store) << store.error().text();
    const Result<store::Run> run = (*store)->find("0123456789");
    ASSERT_TRUE(run) << run.error().text();
    EXPECT_EQ(run->name, "kept");
    EXPECT_EQ(run->experiment_id, 1);
    EXPECT_EQ(run->params.at("lr"), "0.1");
    const Result<Experiment> experiment = (*store)->experiment(1);
    ASSERT_TRUE(experiment);
    EXPECT_EQ(experiment->name, "old");
    EXPECT_EQ(experiment->created, 5'000'000) << "when its first run began";
    EXPECT_EQ(experiment->deleted, false);
    if (time == 0) {
      ASSERT_TRUE((*store)->append({{Batch{run->id, "m", {}, test::counting(0, 5000)}}}));
      ASSERT_TRUE((*store)->change_experiment(1, {.tags = {{"a", "b"}}}));
    } else {
      EXPECT_EQ((*store)->history(run->id, "m"), test::counting(0, 5000));
      EXPECT_EQ(experiment->tags.at("a"), "b");
    }
  }
}

}  // namespace
}  // namespace plimsoll::store
