#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "serve/http/request.hpp"

namespace plimsoll::serve {

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
