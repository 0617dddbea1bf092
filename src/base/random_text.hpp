#pragma once
#include <cstddef>
#include <string>

#include "base/error.hpp"

namespace plimsoll {

/// So many bytes that nobody can guess, from the system, as two hexadecimal digits each.
[[nodiscard]] Result<std::string> random_hex(std::size_t bytes);

}  // namespace plimsoll
