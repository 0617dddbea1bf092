#pragma once
#include <string>
#include <vector>

#include "base/error.hpp"

namespace plimsoll {

/// Prints all that is wrong with a file, and leaves main nothing to say but how much: `undone` ("planned")
/// says what was not done.
[[nodiscard]] Error all_told(const std::vector<Error>& errors, const std::string& where,
                             std::string_view undone);

}  // namespace plimsoll
