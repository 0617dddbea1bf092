#pragma once
#include <cstddef>
#include <filesystem>
#include <string_view>

#include "store/database.hpp"
#include "store/transactions.hpp"

namespace plimsoll::store {

/// What was removed for good.
struct Purged {
  std::size_t runs = 0;
  bool others = false;  ///< models or experiments
};

/// Removes what is marked as deleted, and notes whose files are left over. The caller holds a transaction.
[[nodiscard]] Result<Purged> purge_rows(Database& database);

/// Removes the files that purges have left over, this one's and those of any that ended halfway. One whose
/// files cannot be removed does not keep the others: it stays noted, and the error says so.
[[nodiscard]] Status remove_leftovers(const Transactions& transactions,
                                      const std::filesystem::path& artifacts);

/// For who makes a run or model with an id that may have been purged: until the end of the transaction no
/// purge takes files of that id away.
[[nodiscard]] Status hold_leftover(Database& database, std::string_view id);

}  // namespace plimsoll::store
