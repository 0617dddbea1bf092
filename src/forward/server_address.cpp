#include "forward/server_address.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "base/printable.hpp"

namespace plimsoll::forward {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// All that could be a password is left out: rather too much than too little.
std::string without_secrets(std::string_view uri) {
  const std::size_t at = uri.rfind('@');
  if (at == std::string_view::npos) return printable(uri, 200);
  const std::size_t begin = uri.find("://");
  const std::string_view scheme = begin < at ? uri.substr(0, begin + 3) : std::string_view();
  return printable(fmt::format("{}***{}", scheme, uri.substr(at)), 200);
}

std::unexpected<Error> wrong(std::string_view uri, std::string message) {
  return std::unexpected(
      Error{std::move(message), without_secrets(uri),
            "An MLflow server is named like http://HOST:5000 or https://USER@HOST/PREFIX."});
}

/// "%40" is "@"; what is no such code stays.
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr == text.data() + i + 3) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool fits_a_header(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < ' ' || c == 0x7F; });
}

}  // namespace

Credentials credentials_of_environment() {
  Credentials out{.user = variable("MLFLOW_TRACKING_USERNAME"),
                  .password = variable("MLFLOW_TRACKING_PASSWORD")};
  if (!out.user.empty() && !out.password.empty()) return out;
  return {.token = variable("MLFLOW_TRACKING_TOKEN")};
}

Result<ServerAddress> parse_address(std::string_view uri, const Credentials& otherwise) {
  const std::size_t mark = uri.find("://");
  std::string scheme(uri.substr(0, std::min(mark, uri.size())));
  std::ranges::transform(scheme, scheme.begin(), [](unsigned char c) { return std::tolower(c); });
  if (mark == std::string_view::npos || (scheme != "http" && scheme != "https"))
    return wrong(uri, "runs are sent to a server, over http or https");
  if (std::ranges::any_of(uri, [](unsigned char c) { return c <= ' ' || c == 0x7F; }))
    return wrong(uri, "an address has no spaces");
  if (uri.find_first_of("?#") != std::string_view::npos)
    return wrong(uri, "a server's address has no '?' and no '#' (in a password: %3F, %23)");
  std::string_view rest = uri.substr(mark + 3);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash), path = rest.substr(slash);
  if (path.find('@') != std::string_view::npos)
    return wrong(uri, "a '/' in a user's name or password is written as %2F");
  while (path.ends_with('/')) path.remove_suffix(1);
  ServerAddress out{.credentials = otherwise};
  std::string before;
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    const std::string_view who = authority.substr(0, at);
    const std::size_t colon = std::min(who.find(':'), who.size());
    out.credentials = {.user = decoded(who.substr(0, colon)),
                       .password = colon < who.size() ? decoded(who.substr(colon + 1)) : std::string()};
    before = fmt::format("{}{}@", who.substr(0, colon), colon < who.size() ? ":***" : "");
    authority.remove_prefix(at + 1);
  }
  if (authority.empty() || authority.starts_with(':')) return wrong(uri, "the address names no host");
  const Credentials& who = out.credentials;
  if (!fits_a_header(who.user) || !fits_a_header(who.password) || !fits_a_header(who.token))
    return wrong(uri, "a user's name, password or token holds a control character");
  out.url = fmt::format("{}://{}{}", scheme, authority, path);
  out.shown = fmt::format("{}://{}{}{}", scheme, before, authority, path);
  return out;
}

}  // namespace plimsoll::forward
