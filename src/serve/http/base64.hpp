#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::serve {

/// With padding.
[[nodiscard]] std::string base64_encode(std::string_view bytes);
/// Nothing where it is no base64; padding may be missing.
[[nodiscard]] std::optional<std::string> base64_decode(std::string_view text);

}  // namespace plimsoll::serve
