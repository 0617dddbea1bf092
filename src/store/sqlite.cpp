#include "store/sqlite.hpp"

#include <limits>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/ranges.h>

#include "store/filter.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::store {
namespace {

struct SqliteMeaning {
  int code;  ///< SQLite's primary result code
  Error::Kind kind;
  std::string_view message;
  std::string_view hint;
};

constexpr std::string_view kLocked = "another process keeps the store locked";
constexpr std::string_view kSqliteAgain =
    "Try again when it has ended; what is in the store is safe. `fuser FILE` says who has it open.";
constexpr std::string_view kRights =
    "Check the permissions of the file and its directory, or name another store with --store PATH.";
constexpr SqliteMeaning kSqliteMeanings[] = {
    {SQLITE_BUSY, Error::Kind::unavailable, kLocked, kSqliteAgain},
    {SQLITE_LOCKED, Error::Kind::unavailable, kLocked, kSqliteAgain},
    {SQLITE_PROTOCOL, Error::Kind::unavailable, kLocked, kSqliteAgain},
    {SQLITE_FULL, Error::Kind::unavailable, "the disk is full",
     "Make room and try again; what was in the store before is safe. `plimsoll runs purge` removes deleted "
     "runs."},
    {SQLITE_IOERR, Error::Kind::unavailable, "the file cannot be read or written",
     "Check the disk, its quota and the limit of file sizes (`df FILE`, `ulimit -f`)."},
    {SQLITE_READONLY, Error::Kind::machine_lacks, "the file may not be written to", kRights},
    {SQLITE_PERM, Error::Kind::machine_lacks, "the file may not be opened", kRights},
    {SQLITE_AUTH, Error::Kind::machine_lacks, "the file may not be opened", kRights},
    {SQLITE_CANTOPEN, Error::Kind::machine_lacks, "the file cannot be opened", kRights},
    {SQLITE_NOMEM, Error::Kind::unavailable, "there is not enough memory",
     "Close other programs and try again."},
    {SQLITE_CORRUPT, Error::Kind::bad_input, "the database is damaged",
     "Keep a copy of the file and of its -wal beside it; `sqlite3 FILE .recover` saves what can be read."},
    {SQLITE_NOTADB, Error::Kind::bad_input, "this is not a store of Plimsoll: it is not a SQLite database",
     "Name another with --store PATH; this file was not changed."},
    {SQLITE_TOOBIG, Error::Kind::bad_input, "a text is too long for the store", ""},
};

/// SQLite's own waiting sleeps up to 100 ms at a time: of two busy writers one would starve.
int wait_for_lock(void* patience, int attempt) {
  auto& waiting = *static_cast<Patience*>(patience);
  const auto now = std::chrono::steady_clock::now();
  if (attempt == 0) waiting.since = now;
  if (now - waiting.since >= waiting.most) return 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(attempt < 50 ? 1 : 5));
  return 1;
}

std::string_view text_of(sqlite3_value* value) {
  const void* const bytes = sqlite3_value_blob(value);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_value_bytes(value))};
}

void like_function(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
  if (sqlite3_value_type(values[0]) == SQLITE_NULL) return sqlite3_result_null(context);
  const bool ignore_case = sqlite3_value_int(values[2]) != 0;
  sqlite3_result_int(context, like(text_of(values[0]), text_of(values[1]), ignore_case) ? 1 : 0);
}

struct StatementCloser {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

class SqliteStatement final : public Statement {
 public:
  SqliteStatement(const SqliteDatabase& database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}

  void bind_null() override { note(sqlite3_bind_null(statement_.get(), ++bound_)); }
  void bind(std::int64_t value) override { note(sqlite3_bind_int64(statement_.get(), ++bound_, value)); }
  void bind(double value) override { note(sqlite3_bind_double(statement_.get(), ++bound_, value)); }
  void bind_text(std::string_view value) override {
    // A null pointer would bind NULL in place of an empty text.
    const char* const data = value.data() == nullptr ? "" : value.data();
    note(sqlite3_bind_text64(statement_.get(), ++bound_, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  }
  void bind_blob(std::string_view bytes) override {
    note(sqlite3_bind_blob64(statement_.get(), ++bound_, bytes.data(), bytes.size(), SQLITE_TRANSIENT));
  }

  void bind_integers(std::span<const std::int64_t> values) override {
    bind_text(fmt::format("[{}]", fmt::join(values, ",")));
  }

  Result<bool> next() override {
    if (code_ == SQLITE_OK) {
      const int stepped = sqlite3_step(statement_.get());
      if (stepped == SQLITE_ROW || stepped == SQLITE_DONE) return stepped == SQLITE_ROW;
      code_ = stepped;
    }
    return std::unexpected(database_.error(code_));
  }

  Status run() override {
    const Result<bool> row = next();
    if (!row) return std::unexpected(row.error());
    return {};
  }

  bool is_null(int column) const override {
    return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
  }
  std::int64_t integer(int column) const override { return sqlite3_column_int64(statement_.get(), column); }
  double real(int column) const override {
    if (is_null(column)) return std::numeric_limits<double>::quiet_NaN();
    return sqlite3_column_double(statement_.get(), column);
  }
  std::string text(int column) const override { return std::string(blob(column)); }
  std::string_view blob(int column) const override {
    const void* const data = sqlite3_column_blob(statement_.get(), column);
    const int size = sqlite3_column_bytes(statement_.get(), column);
    if (data == nullptr || size <= 0) return {};
    return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
  }

  void reset() override {
    sqlite3_reset(statement_.get());
    sqlite3_clear_bindings(statement_.get());
    code_ = SQLITE_OK;
    bound_ = 0;
  }

 private:
  void note(int code) {
    if (code_ == SQLITE_OK) code_ = code;
  }

  const SqliteDatabase& database_;
  std::unique_ptr<sqlite3_stmt, StatementCloser> statement_;
  int code_ = SQLITE_OK;
  int bound_ = 0;
};

}  // namespace

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::open(const std::filesystem::path& path,
                                                             std::chrono::milliseconds busy_timeout) {
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, nullptr);
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(handle, path));
  if (code != SQLITE_OK) return std::unexpected(database->error(code));
  sqlite3_extended_result_codes(handle, 1);
  database->patience_.most = busy_timeout;
  sqlite3_busy_handler(handle, wait_for_lock, &database->patience_);
  // The file may come from a stranger: nothing in its schema runs, and no statement spoils its structure.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  constexpr int kTraits = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
  const int registered = sqlite3_create_function_v2(handle, "plimsoll_like", 3, kTraits, nullptr,
                                                    like_function, nullptr, nullptr, nullptr);
  if (registered != SQLITE_OK) return std::unexpected(database->error(registered));
  return database;
}

SqliteDatabase::~SqliteDatabase() {
  forget_statements();
  sqlite3_close_v2(handle_);
}

void SqliteDatabase::leave_log_to_another() {
  std::error_code ignored;
  // Absolute, since it is opened later, and the process may be elsewhere then.
  checkpointer_ = std::make_unique<Checkpointer>(std::filesystem::absolute(path_, ignored));
  checkpointer_->watch(handle_, patience_);
}

Result<std::unique_ptr<Statement>> SqliteDatabase::prepare(std::string_view sql, bool kept) {
  constexpr std::string_view kLock = " FOR UPDATE";
  if (sql.ends_with(kLock)) sql.remove_suffix(kLock.size());
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                                      kept ? SQLITE_PREPARE_PERSISTENT : 0, &statement, nullptr);
  auto prepared = std::make_unique<SqliteStatement>(*this, statement);
  if (code != SQLITE_OK) return std::unexpected(error(code));
  return prepared;
}

Status SqliteDatabase::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(error(code));
  return {};
}

bool SqliteDatabase::in_transaction() const {
  return sqlite3_get_autocommit(handle_) == 0;
}

Result<std::int64_t> SqliteDatabase::clock() {
  return now();
}

Error SqliteDatabase::error(int code) const {
  const int system = handle_ == nullptr ? 0 : sqlite3_system_errno(handle_);
  for (const SqliteMeaning& m : kSqliteMeanings) {
    if (m.code != (code & 0xFF)) continue;
    std::string message(m.message);
    const bool from_system = m.code == SQLITE_IOERR || m.code == SQLITE_CANTOPEN;
    if (from_system && system != 0) message += ": " + std::generic_category().message(system);
    return Error{message, path_.string(), std::string(m.hint), m.kind};
  }
  return Error{
      fmt::format("SQLite says: {}", handle_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle_)),
      path_.string(),
      {},
      Error::Kind::internal};
}

Status SqliteDatabase::begin(bool writing) {
  return writing ? query("BEGIN IMMEDIATE").run() : query("BEGIN").run();
}

Status SqliteDatabase::commit() {
  return query("COMMIT").run();
}

void SqliteDatabase::roll_back() {
  // After some errors SQLite has undone it by itself.
  if (in_transaction()) std::ignore = query("ROLLBACK").run();
}

}  // namespace plimsoll::store
