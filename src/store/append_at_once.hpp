#pragma once
#include "store/database.hpp"
#include "store/run.hpp"

namespace plimsoll::store {

/// Whether a batch is one of those that append_at_once() takes: few points, and nothing said beside them.
[[nodiscard]] bool fits_at_once(const Batch& batch);

/// For PostgreSQL: a transaction of its own that is sent in one piece and waited for once, where a client
/// logs one metric at a time. False, and nothing of the batch is in the store, where it is to be appended in
/// the usual way: to a metric that is new, or has chunks to be joined.
[[nodiscard]] Result<bool> append_at_once(Database& database, const Batch& batch);

}  // namespace plimsoll::store
