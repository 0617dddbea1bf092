#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/database.hpp"
#include "store/store.hpp"

/// Runs as rows of the database: what stands in the tables experiment, run, param, tag and metric. Callers
/// hold a transaction.
namespace plimsoll::store {

/// Ids name directories: one that a stranger wrote into the database must not lead elsewhere.
[[nodiscard]] bool is_run_id(std::string_view id);

/// A run's row by its id or the beginning of it.
[[nodiscard]] Result<std::int64_t> run_number(Database& database, std::string_view id);

/// An id as it is kept; an error where it is only the beginning of one.
[[nodiscard]] Result<std::string> whole_id(std::string_view id);
/// The whole of an id; a whole one is not looked for.
[[nodiscard]] Result<std::string> full_id(Database& database, std::string_view id);

/// A run's row, for who is about to change the run: it gets another version, and until the end of the
/// transaction nobody else changes it, where several write at once.
[[nodiscard]] Result<std::int64_t> locked_run(Database& database, std::string_view id);
/// The same for who locks several: all are started, then each is read.
class LockedRun {
 public:
  /// `id` is a whole one, and outlives it.
  LockedRun(Database& database, std::string_view id);
  [[nodiscard]] Status start() { return query_.start(); }
  [[nodiscard]] Result<std::int64_t> number();

 private:
  std::string_view id_;
  Query query_;
};

[[nodiscard]] Status insert_run(Database& database, const std::string& id, const NewRun& run);
[[nodiscard]] Status update_run(Database& database, std::int64_t number, const Change& change);
[[nodiscard]] Status mark_run(Database& database, std::int64_t number, bool deleted);
[[nodiscard]] Result<Run> load_run(Database& database, std::int64_t number);
[[nodiscard]] Result<std::vector<Found>> find_runs(Database& database, const Search& search,
                                                   const Known& known);
[[nodiscard]] Result<std::int64_t> count_runs(Database& database, const Search& search);
[[nodiscard]] Result<RunKeys> keys_of_runs(Database& database, std::span<const std::int64_t> experiments,
                                           std::size_t most);

}  // namespace plimsoll::store
