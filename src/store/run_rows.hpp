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

/// A run's row by its id or the beginning of it.
[[nodiscard]] Result<std::int64_t> run_number(Database& database, std::string_view id);
/// The same; until the end of the transaction nobody else changes the run, where several write at once.
[[nodiscard]] Result<std::int64_t> locked_run(Database& database, std::string_view id);

[[nodiscard]] Status insert_run(Database& database, const std::string& id, const NewRun& run);
[[nodiscard]] Status update_run(Database& database, std::int64_t number, const Change& change);
[[nodiscard]] Status mark_run(Database& database, std::int64_t number, bool deleted);
[[nodiscard]] Result<Run> load_run(Database& database, std::int64_t number);
[[nodiscard]] Result<std::vector<Run>> find_runs(Database& database, const Search& search);

}  // namespace plimsoll::store
