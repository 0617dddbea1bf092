#include "run/toml_document.hpp"

#include <optional>
#include <sstream>

#include "base/printable.hpp"
#include "run/toml_library.hpp"

namespace plimsoll::running {

namespace {

/// The line of the first byte beyond ASCII that stands outside a comment and a quoted text of one line.
/// toml++ 3.3 takes some such characters, where it looks for spaces, into code that it declares unreachable;
/// the format has no use for them there.
std::optional<std::size_t> foreign_letter(std::string_view text) {
  std::size_t line = 1;
  char quote = 0;  // of the text of one line we are in; '#': a comment
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      quote = 0;
    } else if (quote == '#') {
      continue;
    } else if (quote != 0) {
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = 0;
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      return line;
    } else if ((c == '"' || c == '\'') && text.substr(i, 3) == std::string(3, c)) {
      i += 2;  // a text of several lines: looked at as if it were bare
    } else if (c == '"' || c == '\'' || c == '#') {
      quote = c;
    }
  }
  return {};
}

}  // namespace

Status check_toml_letters(std::string_view text) {
  if (const auto line = foreign_letter(text))
    return std::unexpected(Error{"there is a letter beyond ASCII outside quotes",
                                 fmt::format("line {}", *line), "Put the text into quotes, on one line."});
  return {};
}

Result<std::string> toml_as_json(std::string_view text) {
  PLIMSOLL_TRY(check_toml_letters(text));
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return std::unexpected(Error{printable(parsed.error().description()),
                                 fmt::format("line {}", parsed.error().source().begin.line)});
  std::ostringstream out;
  out << toml::json_formatter(parsed.table());
  return out.str();
}

}  // namespace plimsoll::running
