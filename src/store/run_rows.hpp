#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/sqlite.hpp"
#include "store/store.hpp"

/// Runs as rows of the database: what stands in the tables experiment, run, param, tag and metric. Callers
/// hold a transaction.
namespace plimsoll::store {

/// A run's row by its id or the beginning of it.
[[nodiscard]] Result<std::int64_t> run_number(sqlite::Database& database, std::string_view id);

[[nodiscard]] Status insert_run(sqlite::Database& database, const std::string& id, const NewRun& run);
[[nodiscard]] Status update_run(sqlite::Database& database, std::int64_t number, const Change& change);
[[nodiscard]] Result<Run> load_run(sqlite::Database& database, std::int64_t number);
[[nodiscard]] Result<std::vector<std::int64_t>> search_runs(sqlite::Database& database, const Search& search);

/// A name of a metric, param, tag or experiment: 1 to 250 bytes.
[[nodiscard]] Status check_name(std::string_view what, std::string_view name);

}  // namespace plimsoll::store
