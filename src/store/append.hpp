#pragma once
#include <span>

#include "store/database.hpp"
#include "store/run.hpp"

namespace plimsoll::store {

/// Adds points to metrics of any runs. The caller holds a transaction. However many runs there are, a server
/// is waited for three times: for their rows, for those of new metrics, and for the commit.
[[nodiscard]] Status append_batches(Database& database, std::span<const Batch> batches);

}  // namespace plimsoll::store
