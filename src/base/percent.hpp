#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace plimsoll {

/// "%C3%A6" as "æ", each escape once. Refuses broken escapes, NUL and what is not UTF-8 afterwards.
[[nodiscard]] Result<std::string> percent_decode(std::string_view text, bool plus_is_space = false);
/// All but letters, digits and "-._~" as %XX: any text as one segment of a path or a value of a query.
[[nodiscard]] std::string percent_encode(std::string_view text);

}  // namespace plimsoll
