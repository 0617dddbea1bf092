#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.hpp"

/// A database as Plimsoll uses it, whichever it is: errors are values, texts are only ever bound, statements
/// are prepared once. Statements are in what SQLite and PostgreSQL have in common, their values as `?`; a
/// SELECT of a row that is then changed ends in " FOR UPDATE", which SQLite's driver leaves out: there one
/// writer has the whole database.
namespace plimsoll::store {

/// A prepared statement, as a driver has it. A mistake in binding is what next() returns.
class Statement {
 public:
  virtual ~Statement() = default;
  virtual void bind_null() = 0;  ///< in place of an integer
  virtual void bind(std::int64_t value) = 0;
  virtual void bind(double value) = 0;
  virtual void bind_text(std::string_view value) = 0;
  virtual void bind_blob(std::string_view bytes) = 0;
  virtual void bind_integers(std::span<const std::int64_t> values) = 0;  ///< for Database::one_of()
  /// Rows are wanted soon, after those of other statements that are started as well.
  [[nodiscard]] virtual Status start() { return {}; }
  [[nodiscard]] virtual Result<bool> next() = 0;
  /// As next(), where no rows are wanted; an error may come with a later statement of the transaction.
  [[nodiscard]] virtual Status run() = 0;
  [[nodiscard]] virtual bool is_null(int column) const = 0;
  [[nodiscard]] virtual std::int64_t integer(int column) const = 0;
  [[nodiscard]] virtual double real(int column) const = 0;
  [[nodiscard]] virtual std::string text(int column) const = 0;
  [[nodiscard]] virtual std::string_view blob(int column) const = 0;
  virtual void reset() = 0;  ///< for the next use, without values

 protected:
  Statement() = default;
  Statement(const Statement&) = default;
  Statement& operator=(const Statement&) = default;
};

class Database;

/// One use of a statement: values are bound, then rows come one by one. A mistake on the way (the statement
/// cannot be prepared, a value cannot be bound) is what next() returns.
class Query {
 public:
  Query(Database& database, Result<std::unique_ptr<Statement>> statement, std::string_view idle_as)
      : database_(&database), statement_(std::move(statement)), idle_as_(idle_as) {}
  Query(Query&&) = default;
  Query& operator=(Query&&) = delete;
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query();

  Query& bind(std::int64_t value);
  Query& bind(double value);  ///< a NaN becomes NULL
  Query& bind(std::string_view value);
  Query& bind(std::optional<std::int64_t> value);
  Query& bind_blob(std::string_view bytes);
  Query& bind_integers(std::span<const std::int64_t> values);  ///< for Database::one_of()

  /// Rows are wanted soon, after those of others: who starts several before the first is read waits once for
  /// all of them.
  [[nodiscard]] Status start();
  /// Whether there is a row.
  [[nodiscard]] Result<bool> next();
  /// For statements without rows.
  [[nodiscard]] Status run();
  /// The one row that there must be.
  [[nodiscard]] Status row();

  [[nodiscard]] bool is_null(int column) const { return (*statement_)->is_null(column); }
  [[nodiscard]] std::int64_t integer(int column) const { return (*statement_)->integer(column); }
  [[nodiscard]] std::optional<std::int64_t> optional_integer(int column) const;
  [[nodiscard]] bool boolean(int column) const { return integer(column) != 0; }
  [[nodiscard]] double real(int column) const { return (*statement_)->real(column); }  ///< NULL is a NaN
  /// With any NUL that is in it.
  [[nodiscard]] std::string text(int column) const { return (*statement_)->text(column); }
  /// Until the next call of next().
  [[nodiscard]] std::string_view blob(int column) const { return (*statement_)->blob(column); }

 private:
  Database* database_;
  Result<std::unique_ptr<Statement>> statement_;
  std::string_view idle_as_;
};

/// A statement's text that is part of the program.
struct Literal {
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is meant to become one by itself
  consteval Literal(const char* sql) : text(sql) {}
  std::string_view text;
};

/// One connection. Used by one thread at a time.
class Database {
 public:
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  virtual ~Database() = default;

  /// Prepared once and kept.
  [[nodiscard]] Query query(Literal sql);
  /// The same for statements that are put together at run time, but are few.
  [[nodiscard]] Query query_again(const std::string& sql);
  /// For statements that are put together at run time; none of their parts comes from outside.
  [[nodiscard]] Query query_once(std::string_view sql) { return Query(*this, prepare(sql, false), {}); }
  /// Several statements, without values.
  [[nodiscard]] virtual Status execute(const std::string& sql) = 0;
  [[nodiscard]] virtual bool in_transaction() const = 0;
  /// After an error: whether the transaction was undone by what has passed (a connection that was lost before
  /// the commit, two that waited for each other), so that it may simply be done again.
  [[nodiscard]] virtual bool may_be_repeated() const { return false; }
  /// After an error: whether the connection is gone, with the answers to what was sent.
  [[nodiscard]] virtual bool is_lost() const { return false; }
  [[nodiscard]] virtual std::string name() const = 0;  ///< for people: its path or address
  /// A condition, to stand after a column: it is one of the integers of a single value.
  [[nodiscard]] virtual std::string_view one_of() const = 0;
  /// The clock that all who use the database go by, in microseconds since 1970: a server's own; of a file
  /// this machine's.
  [[nodiscard]] virtual Result<std::int64_t> clock() = 0;

 protected:
  Database() = default;
  /// Drivers call it before they close.
  void forget_statements() { idle_.clear(); }
  [[nodiscard]] virtual Result<std::unique_ptr<Statement>> prepare(std::string_view sql, bool kept) = 0;
  [[nodiscard]] virtual Status begin(bool writing) = 0;
  [[nodiscard]] virtual Status commit() = 0;
  virtual void roll_back() = 0;

 private:
  friend class Query;
  friend class Transaction;
  [[nodiscard]] Query take(std::string_view sql);

  std::unordered_set<std::string> texts_;  ///< of query_again
  std::unordered_map<std::string_view, std::vector<std::unique_ptr<Statement>>> idle_;
};

/// Undone at the end of its scope unless it was committed.
class Transaction {
 public:
  /// For reading: all that is read is of one moment.
  [[nodiscard]] static Result<Transaction> read(Database& database);
  /// For writing: waits for other writers of a file here, not in the middle.
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

/// Calls `each` for every row of a query; stops where it returns an error.
template <class Each>
[[nodiscard]] Status for_each_row(Query& query, Each&& each) {
  for (;;) {
    const Result<bool> row = query.next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
    if constexpr (std::is_void_v<decltype(each(query))>)
      each(query);
    else
      PLIMSOLL_TRY(each(query));
  }
}

}  // namespace plimsoll::store
