#include "store/sqlite.hpp"

#include <cmath>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>

namespace plimsoll::store::sqlite {
namespace {

struct Meaning {
  int code;  ///< SQLite's primary result code
  Error::Kind kind;
  std::string_view message;
  std::string_view hint;
};

constexpr auto kLacks = Error::Kind::machine_lacks;
constexpr auto kBad = Error::Kind::bad_input;
constexpr std::string_view kLocked = "another process keeps the store locked";
constexpr std::string_view kTryAgain =
    "Try again when it has ended; what is in the store is safe. `fuser FILE` says who has it open.";
constexpr std::string_view kRights =
    "Check the permissions of the file and its directory, or name another store with --store PATH.";
constexpr Meaning kMeanings[] = {
    {SQLITE_BUSY, kLacks, kLocked, kTryAgain},
    {SQLITE_LOCKED, kLacks, kLocked, kTryAgain},
    {SQLITE_PROTOCOL, kLacks, kLocked, kTryAgain},
    {SQLITE_FULL, kLacks, "the disk is full",
     "Make room and try again; what was in the store before is safe. `plimsoll runs purge` removes deleted "
     "runs."},
    {SQLITE_IOERR, kLacks, "the file cannot be read or written",
     "Check the disk, its quota and the limit of file sizes (`df FILE`, `ulimit -f`)."},
    {SQLITE_READONLY, kLacks, "the file may not be written to", kRights},
    {SQLITE_PERM, kLacks, "the file may not be opened", kRights},
    {SQLITE_AUTH, kLacks, "the file may not be opened", kRights},
    {SQLITE_CANTOPEN, kLacks, "the file cannot be opened", kRights},
    {SQLITE_NOMEM, kLacks, "there is not enough memory", "Close other programs and try again."},
    {SQLITE_CORRUPT, kBad, "the database is damaged",
     "Keep a copy of the file and of its -wal beside it; `sqlite3 FILE .recover` saves what can be read."},
    {SQLITE_NOTADB, kBad, "this is not a store of Plimsoll: it is no SQLite database",
     "Name another with --store PATH; this file was not changed."},
    {SQLITE_TOOBIG, kBad, "a text is too long for the store", ""},
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

}  // namespace

Query::~Query() {
  if (!statement_ || idle_as_.empty()) return;
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  database_->idle_[idle_as_].push_back(std::move(statement_));
}

Query& Query::bind(std::int64_t value) {
  if (code_ == SQLITE_OK) code_ = sqlite3_bind_int64(statement_.get(), ++bound_, value);
  return *this;
}

Query& Query::bind(double value) {
  if (code_ == SQLITE_OK) code_ = sqlite3_bind_double(statement_.get(), ++bound_, value);
  return *this;
}

Query& Query::bind(std::string_view value) {
  // A null pointer would bind NULL in place of an empty text.
  const char* const data = value.data() == nullptr ? "" : value.data();
  if (code_ == SQLITE_OK)
    code_ =
        sqlite3_bind_text64(statement_.get(), ++bound_, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Query& Query::bind(std::optional<std::int64_t> value) {
  if (value) return bind(*value);
  if (code_ == SQLITE_OK) code_ = sqlite3_bind_null(statement_.get(), ++bound_);
  return *this;
}

Query& Query::bind_blob(std::string_view bytes) {
  if (code_ == SQLITE_OK)
    code_ = sqlite3_bind_blob64(statement_.get(), ++bound_, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  return *this;
}

Result<bool> Query::next() {
  if (code_ == SQLITE_OK) {
    const int stepped = sqlite3_step(statement_.get());
    if (stepped == SQLITE_ROW || stepped == SQLITE_DONE) return stepped == SQLITE_ROW;
    code_ = stepped;
  }
  return std::unexpected(database_->error(code_));
}

Status Query::run() {
  const Result<bool> row = next();
  if (!row) return std::unexpected(row.error());
  return {};
}

bool Query::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t Query::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Query::real(int column) const {
  if (is_null(column)) return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(statement_.get(), column);
}

std::string Query::text(int column) const {
  return std::string(blob(column));
}

std::string_view Query::blob(int column) const {
  const void* const data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  if (data == nullptr || size <= 0) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

Result<std::unique_ptr<Database>> Database::open(const std::filesystem::path& path,
                                                 std::chrono::milliseconds busy_timeout) {
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, nullptr);
  std::unique_ptr<Database> database(new Database(handle, path));
  if (code != SQLITE_OK) return std::unexpected(database->error(code));
  sqlite3_extended_result_codes(handle, 1);
  database->patience_.most = busy_timeout;
  sqlite3_busy_handler(handle, wait_for_lock, &database->patience_);
  // The file may come from a stranger: nothing in its schema runs, and no statement spoils its structure.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  return database;
}

Database::~Database() {
  idle_.clear();
  sqlite3_close_v2(handle_);
}

Query Database::take(std::string_view sql) {
  if (auto found = idle_.find(sql); found != idle_.end() && !found->second.empty()) {
    StatementPointer statement = std::move(found->second.back());
    found->second.pop_back();
    return Query(*this, std::move(statement), SQLITE_OK, sql);
  }
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  return Query(*this, StatementPointer(statement), code, sql);
}

Query Database::query_once(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  return Query(*this, StatementPointer(statement), code, {});
}

Status Database::execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(error(code));
  return {};
}

std::int64_t Database::last_inserted() const {
  return sqlite3_last_insert_rowid(handle_);
}

bool Database::in_transaction() const {
  return sqlite3_get_autocommit(handle_) == 0;
}

Error Database::error(int code) const {
  const int system = handle_ == nullptr ? 0 : sqlite3_system_errno(handle_);
  for (const Meaning& m : kMeanings) {
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

Result<Transaction> Transaction::read(Database& database) {
  PLIMSOLL_TRY(database.query("BEGIN").run());
  return Transaction(database);
}

Result<Transaction> Transaction::write(Database& database) {
  PLIMSOLL_TRY(database.query("BEGIN IMMEDIATE").run());
  return Transaction(database);
}

Transaction::~Transaction() {
  // After some errors SQLite has undone it by itself.
  if (database_ != nullptr && database_->in_transaction()) std::ignore = database_->query("ROLLBACK").run();
}

Status Transaction::commit() {
  PLIMSOLL_TRY(database_->query("COMMIT").run());
  database_ = nullptr;
  return {};
}

}  // namespace plimsoll::store::sqlite
