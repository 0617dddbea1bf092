#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include <sys/random.h>

#include "base/printable.hpp"
#include "store/filter_sql.hpp"
#include "store/location.hpp"
#include "store/points.hpp"
#include "store/run_rows.hpp"
#include "store/schema.hpp"
#include "store/sqlite.hpp"
#include "store/store.hpp"

namespace plimsoll::store {
namespace {

namespace fs = std::filesystem;

Result<std::string> random_id() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return std::unexpected(Error{"the system gives no random numbers", {}, {}, Error::Kind::machine_lacks});
  std::string id;
  for (const unsigned char byte : bytes) id += fmt::format("{:02x}", byte);
  return id;
}

/// Ids name directories: one that a stranger wrote into the file must not lead elsewhere.
bool is_id(std::string_view id) {
  return id.size() == 32 && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

class SqliteStore final : public Store {
 public:
  SqliteStore(std::unique_ptr<sqlite::Database> database, fs::path path)
      : database_(std::move(database)), path_(std::move(path)) {}

  Result<std::string> create(const NewRun& run) override {
    Result<std::string> id = random_id();
    if (!id) return id;
    PLIMSOLL_TRY(write([&] { return insert_run(*database_, *id, run); }));
    return id;
  }

  Status change(std::string_view run, const Change& change) override {
    return write_run(run, [&](std::int64_t number) { return update_run(*database_, number, change); });
  }

  Status append(std::span<const Batch> batches) override {
    return write([&]() -> Status {
      std::map<std::string_view, std::int64_t> numbers;
      for (const Batch& batch : batches) {
        auto known = numbers.find(batch.run);
        if (known == numbers.end()) {
          const Result<std::int64_t> number = run_number(*database_, batch.run);
          if (!number) return std::unexpected(number.error());
          known = numbers.emplace(batch.run, *number).first;
        }
        PLIMSOLL_TRY(append_points(*database_, known->second, batch));
      }
      return {};
    });
  }

  Status compact(std::string_view run) override {
    return write_run(run, [&](std::int64_t number) { return compact_points(*database_, number); });
  }

  Result<Run> find(std::string_view id) override {
    return read<Run>([&]() -> Result<Run> {
      const Result<std::int64_t> number = run_number(*database_, id);
      if (!number) return std::unexpected(number.error());
      return load_run(*database_, *number);
    });
  }

  Result<std::vector<Run>> search(const Search& search) override {
    return read<std::vector<Run>>([&]() -> Result<std::vector<Run>> {
      const Result<std::vector<std::int64_t>> numbers = search_runs(*database_, search);
      if (!numbers) return std::unexpected(numbers.error());
      std::vector<Run> out;
      for (const std::int64_t number : *numbers) {
        Result<Run> run = load_run(*database_, number);
        if (!run) return std::unexpected(std::move(run).error());
        out.push_back(std::move(*run));
      }
      return out;
    });
  }

  Result<std::vector<Point>> history(std::string_view run, std::string_view metric, std::optional<Time> from,
                                     std::optional<Time> to) override {
    return read<std::vector<Point>>([&]() -> Result<std::vector<Point>> {
      const Result<std::int64_t> number = run_number(*database_, run);
      if (!number) return std::unexpected(number.error());
      return read_points(*database_, *number, metric, from, to);
    });
  }

  Status remove(std::string_view run) override { return mark(run, 1); }
  Status restore(std::string_view run) override { return mark(run, 0); }
  Result<std::size_t> purge() override;
  Result<fs::path> artifacts(std::string_view run) override;
  Result<std::vector<File>> files(std::string_view run) override;
  std::string location() const override { return path_.string(); }

 private:
  /// All that `work` does, or nothing.
  template <class Work>
  Status write(Work&& work) {
    const std::lock_guard lock(mutex_);
    Result<sqlite::Transaction> transaction = sqlite::Transaction::write(*database_);
    if (!transaction) return std::unexpected(transaction.error());
    PLIMSOLL_TRY(std::forward<Work>(work)());
    return transaction->commit();
  }

  template <class Work>
  Status write_run(std::string_view run, Work&& work) {
    return write([&]() -> Status {
      const Result<std::int64_t> number = run_number(*database_, run);
      if (!number) return std::unexpected(number.error());
      return std::forward<Work>(work)(*number);
    });
  }

  template <class T, class Work>
  Result<T> read(Work&& work) {
    const std::lock_guard lock(mutex_);
    const Result<sqlite::Transaction> transaction = sqlite::Transaction::read(*database_);
    if (!transaction) return std::unexpected(transaction.error());
    return std::forward<Work>(work)();
  }

  Status mark(std::string_view run, std::int64_t deleted) {
    return write_run(run, [&](std::int64_t number) {
      return database_->query("UPDATE run SET deleted = ? WHERE number = ?").bind(deleted).bind(number).run();
    });
  }

  [[nodiscard]] fs::path artifact_root() const {
    const fs::path stem = path_.extension() == ".db" ? path_.parent_path() / path_.stem() : path_;
    return stem.string() + "-artifacts";
  }

  Result<fs::path> artifact_directory(std::string_view run);
  Status give_space_back();

  std::mutex mutex_;
  std::unique_ptr<sqlite::Database> database_;
  fs::path path_;
};

Result<std::size_t> SqliteStore::purge() {
  std::vector<std::string> ids;
  PLIMSOLL_TRY(write([&]() -> Status {
    sqlite::Query query = database_->query("DELETE FROM run WHERE deleted = 1 RETURNING id");
    for (;;) {
      const Result<bool> row = query.next();
      if (!row) return std::unexpected(row.error());
      if (!*row) return {};
      ids.push_back(query.text(0));
    }
  }));
  // The files go after the rows: a purge that is cut short leaves files without a run, not a run without
  // files.
  for (const std::string& id : ids) {
    if (!is_id(id)) continue;
    std::error_code problem;
    fs::remove_all(artifact_root() / id, problem);
    if (problem)
      return std::unexpected(Error{
          fmt::format("the runs are removed, but not all of their files: {}", problem.message()),
          (artifact_root() / id).string(), "Remove the directory by hand.", Error::Kind::machine_lacks});
  }
  if (!ids.empty()) PLIMSOLL_TRY(give_space_back());
  return ids.size();
}

/// Where a quarter of the file or more is free, it is written anew without that. Another process may be in
/// the way, or the disk too full; then the space is used by the next runs instead.
Status SqliteStore::give_space_back() {
  const std::lock_guard lock(mutex_);
  sqlite::Query query = database_->query_once(
      "SELECT 4 * freelist_count >= page_count FROM pragma_freelist_count, pragma_page_count");
  const Result<bool> row = query.next();
  if (!row) return std::unexpected(row.error());
  const bool worth_it = query.integer(0) != 0;
  std::ignore = query.next();
  if (worth_it) std::ignore = database_->execute("VACUUM");
  return {};
}

Result<fs::path> SqliteStore::artifact_directory(std::string_view run) {
  const Result<std::string> id = read<std::string>([&]() -> Result<std::string> {
    const Result<std::int64_t> number = run_number(*database_, run);
    if (!number) return std::unexpected(number.error());
    sqlite::Query query = database_->query("SELECT id FROM run WHERE number = ?");
    const Result<bool> row = query.bind(*number).next();
    if (!row) return std::unexpected(row.error());
    return query.text(0);
  });
  if (!id) return std::unexpected(id.error());
  if (!is_id(*id)) return fail("the store is damaged: {} is no run's id", quote(*id));
  return artifact_root() / *id;
}

Result<fs::path> SqliteStore::artifacts(std::string_view run) {
  Result<fs::path> directory = artifact_directory(run);
  if (directory) PLIMSOLL_TRY(make_private_directory(*directory));
  return directory;
}

Result<std::vector<File>> SqliteStore::files(std::string_view run) {
  constexpr std::size_t kMostFiles = 10'000;
  const Result<fs::path> directory = artifact_directory(run);
  if (!directory) return std::unexpected(directory.error());
  return list_files(*directory, kMostFiles);
}

}  // namespace

Result<std::unique_ptr<Store>> open(const std::string& location, const OpenOptions& options) {
  const Result<fs::path> path = store_path(location);
  if (!path) return std::unexpected(path.error());
  PLIMSOLL_TRY(make_private_file(*path, options.create));
  Result<std::unique_ptr<sqlite::Database>> database = sqlite::Database::open(*path, options.busy_timeout);
  if (!database) return std::unexpected(std::move(database).error());
  PLIMSOLL_TRY(prepare_schema(**database, options.busy_timeout));
  PLIMSOLL_TRY(register_like(**database));
  std::error_code ignored;
  // Absolute, so that a later change of directory moves nothing; SQLite does the same by itself.
  return std::make_unique<SqliteStore>(std::move(*database), fs::absolute(*path, ignored));
}

}  // namespace plimsoll::store
