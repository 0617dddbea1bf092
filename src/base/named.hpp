#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace plimsoll {

/// The enumerator of that name, where `names` lists them in their order.
template <class Enum>
[[nodiscard]] std::optional<Enum> named(std::string_view name, std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace plimsoll
