#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "network/network.hpp"

namespace plimsoll::onnx {

/// The metadata entry in which Plimsoll's writer keeps the roles that network::classify_weights would get
/// wrong, so that they survive the file: "p4:name" for a parameter, "b4:name" for a buffer, one after
/// another.
inline constexpr std::string_view kRolesKey = "plimsoll.roles";

/// The entry's value; empty where classification gets all roles right.
[[nodiscard]] std::string list_roles(const network::Network& network);
[[nodiscard]] Status apply_roles(std::string_view roles, network::Network& network);

}  // namespace plimsoll::onnx
