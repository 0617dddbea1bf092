#pragma once
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include <sqlite3.h>

#include "store/checkpointer.hpp"
#include "store/database.hpp"
#include "store/patience.hpp"

namespace plimsoll::store {

class SqliteDatabase final : public Database {
 public:
  /// Opens a file that exists; it is not touched before the first statement runs.
  [[nodiscard]] static Result<std::unique_ptr<SqliteDatabase>> open(const std::filesystem::path& path,
                                                                    std::chrono::milliseconds busy_timeout);
  ~SqliteDatabase() override;

  [[nodiscard]] Status execute(const std::string& sql) override;
  [[nodiscard]] bool in_transaction() const override;
  [[nodiscard]] std::string name() const override { return path_.string(); }  ///< as it was named
  [[nodiscard]] std::string_view one_of() const override { return "IN (SELECT value FROM json_each(?))"; }
  [[nodiscard]] Result<std::int64_t> clock() override;
  [[nodiscard]] sqlite3* handle() const { return handle_; }
  /// Of a file with a write-ahead log, by the only connection that writes: its commits do not wait for what
  /// is in the log to be moved into the file.
  void leave_log_to_another();
  /// What an error code means, and what to do about it.
  [[nodiscard]] Error error(int code) const;

 protected:
  [[nodiscard]] Result<std::unique_ptr<Statement>> prepare(std::string_view sql, bool kept) override;
  [[nodiscard]] Status begin(bool writing) override;
  [[nodiscard]] Status commit() override;
  void roll_back() override;

 private:
  SqliteDatabase(sqlite3* handle, std::filesystem::path path) : handle_(handle), path_(std::move(path)) {}

  sqlite3* handle_;
  std::filesystem::path path_;
  Patience patience_;
  std::unique_ptr<Checkpointer> checkpointer_;
};

}  // namespace plimsoll::store
