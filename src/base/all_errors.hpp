#pragma once
#include <expected>
#include <vector>

#include "base/error.hpp"

namespace plimsoll {

/// All that is wrong with a file, not only the first of it.
template <class T>
using AllErrors = std::expected<T, std::vector<Error>>;

}  // namespace plimsoll
