#include "run/toml_document.hpp"

#include <sstream>

#include "base/printable.hpp"
#include "run/toml_library.hpp"

namespace plimsoll::running {

Result<std::string> toml_as_json(std::string_view text) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return std::unexpected(Error{printable(parsed.error().description()),
                                 fmt::format("line {}", parsed.error().source().begin.line)});
  std::ostringstream out;
  out << toml::json_formatter(parsed.table());
  return out.str();
}

}  // namespace plimsoll::running
