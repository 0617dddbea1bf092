#pragma once
#include <memory>

#include "store/claim.hpp"
#include "store/transactions.hpp"

namespace plimsoll::store {

[[nodiscard]] std::unique_ptr<Claims> make_claims(Transactions transactions);

}  // namespace plimsoll::store
