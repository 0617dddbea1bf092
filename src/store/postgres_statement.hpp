#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/postgres.hpp"

namespace plimsoll::store {

/// Prepared on the server when it first runs, as its values' types are known then.
class PostgresStatement final : public Statement {
 public:
  PostgresStatement(PostgresDatabase& database, std::string_view sql, bool kept);
  PostgresStatement(const PostgresStatement&) = delete;
  PostgresStatement& operator=(const PostgresStatement&) = delete;
  ~PostgresStatement() override;

  void bind_null() override;
  void bind(std::int64_t value) override;
  void bind(double value) override;
  void bind_text(std::string_view value) override;
  void bind_blob(std::string_view bytes) override;
  void bind_integers(std::span<const std::int64_t> values) override;
  [[nodiscard]] Status start() override;
  [[nodiscard]] Result<bool> next() override;
  [[nodiscard]] Status run() override;
  [[nodiscard]] bool is_null(int column) const override;
  [[nodiscard]] std::int64_t integer(int column) const override;
  [[nodiscard]] double real(int column) const override;
  [[nodiscard]] std::string text(int column) const override;
  [[nodiscard]] std::string_view blob(int column) const override;
  void reset() override;

  void receive(PostgresResult rows) { result_ = std::move(rows); }
  [[nodiscard]] bool has_rows() const { return result_ != nullptr; }

 private:
  [[nodiscard]] Status send(PostgresStatement* receiver);

  PostgresDatabase& database_;
  std::string sql_;  ///< with $1, $2… for its values
  bool kept_;
  std::vector<PostgresValue> values_ = {};
  bool started_ = false;
  PostgresResult result_;
  int row_ = -1;
};

/// `?` becomes $1, $2…, outside of quotes.
[[nodiscard]] std::string numbered(std::string_view sql);

}  // namespace plimsoll::store
