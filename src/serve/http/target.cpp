#include "serve/http/target.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"

namespace plimsoll::serve {
namespace {

/// 0 to 15, or -1.
int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

}  // namespace

Result<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return fail("{} has a % without two digits behind it", quote(text));
      out += static_cast<char>((high << 4) | low);
      i += 2;
    }
  }
  if (out.find('\0') != std::string::npos) return fail("{} has a NUL in it", quote(text));
  if (!is_utf8(out)) return fail("{} is not UTF-8", quote(text));
  return out;
}

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_unreserved(c))
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

Result<Pairs> parse_query(std::string_view query) {
  Pairs pairs;
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    auto name = percent_decode(part.substr(0, equals), true);
    PLIMSOLL_TRY(name);
    auto value =
        equals == std::string_view::npos ? std::string() : percent_decode(part.substr(equals + 1), true);
    PLIMSOLL_TRY(value);
    pairs.add(*std::move(name), *std::move(value));
  }
  return pairs;
}

Result<Target> parse_target(std::string_view target) {
  Target parsed;
  const std::size_t slashes = target.starts_with('/') ? std::string_view::npos : target.find("://");
  const std::string scheme = slashes == std::string_view::npos ? "" : lower_case(target.substr(0, slashes));
  if (scheme == "http" || scheme == "https") {
    target.remove_prefix(slashes + 3);
    const std::size_t end = target.find_first_of("/?#");
    parsed.host = target.substr(0, end);
    target.remove_prefix(parsed.host.size());
    if (parsed.host.empty()) return fail("the target names no host");
  } else if (!target.starts_with('/')) {
    return fail("the target {} does not begin with '/'", quote(target));
  }
  if (target.find('#') != std::string_view::npos) return fail("the target {} has a '#'", quote(target));
  const std::size_t question = target.find('?');
  auto path = percent_decode(target.substr(0, question));
  PLIMSOLL_TRY(path);
  parsed.path = path->empty() ? "/" : *std::move(path);
  if (question == std::string_view::npos) return parsed;
  auto query = parse_query(target.substr(question + 1));
  PLIMSOLL_TRY(query);
  parsed.query = *std::move(query);
  return parsed;
}

}  // namespace plimsoll::serve
