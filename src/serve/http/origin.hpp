#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "serve/http/response.hpp"

namespace plimsoll::serve {

/// Whether `host`, a Host header's value with or without a port, names this machine's loopback or `bound`,
/// the address that the server listens at.
[[nodiscard]] bool is_own_host(std::string_view host, std::string_view bound);

/// Guards a server on loopback that asks for no token against web pages that the user's browser shows: a page
/// whose name an attacker's DNS turns to 127.0.0.1 (its Host is foreign), and any other site's page that
/// asks here, be it to read alone (its Origin is not the Host): to some requests a browser gives such a page
/// the answer. The answer 403, or nothing.
[[nodiscard]] std::optional<Response> refuse_foreign_host(const Request& head, std::string_view bound);
[[nodiscard]] std::optional<Response> refuse_foreign_origin(const Request& head);

}  // namespace plimsoll::serve
