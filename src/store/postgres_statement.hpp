#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "store/postgres.hpp"

namespace plimsoll::store {

/// Prepared on the server when it first runs, as its values' types are known then.
class PostgresStatement final : public Statement {
 public:
  PostgresStatement(PostgresDatabase& database, std::string_view sql, bool kept);

  void bind_null() override;
  void bind(std::int64_t value) override;
  void bind(double value) override;
  void bind_text(std::string_view value) override;
  void bind_blob(std::string_view bytes) override;
  [[nodiscard]] Result<bool> next() override;
  [[nodiscard]] Status run() override;
  [[nodiscard]] bool is_null(int column) const override;
  [[nodiscard]] std::int64_t integer(int column) const override;
  [[nodiscard]] double real(int column) const override;
  [[nodiscard]] std::string text(int column) const override;
  [[nodiscard]] std::string_view blob(int column) const override;
  void reset() override;

 private:
  [[nodiscard]] Status send();

  PostgresDatabase& database_;
  std::string sql_;  ///< with $1, $2… for its values
  bool kept_;
  std::string name_ = {};  ///< on the server; empty: not prepared
  std::size_t generation_ = 0;
  std::vector<Oid> types_ = {};  ///< that it was prepared with
  std::vector<PostgresValue> values_ = {};
  PostgresResult result_;
  int row_ = -1;
};

/// `?` becomes $1, $2…, outside of quotes.
[[nodiscard]] std::string numbered(std::string_view sql);

}  // namespace plimsoll::store
