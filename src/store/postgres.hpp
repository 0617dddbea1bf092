#pragma once
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
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

class PostgresStatement;

/// One connection to a server. Statements are sent at once but answered when an answer is needed: those
/// without rows cost no journey of their own, nor do several that are started before the first is read; and
/// their errors come with the next answer, at the latest with the commit's. A lost connection is made again
/// when the next transaction begins.
class PostgresDatabase final : public Database {
 public:
  [[nodiscard]] static Result<std::unique_ptr<PostgresDatabase>> open(const std::string& address,
                                                                      std::chrono::milliseconds patience);
  ~PostgresDatabase() override;

  [[nodiscard]] Status execute(const std::string& sql) override;
  [[nodiscard]] bool in_transaction() const override;
  [[nodiscard]] bool may_be_repeated() const override { return repeatable_; }
  [[nodiscard]] bool is_lost() const override {
    return lost_ || library_.status(connection_.get()) != CONNECTION_OK;
  }
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::string_view one_of() const override { return "= ANY(?)"; }
  [[nodiscard]] Result<std::int64_t> clock() override;

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
  /// Values are sent as they are. `prepared`: the statement's name, "" where `sql` is used once. `receiver`
  /// is given the rows, where somebody wants them.
  [[nodiscard]] Status send(const std::string& prepared, const std::string& sql,
                            const std::vector<PostgresValue>& values, PostgresStatement* receiver);
  /// The name on the server of a statement with values of these types, which is prepared where it is new.
  [[nodiscard]] Result<std::string> prepared(const std::string& sql,
                                             const std::vector<PostgresValue>& values);
  /// Waits for all that was sent, and gives each receiver its rows; the last answer that nobody wanted.
  [[nodiscard]] Result<PostgresResult> answer();
  /// Waits until the receiver has its rows, and those before it: others may still be under way.
  [[nodiscard]] Status await(const PostgresStatement& receiver);
  struct Answer {
    PostgresResult unwanted;
    std::optional<Error> problem = {};  ///< the first
  };
  template <class Enough>
  [[nodiscard]] bool read_until(Answer& answer, const Enough& enough);
  void deliver(PostgresResult result, Answer& answer);
  /// The statement wants its rows no more.
  void forget(const PostgresStatement* receiver);
  [[nodiscard]] Error error(const PGresult* result);

  const Libpq& library_;
  std::string address_;
  std::string name_;
  std::chrono::milliseconds patience_;
  std::unique_ptr<PGconn, ConnectionCloser> connection_;
  std::deque<PostgresStatement*> unanswered_;  ///< sent, in this order; nullptr: nobody wants rows
  std::unordered_map<std::string, std::string> prepared_;  ///< names on the server, by text and types
  bool unsynchronized_ = false;  ///< something was sent since the server was last asked for all answers
  bool repeatable_ = false;
  bool lost_ = false;
  bool forget_prepared_ = false;
};

}  // namespace plimsoll::store
