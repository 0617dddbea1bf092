#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/database.hpp"
#include "store/libpq.hpp"

namespace plimsoll::store {

struct ConnectionCloser {
  const Libpq* library = nullptr;
  void operator()(PGconn* connection) const { library->finish(connection); }
};
struct ResultCloser {
  const Libpq* library = nullptr;
  void operator()(PGresult* result) const { library->clear(result); }
};
using PostgresResult = std::unique_ptr<PGresult, ResultCloser>;

/// A value of a statement, in PostgreSQL's binary form.
struct PostgresValue {
  Oid type = 0;
  bool null = false;
  std::string bytes = {};
};

/// One connection to a server. Statements are sent at once but answered when an answer is needed: those
/// without rows cost no journey of their own, and their errors come with the next answer, at the latest with
/// the commit's. A lost connection is made again when the next transaction begins.
class PostgresDatabase final : public Database {
 public:
  [[nodiscard]] static Result<std::unique_ptr<PostgresDatabase>> open(const std::string& address,
                                                                      std::chrono::milliseconds patience);
  ~PostgresDatabase() override;

  [[nodiscard]] Status execute(const std::string& sql) override;
  [[nodiscard]] bool in_transaction() const override;
  [[nodiscard]] bool may_be_repeated() const override { return repeatable_; }
  [[nodiscard]] std::string name() const override { return name_; }

 protected:
  [[nodiscard]] Result<std::unique_ptr<Statement>> prepare(std::string_view sql, bool kept) override;
  [[nodiscard]] Status begin(bool writing) override;
  [[nodiscard]] Status commit() override;
  void roll_back() override;

 private:
  friend class PostgresStatement;
  PostgresDatabase(const Libpq& library, std::string address, std::string name,
                   std::chrono::milliseconds patience);

  [[nodiscard]] Status connect();
  [[nodiscard]] Status connect_again();
  [[nodiscard]] Status configure();
  /// Values are sent as they are. `prepared`: the statement's name, "" where `sql` is used once.
  [[nodiscard]] Status send(const std::string& prepared, const std::string& sql,
                            const std::vector<PostgresValue>& values);
  [[nodiscard]] Status send_prepare(const std::string& name, const std::string& sql,
                                    const std::vector<PostgresValue>& values);
  /// Waits for all that was sent; the answer to the last of it.
  [[nodiscard]] Result<PostgresResult> answer();
  [[nodiscard]] Error error(const PGresult* result);
  [[nodiscard]] bool is_lost() const { return lost_ || library_.status(connection_.get()) != CONNECTION_OK; }

  const Libpq& library_;
  std::string address_;
  std::string name_;
  std::chrono::milliseconds patience_;
  std::unique_ptr<PGconn, ConnectionCloser> connection_;
  std::size_t unanswered_ = 0;
  std::size_t generation_ = 0;  ///< of the connection: prepared statements belong to one
  std::size_t statements_ = 0;  ///< prepared so far, for their names
  bool repeatable_ = false;
  bool lost_ = false;
  bool forget_prepared_ = false;
};

}  // namespace plimsoll::store
