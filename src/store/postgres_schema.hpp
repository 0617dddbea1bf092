#pragma once
#include "store/postgres.hpp"

namespace plimsoll::store {

/// Makes the schema `plimsoll` of a database a store of the present version: makes its tables where there are
/// none and `create` says so, and brings them up to date. Several processes may do it at once.
[[nodiscard]] Status prepare_postgres(PostgresDatabase& database, bool create);

}  // namespace plimsoll::store
