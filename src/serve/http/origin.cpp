#include "serve/http/origin.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"

namespace plimsoll::serve {
namespace {

/// "[::1]" of "[::1]:5000", "localhost" of "localhost:5000".
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

}  // namespace

bool is_own_host(std::string_view host, std::string_view bound) {
  const std::string name = lower_case(without_port(host));
  if (name == "localhost" || name == "127.0.0.1" || name == "[::1]") return true;
  return name == lower_case(bound) || name == "[" + lower_case(bound) + "]";
}

std::optional<Response> refuse_foreign_host(const Request& head, std::string_view bound) {
  // A browser always sends a Host; what sends none is no browser.
  if (head.host.empty() || is_own_host(head.host, bound)) return std::nullopt;
  return error_response(403,
                        fmt::format("this server is not {}: ask for it as localhost or 127.0.0.1, or give "
                                    "the server a token",
                                    quote(head.host)));
}

std::optional<Response> refuse_foreign_origin(const Request& head) {
  const std::string* origin = head.headers.find("origin");
  if (origin == nullptr) {
    // A browser sends no Origin with what an <img> or a <script> of another site asks for, but says whose it
    // is. To follow a link is the user's own doing.
    const std::string_view site = head.header("sec-fetch-site");
    const bool foreign = (site == "cross-site" || site == "same-site") &&
                         head.header("sec-fetch-mode") != "navigate" && head.method != "OPTIONS";
    if (!foreign) return std::nullopt;
    return error_response(403, "a page of another site may neither read nor change anything here");
  }
  const std::size_t scheme = origin->find("://");
  const bool same =
      scheme != std::string::npos && lower_case(origin->substr(scheme + 3)) == lower_case(head.host);
  if (same) return std::nullopt;
  return error_response(
      403, fmt::format("a page of {} may neither read nor change anything here", quote(*origin)));
}

}  // namespace plimsoll::serve
