#include <tuple>

#include "store/location.hpp"
#include "store/postgres_schema.hpp"
#include "store/schema.hpp"
#include "store/sql_store.hpp"
#include "store/sqlite.hpp"

namespace plimsoll::store {
namespace {

namespace fs = std::filesystem;

/// Beside the file: plimsoll-artifacts beside plimsoll.db.
fs::path artifacts_beside(const fs::path& path) {
  const fs::path stem = path.extension() == ".db" ? path.parent_path() / path.stem() : path;
  return stem.string() + "-artifacts";
}

/// Where a quarter of the file or more is free, it is written anew without that. Another process may be in
/// the way, or the disk too full; then the space is used by the next runs instead.
Status vacuum(Database& database) {
  Query query = database.query_once(
      "SELECT 4 * freelist_count >= page_count FROM pragma_freelist_count, pragma_page_count");
  const Result<bool> row = query.next();
  if (!row) return std::unexpected(row.error());
  const bool worth_it = query.integer(0) != 0;
  std::ignore = query.next();
  if (!worth_it) return {};
  std::ignore = database.execute("VACUUM");
  // The log has the whole file in it now; it is cut to its usual size by the next one to begin it anew.
  std::ignore = database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  return {};
}

Result<std::unique_ptr<Store>> open_file(const fs::path& named, const OpenOptions& options) {
  std::error_code ignored;
  // Absolute, so that a later change of directory moves nothing.
  const fs::path path = fs::absolute(named, ignored);
  PLIMSOLL_TRY(refuse_trap(path));
  PLIMSOLL_TRY(refuse_trap(artifacts_beside(path)));
  PLIMSOLL_TRY(make_private_file(named, options.create));
  Result<std::unique_ptr<SqliteDatabase>> first = SqliteDatabase::open(named, options.busy_timeout);
  if (!first) return std::unexpected(std::move(first).error());
  const Result<Journal> journal = prepare_schema(**first, options);
  if (!journal) return std::unexpected(journal.error());
  if (*journal == Journal::write_ahead) (*first)->leave_log_to_another();
  const auto another = [path, options]() -> Result<std::unique_ptr<Database>> {
    Result<std::unique_ptr<SqliteDatabase>> opened = SqliteDatabase::open(path, options.busy_timeout);
    if (!opened) return std::unexpected(std::move(opened).error());
    PLIMSOLL_TRY(configure(**opened));
    return std::move(*opened);
  };
  constexpr std::size_t kReaders = 4;
  SqlStoreParts parts{.writers = std::make_unique<Connections>(1, another, std::move(*first)),
                      .readers = nullptr,
                      .location = path.string(),
                      .artifacts = artifacts_beside(path),
                      .give_space_back = vacuum,
                      .refresh_statistics = {}};
  // Without a write-ahead log readers and the writer would only be in each other's way.
  if (*journal == Journal::write_ahead) parts.readers = std::make_unique<Connections>(kReaders, another);
  return make_sql_store(std::move(parts));
}

Result<std::unique_ptr<Store>> open_server(const std::string& address, const OpenOptions& options) {
  const Result<fs::path> artifacts = artifact_directory(options.artifacts);
  if (!artifacts) return std::unexpected(artifacts.error());
  Result<std::unique_ptr<PostgresDatabase>> first = PostgresDatabase::open(address, options.busy_timeout);
  if (!first) return std::unexpected(std::move(first).error());
  PLIMSOLL_TRY(prepare_postgres(**first, options.create));
  const auto another = [address, options]() -> Result<std::unique_ptr<Database>> {
    return PostgresDatabase::open(address, options.busy_timeout);
  };
  // A server has room for a hundred connections or so, for all that use it.
  constexpr std::size_t kWriters = 4, kReaders = 4;
  std::string location = (*first)->name();
  return make_sql_store({.writers = std::make_unique<Connections>(kWriters, another, std::move(*first)),
                         .readers = std::make_unique<Connections>(kReaders, another),
                         .location = std::move(location),
                         .artifacts = *artifacts,
                         .appends_at_once = true,
                         .give_space_back = {},
                         .refresh_statistics = analyze_grown});
}

}  // namespace

Result<std::unique_ptr<Store>> open(const std::string& location, const OpenOptions& options) {
  if (const std::string named = named_location(location); is_postgres(named))
    return open_server(named, options);
  const Result<fs::path> path = store_path(location);
  if (!path) return std::unexpected(path.error());
  return open_file(*path, options);
}

}  // namespace plimsoll::store
