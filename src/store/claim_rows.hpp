#pragma once
#include <memory>

#include "store/claim.hpp"
#include "store/transactions.hpp"

namespace plimsoll::store {

[[nodiscard]] std::unique_ptr<Claims> make_claims(Transactions transactions);

/// Whether it is held by its holder in its term, and not expired. To the end of the transaction nobody else
/// gets it.
[[nodiscard]] Result<bool> still_held(Database& database, const Claim& held);

}  // namespace plimsoll::store
