#include "store/schema.hpp"

#include <chrono>
#include <cstdint>
#include <iterator>
#include <thread>

#include "store/location.hpp"

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
    R"sql(
ALTER TABLE experiment ADD COLUMN artifact_location TEXT NOT NULL DEFAULT '';
ALTER TABLE experiment ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE experiment ADD COLUMN created INTEGER NOT NULL DEFAULT 0;
ALTER TABLE experiment ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
UPDATE experiment SET created = coalesce(
  (SELECT min(start) FROM run WHERE run.experiment = experiment.id),
  CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
UPDATE experiment SET changed = created;
CREATE TABLE experiment_tag(
  experiment INTEGER NOT NULL REFERENCES experiment(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(experiment, name)) WITHOUT ROWID;

ALTER TABLE run ADD COLUMN user_name TEXT NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN deleted_at INTEGER;

-- Where there is something for maintain() to join.
CREATE INDEX metric_to_join ON metric(id) WHERE chunks >= full_chunks + 32;
CREATE TABLE summary(             -- of a chunk with many points, to draw it without reading them
  metric INTEGER NOT NULL REFERENCES metric(id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY(metric, sequence)) WITHOUT ROWID;

CREATE TABLE dataset(
  id INTEGER PRIMARY KEY,
  experiment INTEGER NOT NULL REFERENCES experiment(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  digest TEXT NOT NULL,
  source_type TEXT NOT NULL,
  source TEXT NOT NULL,
  schema TEXT NOT NULL,
  profile TEXT NOT NULL,
  UNIQUE(experiment, name, digest));
CREATE TABLE input(
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(number) ON DELETE CASCADE,
  dataset INTEGER NOT NULL REFERENCES dataset(id) ON DELETE CASCADE,
  UNIQUE(run, dataset));
CREATE INDEX input_by_dataset ON input(dataset);
CREATE TABLE input_tag(
  input INTEGER NOT NULL REFERENCES input(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(input, name)) WITHOUT ROWID;

CREATE TABLE model(
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  experiment INTEGER NOT NULL REFERENCES experiment(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  artifact_uri TEXT NOT NULL,
  created INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  status TEXT NOT NULL,
  type TEXT NOT NULL,
  source_run TEXT NOT NULL,       -- a run's id, or empty
  deleted INTEGER NOT NULL DEFAULT 0);
CREATE INDEX model_by_experiment ON model(experiment, deleted, created DESC);
CREATE TABLE model_tag(
  model INTEGER NOT NULL REFERENCES model(number) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(model, name)) WITHOUT ROWID;
CREATE TABLE model_param(
  model INTEGER NOT NULL REFERENCES model(number) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(model, name)) WITHOUT ROWID;
CREATE TABLE model_metric(        -- which of a run's metrics are about a model, each with its latest point
  model INTEGER NOT NULL REFERENCES model(number) ON DELETE CASCADE,
  run INTEGER NOT NULL REFERENCES run(number) ON DELETE CASCADE,
  name TEXT NOT NULL,
  dataset_name TEXT NOT NULL,
  dataset_digest TEXT NOT NULL,
  time INTEGER NOT NULL,
  step INTEGER NOT NULL,
  value REAL,
  PRIMARY KEY(model, name, run, dataset_name, dataset_digest)) WITHOUT ROWID;
CREATE INDEX model_metric_by_run ON model_metric(run);
CREATE TABLE model_link(          -- models that a run has read or made
  run INTEGER NOT NULL REFERENCES run(number) ON DELETE CASCADE,
  output INTEGER NOT NULL,        -- 0: read, 1: made
  model TEXT NOT NULL,            -- its id
  step INTEGER NOT NULL,
  PRIMARY KEY(run, output, model, step)) WITHOUT ROWID;
)sql",
    R"sql(
ALTER TABLE run ADD COLUMN version INTEGER NOT NULL DEFAULT 0;   -- another with every change of the run
)sql",
    R"sql(
ALTER TABLE metric ADD COLUMN host TEXT NOT NULL DEFAULT '';   -- empty: the run's own, or nobody said
CREATE TABLE claim(
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,           -- empty: free; the row stays, so that its term never falls
  until INTEGER NOT NULL,
  lease INTEGER NOT NULL,         -- microseconds that it was last taken for
  term INTEGER NOT NULL,
  note TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE leftover(            -- runs and models that were purged, but for their files
  id TEXT PRIMARY KEY) WITHOUT ROWID;
)sql",
    R"sql(
CREATE TABLE queue_counter(       -- one row, which every change of the queue has for itself
  id INTEGER PRIMARY KEY,
  number INTEGER NOT NULL,        -- each the last that was given
  version INTEGER NOT NULL,
  decision INTEGER NOT NULL);
INSERT INTO queue_counter(id, number, version, decision) VALUES (0, 0, 0, 0);
CREATE TABLE queue_job(
  number INTEGER PRIMARY KEY,
  user_name TEXT NOT NULL,
  name TEXT NOT NULL,
  pool TEXT NOT NULL,
  priority REAL NOT NULL,
  submitted INTEGER NOT NULL,
  after_jobs TEXT NOT NULL,       -- their numbers, with commas between
  request_bytes INTEGER NOT NULL,
  state TEXT NOT NULL,
  attempt INTEGER NOT NULL DEFAULT 0,
  host TEXT NOT NULL DEFAULT '',
  place TEXT NOT NULL DEFAULT '',
  run TEXT NOT NULL DEFAULT '',
  outcome TEXT NOT NULL DEFAULT '',
  reason TEXT NOT NULL DEFAULT '',
  notes TEXT NOT NULL DEFAULT '',
  started INTEGER NOT NULL DEFAULT 0,
  ended INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL);
CREATE INDEX queue_job_by_state ON queue_job(state, number);
CREATE INDEX queue_job_by_version ON queue_job(version);
CREATE TABLE queue_text(          -- long, and never changed: a change of the job does not write it again
  job INTEGER PRIMARY KEY REFERENCES queue_job(number) ON DELETE CASCADE,
  request TEXT NOT NULL,
  environment TEXT NOT NULL);
CREATE TABLE queue_submission(
  token TEXT PRIMARY KEY,
  first INTEGER NOT NULL,         -- number of its first job
  jobs INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE queue_decision(
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  job INTEGER NOT NULL,
  host TEXT NOT NULL,
  kind TEXT NOT NULL,
  reason TEXT NOT NULL,
  expected TEXT NOT NULL);
CREATE INDEX queue_decision_by_job ON queue_decision(job, id);
CREATE TABLE queue_profile(
  fingerprint TEXT PRIMARY KEY,
  profile TEXT NOT NULL,
  kept INTEGER NOT NULL);
CREATE INDEX queue_profile_by_kept ON queue_profile(kept);
)sql",
    R"sql(
CREATE TABLE registered_model(
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  description TEXT NOT NULL,
  last_version INTEGER NOT NULL DEFAULT 0);   -- the last number that was given
CREATE TABLE registered_tag(
  model INTEGER NOT NULL REFERENCES registered_model(number) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(model, name)) WITHOUT ROWID;
CREATE TABLE model_version(
  number INTEGER PRIMARY KEY,
  model INTEGER NOT NULL REFERENCES registered_model(number) ON DELETE CASCADE,
  version INTEGER NOT NULL,
  created INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  description TEXT NOT NULL,
  user_name TEXT NOT NULL,
  stage TEXT NOT NULL,
  source TEXT NOT NULL,           -- as it was registered
  location TEXT NOT NULL,         -- where the files are
  run TEXT NOT NULL,              -- a run's id, or empty
  run_link TEXT NOT NULL,
  logged_model TEXT NOT NULL,     -- a logged model's id, or empty
  status TEXT NOT NULL,
  status_message TEXT NOT NULL,
  UNIQUE(model, version));
CREATE INDEX model_version_by_stage ON model_version(model, stage, version);
CREATE INDEX model_version_by_run ON model_version(run);
CREATE TABLE version_tag(
  version INTEGER NOT NULL REFERENCES model_version(number) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(version, name)) WITHOUT ROWID;
CREATE TABLE model_alias(
  model INTEGER NOT NULL REFERENCES registered_model(number) ON DELETE CASCADE,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,       -- 1, 2, 3…, not a row's number
  PRIMARY KEY(model, name)) WITHOUT ROWID;
)sql",
};

Result<std::int64_t> pragma(SqliteDatabase& database, const char* sql) {
  Query query = database.query_once(sql);
  const Result<bool> row = query.next();
  if (!row) return std::unexpected(row.error());
  return *row ? query.integer(0) : 0;
}

/// The store's version, 0 where the database is still empty. Reads only; in a transaction, as another process
/// may be making the tables at this moment.
Result<std::int64_t> recognised_version(SqliteDatabase& database) {
  const Result<std::int64_t> application = pragma(database, "PRAGMA application_id");
  if (!application) return application;
  const Result<std::int64_t> version = pragma(database, "PRAGMA user_version");
  if (!version) return version;
  const Result<std::int64_t> objects = pragma(database, "SELECT count(*) FROM sqlite_schema");
  if (!objects) return objects;
  const bool empty = *application == 0 && *version == 0 && *objects == 0;
  if (!empty && *application != kApplication)
    return std::unexpected(Error{"this is a database of another program", database.name(),
                                 "Name another with --store PATH; this file was not changed."});
  if (*version > schema_version())
    return std::unexpected(
        Error{fmt::format("the store has version {} of the tables; this Plimsoll knows up to {}", *version,
                          schema_version()),
              database.name(),
              "A newer Plimsoll wrote it: update this one, or name another store with --store PATH."});
  if (!empty && *version < 1)
    return std::unexpected(Error{"the store is damaged: its version is missing", database.name()});
  return version;
}

/// Changing the journal does not wait for others by itself: SQLite answers "busy" at once where two do it.
Result<Journal> set_journal(SqliteDatabase& database, const OpenOptions& options) {
  const bool rollback = options.journal == Journal::rollback ||
                        (options.journal == Journal::automatic && is_on_network(database.name()));
  const char* const sql = rollback ? "PRAGMA journal_mode = DELETE" : "PRAGMA journal_mode = WAL";
  const auto until = std::chrono::steady_clock::now() + options.busy_timeout;
  for (;;) {
    const int code = sqlite3_exec(database.handle(), sql, nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return rollback ? Journal::rollback : Journal::write_ahead;
    if ((code & 0xFF) != SQLITE_BUSY || std::chrono::steady_clock::now() >= until)
      return std::unexpected(database.error(code));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

Status migrate(SqliteDatabase& database) {
  Result<Transaction> transaction = Transaction::write(database);
  if (!transaction) return std::unexpected(transaction.error());
  // Again, as another process may have done it since.
  const Result<std::int64_t> version = recognised_version(database);
  if (!version) return std::unexpected(version.error());
  for (std::int64_t v = *version; v < schema_version(); ++v) PLIMSOLL_TRY(database.execute(kMigrations[v]));
  PLIMSOLL_TRY(database.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication, schema_version())));
  return transaction->commit();
}

}  // namespace

Error cannot_update(std::int64_t version, Error error) {
  // One that is empty is only being made.
  if (version == 0 || error.kind != Error::Kind::machine_lacks) return error;
  error.hint = fmt::format(
      "The store has version {} of the tables, this Plimsoll needs {}. Whoever owns it opens it once with "
      "this version, with `plimsoll runs` for instance; older Plimsolls cannot open it afterwards.",
      version, schema_version());
  return error;
}

int schema_version() {
  return static_cast<int>(std::size(kMigrations));
}

Status configure(SqliteDatabase& database) {
  // EXTRA: a commit returns when it is on disk, not before; of a rollback journal that is the end of its
  // file's name too. Foreign keys are off unless each connection asks.
  return database.execute(
      "PRAGMA synchronous = EXTRA; PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON;"
      "PRAGMA journal_size_limit = 16777216");
}

Result<Journal> prepare_schema(SqliteDatabase& database, const OpenOptions& options) {
  Result<std::int64_t> version = 0;
  {
    const Result<Transaction> moment = Transaction::read(database);
    if (!moment) return std::unexpected(moment.error());
    version = recognised_version(database);
  }
  if (!version) return std::unexpected(version.error());
  const Result<Journal> journal = set_journal(database, options);
  if (!journal) return journal;
  PLIMSOLL_TRY(configure(database));
  if (!options.survives_power_cut && *journal == Journal::write_ahead)
    PLIMSOLL_TRY(database.execute("PRAGMA synchronous = NORMAL"));
  if (*version < schema_version())
    if (Status migrated = migrate(database); !migrated)
      return std::unexpected(cannot_update(*version, std::move(migrated).error()));
  return journal;
}

}  // namespace plimsoll::store
