#include "store/schema.hpp"

#include <cstdint>
#include <iterator>
#include <thread>

namespace plimsoll::store {
namespace {

/// "Plim": SQLite's application_id, by which `file` and others tell one program's databases from another's.
constexpr std::int64_t kApplication = 0x506C696D;

/// The n-th brings a store from version n to n + 1. Each was published: never changed, only followed by
/// others.
constexpr const char* kMigrations[] = {
    R"sql(
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
)sql",
};

Result<std::int64_t> pragma(sqlite::Database& database, const char* sql) {
  sqlite::Query query = database.query_once(sql);
  const Result<bool> row = query.next();
  if (!row) return std::unexpected(row.error());
  return *row ? query.integer(0) : 0;
}

/// The store's version, 0 where the database is still empty. Reads only; in a transaction, as another process
/// may be making the tables at this moment.
Result<std::int64_t> recognised_version(sqlite::Database& database) {
  const Result<std::int64_t> application = pragma(database, "PRAGMA application_id");
  if (!application) return application;
  const Result<std::int64_t> version = pragma(database, "PRAGMA user_version");
  if (!version) return version;
  const Result<std::int64_t> objects = pragma(database, "SELECT count(*) FROM sqlite_schema");
  if (!objects) return objects;
  const bool empty = *application == 0 && *version == 0 && *objects == 0;
  if (!empty && *application != kApplication)
    return std::unexpected(Error{"this is a database of another program", database.path(),
                                 "Name another with --store PATH; this file was not changed."});
  if (*version > schema_version())
    return std::unexpected(
        Error{fmt::format("the store has version {} of the tables; this Plimsoll knows up to {}", *version,
                          schema_version()),
              database.path(),
              "A newer Plimsoll wrote it: update this one, or name another store with --store PATH."});
  if (!empty && *version < 1)
    return std::unexpected(Error{"the store is damaged: its version is missing", database.path()});
  return version;
}

/// Changing the journal does not wait for others by itself: SQLite answers "busy" at once where two do it.
Status use_write_ahead_log(sqlite::Database& database, std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const int code = sqlite3_exec(database.handle(), "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return {};
    if ((code & 0xFF) != SQLITE_BUSY || std::chrono::steady_clock::now() >= until)
      return std::unexpected(database.error(code));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

Status migrate(sqlite::Database& database) {
  Result<sqlite::Transaction> transaction = sqlite::Transaction::write(database);
  if (!transaction) return std::unexpected(transaction.error());
  // Again, as another process may have done it since.
  const Result<std::int64_t> version = recognised_version(database);
  if (!version) return std::unexpected(version.error());
  for (std::int64_t v = *version; v < schema_version(); ++v) PLIMSOLL_TRY(database.execute(kMigrations[v]));
  PLIMSOLL_TRY(database.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication, schema_version())
          .c_str()));
  return transaction->commit();
}

}  // namespace

int schema_version() {
  return static_cast<int>(std::size(kMigrations));
}

Status prepare_schema(sqlite::Database& database, std::chrono::milliseconds patience) {
  Result<std::int64_t> version = 0;
  {
    const Result<sqlite::Transaction> moment = sqlite::Transaction::read(database);
    if (!moment) return std::unexpected(moment.error());
    version = recognised_version(database);
  }
  if (!version) return std::unexpected(version.error());
  PLIMSOLL_TRY(use_write_ahead_log(database, patience));
  // FULL: a commit returns when it is on disk, not before; foreign keys are off unless each connection asks.
  PLIMSOLL_TRY(
      database.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON;"
                       "PRAGMA journal_size_limit = 16777216"));
  if (*version == schema_version()) return {};
  return migrate(database);
}

}  // namespace plimsoll::store
