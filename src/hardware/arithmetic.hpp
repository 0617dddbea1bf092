#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace plimsoll::hardware {

/// The number formats that datasheets give rates for. fp32 is the vector units' rate; tf32, fp16, bf16,
/// fp8 and int8 are the matrix units' where the device has them.
enum class Arithmetic : std::uint8_t { fp64, fp32, tf32, fp16, bf16, int8, fp8 };
inline constexpr int kArithmetics = 7;
[[nodiscard]] std::string_view name(Arithmetic arithmetic);
[[nodiscard]] std::optional<Arithmetic> arithmetic_named(std::string_view name);

}  // namespace plimsoll::hardware
