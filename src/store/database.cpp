#include "store/database.hpp"

namespace plimsoll::store {

Query::~Query() {
  if (idle_as_.empty() || !statement_ || !*statement_) return;
  (*statement_)->reset();
  database_->idle_[idle_as_].push_back(std::move(*statement_));
}

Query& Query::bind(std::int64_t value) {
  if (statement_) (*statement_)->bind(value);
  return *this;
}

Query& Query::bind(double value) {
  if (statement_) (*statement_)->bind(value);
  return *this;
}

Query& Query::bind(std::string_view value) {
  if (statement_) (*statement_)->bind_text(value);
  return *this;
}

Query& Query::bind(std::optional<std::int64_t> value) {
  if (value) return bind(*value);
  if (statement_) (*statement_)->bind_null();
  return *this;
}

Query& Query::bind_blob(std::string_view bytes) {
  if (statement_) (*statement_)->bind_blob(bytes);
  return *this;
}

Query& Query::bind_integers(std::span<const std::int64_t> values) {
  if (statement_) (*statement_)->bind_integers(values);
  return *this;
}

Status Query::start() {
  if (!statement_) return std::unexpected(statement_.error());
  return (*statement_)->start();
}

Result<bool> Query::next() {
  if (!statement_) return std::unexpected(statement_.error());
  return (*statement_)->next();
}

Status Query::run() {
  if (!statement_) return std::unexpected(statement_.error());
  return (*statement_)->run();
}

Status Query::row() {
  const Result<bool> row = next();
  if (!row) return std::unexpected(row.error());
  if (!*row) return fail("the store is damaged: a row is missing");
  return {};
}

std::optional<std::int64_t> Query::optional_integer(int column) const {
  return is_null(column) ? std::nullopt : std::optional(integer(column));
}

Query Database::query(Literal sql) {
  return take(sql.text);
}

Query Database::query_again(const std::string& sql) {
  return take(*texts_.insert(sql).first);
}

Query Database::take(std::string_view sql) {
  if (auto found = idle_.find(sql); found != idle_.end() && !found->second.empty()) {
    std::unique_ptr<Statement> statement = std::move(found->second.back());
    found->second.pop_back();
    return Query(*this, std::move(statement), sql);
  }
  return Query(*this, prepare(sql, true), sql);
}

Result<Transaction> Transaction::read(Database& database) {
  PLIMSOLL_TRY(database.begin(false));
  return Transaction(database);
}

Result<Transaction> Transaction::write(Database& database) {
  PLIMSOLL_TRY(database.begin(true));
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database_ != nullptr) database_->roll_back();
}

Status Transaction::commit() {
  PLIMSOLL_TRY(database_->commit());
  database_ = nullptr;
  return {};
}

}  // namespace plimsoll::store
