#pragma once
#include "store/postgres.hpp"

namespace plimsoll::store {

/// Makes the schema `plimsoll` of a database a store of the present version: makes its tables where there are
/// none and `create` says so, and brings them up to date. Several processes may do it at once.
[[nodiscard]] Status prepare_postgres(PostgresDatabase& database, bool create);

/// Has the server look at the tables that have more than doubled since it last did. It does so by itself, but
/// only every minute; until then a search is planned for empty tables.
[[nodiscard]] Status analyze_grown(Database& database);

}  // namespace plimsoll::store
