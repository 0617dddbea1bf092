#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "serve/http/request.hpp"

namespace plimsoll::serve {

/// "%C3%A6" as "æ", each escape once. Refuses broken escapes, NUL and what is not UTF-8 afterwards.
[[nodiscard]] Result<std::string> percent_decode(std::string_view text, bool plus_is_space = false);
/// All but letters, digits and "-._~" as %XX: any text as one segment of a path or a value of a query.
[[nodiscard]] std::string percent_encode(std::string_view text);

/// "a=1&b=x+y" in its parts; a name without "=" has an empty value.
[[nodiscard]] Result<Pairs> parse_query(std::string_view query);

/// A request's target: "/path?query" or "http://host/path?query".
struct Target {
  std::string path;
  Pairs query = {};
  std::string host = {};  ///< of the absolute form; else empty
};
[[nodiscard]] Result<Target> parse_target(std::string_view target);

}  // namespace plimsoll::serve
