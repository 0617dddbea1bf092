#pragma once
#include <array>
#include <optional>
#include <string_view>

#include "base/named.hpp"
#include "network/network.hpp"

namespace plimsoll::job {

// The words that a job uses for what a Network enumerates.

inline constexpr std::array<std::string_view, 4> kRoles = {"computed", "input", "parameter", "buffer"};
inline constexpr std::array<std::string_view, 3> kOrigins = {"declared", "data", "derived"};
inline constexpr std::array<std::string_view, 9> kAttributeKinds = {
    "integer", "real", "text", "integers", "reals", "texts", "tensor", "graph", "other"};

[[nodiscard]] inline std::string_view name(network::Role role) {
  return kRoles[static_cast<std::size_t>(role)];
}
[[nodiscard]] inline std::string_view name(network::Symbol::Origin origin) {
  return kOrigins[static_cast<std::size_t>(origin)];
}
[[nodiscard]] inline std::string_view name(network::Attribute::Kind kind) {
  return kAttributeKinds[static_cast<std::size_t>(kind)];
}
[[nodiscard]] inline std::optional<network::Role> role_named(std::string_view word) {
  return named<network::Role>(word, kRoles);
}
[[nodiscard]] inline std::optional<network::Symbol::Origin> origin_named(std::string_view word) {
  return named<network::Symbol::Origin>(word, kOrigins);
}
[[nodiscard]] inline std::optional<network::Attribute::Kind> attribute_kind_named(std::string_view word) {
  return named<network::Attribute::Kind>(word, kAttributeKinds);
}

}  // namespace plimsoll::job
