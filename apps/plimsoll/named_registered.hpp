#pragma once
#include <string>

#include "base/error.hpp"
#include "store/store.hpp"

namespace plimsoll {

/// The registered model of this name; where there is none, an error with the names that are near.
[[nodiscard]] Result<store::RegisteredModel> named_registered(store::Store& store, const std::string& name);

}  // namespace plimsoll
