#pragma once
#include <cstdint>
#include <string_view>

namespace plimsoll::estimate {

/// What decides how long a kernel takes.
enum class Bottleneck : std::uint8_t { compute, memory, launch };
inline constexpr int kBottlenecks = 3;
[[nodiscard]] std::string_view name(Bottleneck bottleneck);

}  // namespace plimsoll::estimate
