#pragma once
#include "base/error.hpp"
#include "store/sqlite.hpp"
#include "store/store.hpp"

namespace plimsoll::store {

/// The version of the tables that this program writes.
[[nodiscard]] int schema_version();

/// Makes a file a store of the present version: checks that it is one (or empty), turns on the write-ahead
/// log, and brings the tables up to date. A file of another program, or of a newer Plimsoll, is refused and
/// not changed. Several processes may do it at once. Returns how commits are kept.
[[nodiscard]] Result<Journal> prepare_schema(SqliteDatabase& database, const OpenOptions& options);

/// What every connection to a store needs to be told.
[[nodiscard]] Status configure(SqliteDatabase& database);

/// What kept a store of an older version from being brought up to date.
[[nodiscard]] Error cannot_update(std::int64_t version, Error error);

}  // namespace plimsoll::store
