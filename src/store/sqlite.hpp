#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sqlite3.h>

#include "base/error.hpp"

/// SQLite as Plimsoll uses it: errors are values, texts are only ever bound, statements are prepared once.
namespace plimsoll::store::sqlite {

struct StatementCloser {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using StatementPointer = std::unique_ptr<sqlite3_stmt, StatementCloser>;

/// How long to wait for another process's lock, and since when.
struct Patience {
  std::chrono::milliseconds most{};
  std::chrono::steady_clock::time_point since{};
};

class Database;

/// One use of a statement: values are bound, then rows come one by one. A mistake on the way (the statement
/// cannot be prepared, a value cannot be bound) is what next() returns.
class Query {
 public:
  Query(Database& database, StatementPointer statement, int code, std::string_view idle_as)
      : database_(&database), statement_(std::move(statement)), code_(code), idle_as_(idle_as) {}
  Query(Query&&) = default;
  Query& operator=(Query&&) = delete;
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query();

  Query& bind(std::int64_t value);
  Query& bind(double value);  ///< a NaN becomes NULL, which SQLite has in its place
  Query& bind(std::string_view value);
  Query& bind(std::optional<std::int64_t> value);
  Query& bind_blob(std::string_view bytes);

  /// Whether there is a row.
  [[nodiscard]] Result<bool> next();
  /// For statements without rows.
  [[nodiscard]] Status run();

  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;            ///< NULL is a NaN
  [[nodiscard]] std::string text(int column) const;       ///< with any NUL that is in it
  [[nodiscard]] std::string_view blob(int column) const;  ///< until the next call of next()

 private:
  Database* database_;
  StatementPointer statement_;
  int code_;
  int bound_ = 0;
  std::string_view idle_as_;
};

class Database {
 public:
  /// Opens a file that exists; it is not touched before the first statement runs.
  [[nodiscard]] static Result<std::unique_ptr<Database>> open(const std::filesystem::path& path,
                                                              std::chrono::milliseconds busy_timeout);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  /// Prepared once and kept; `sql` is a literal.
  template <std::size_t N>
  [[nodiscard]] Query query(const char (&sql)[N]) {
    return take(std::string_view(sql, N - 1));
  }
  /// For statements that are put together at run time; none of their parts comes from outside.
  [[nodiscard]] Query query_once(std::string_view sql);
  /// Several statements, without values.
  [[nodiscard]] Status execute(const char* sql);

  [[nodiscard]] std::int64_t last_inserted() const;
  [[nodiscard]] bool in_transaction() const;
  [[nodiscard]] sqlite3* handle() const { return handle_; }
  [[nodiscard]] std::string path() const { return path_.string(); }  ///< as it was named
  /// What an error code means, and what to do about it.
  [[nodiscard]] Error error(int code) const;

 private:
  friend class Query;
  Database(sqlite3* handle, std::filesystem::path path) : handle_(handle), path_(std::move(path)) {}
  [[nodiscard]] Query take(std::string_view sql);

  sqlite3* handle_;
  std::filesystem::path path_;
  Patience patience_;
  std::unordered_map<std::string_view, std::vector<StatementPointer>> idle_;
};

/// Undone at the end of its scope unless it was committed.
class Transaction {
 public:
  /// For reading: all that is read is of one moment.
  [[nodiscard]] static Result<Transaction> read(Database& database);
  /// For writing: waits for other writers here, not in the middle.
  [[nodiscard]] static Result<Transaction> write(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  /// On disk when it returns without an error.
  [[nodiscard]] Status commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace plimsoll::store::sqlite
