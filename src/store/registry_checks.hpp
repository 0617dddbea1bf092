#pragma once
#include <cstddef>
#include <string_view>

#include "store/registry.hpp"
#include "store/texts.hpp"

/// What the registry takes, looked at before a transaction begins.
namespace plimsoll::store {

inline constexpr std::size_t kLongestRegisteredName = 256, kLongestAlias = 255,
                             kLongestRegistryValue = 100'000;

/// 1 to 256 characters that make a path of their own in models:/NAME/VERSION.
[[nodiscard]] Status check_registered_name(std::string_view name);
[[nodiscard]] Status check_alias(std::string_view alias);
[[nodiscard]] Status check_registry_tags(const Texts& tags);
[[nodiscard]] Status check_version(const NewModelVersion& version);
[[nodiscard]] Status check_description(std::string_view description);

}  // namespace plimsoll::store
