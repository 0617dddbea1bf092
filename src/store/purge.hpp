#pragma once
#include <string>
#include <vector>

#include "store/database.hpp"

namespace plimsoll::store {

/// What was removed for good.
struct Purged {
  std::vector<std::string> runs, models;  ///< their ids
  bool others = false;                    ///< models or experiments
};

/// Removes what is marked as deleted. The caller holds a transaction.
[[nodiscard]] Result<Purged> purge_rows(Database& database);

}  // namespace plimsoll::store
