#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"

namespace plimsoll {

/// Amounts as people write them on a command line, a number and its unit: "4.42s", "95.65 min", "5W".
/// `option` is named in the error, with the units that serve. All must be finite and above zero.
[[nodiscard]] Result<Seconds> parse_seconds(std::string_view text, std::string_view option);
[[nodiscard]] Result<Watts> parse_watts(std::string_view text, std::string_view option);
[[nodiscard]] Result<Joules> parse_joules(std::string_view text, std::string_view option);
[[nodiscard]] Result<double> parse_kilograms(std::string_view text, std::string_view option);
[[nodiscard]] Result<double> parse_bits_per_second(std::string_view text, std::string_view option);
[[nodiscard]] Result<BytesPerSecond> parse_bandwidth(std::string_view text, std::string_view option);
[[nodiscard]] Result<Bytes> parse_bytes(std::string_view text, std::string_view option);
[[nodiscard]] Result<FlopsPerSecond> parse_flops_rate(std::string_view text, std::string_view option);
/// "3.06/h", "$3.06/h" or "3.06": dollars an hour.
[[nodiscard]] Result<MoneyPerHour> parse_price(std::string_view text, std::string_view option);
/// "5%" or "0.05"; at most 1.
[[nodiscard]] Result<double> parse_share(std::string_view text, std::string_view option);
/// "10x70x80mm": three lengths in metres.
[[nodiscard]] Result<std::array<double, 3>> parse_room(std::string_view text, std::string_view option);
/// Pixels, "4512x4512"; one number stands for both sides where `square`.
[[nodiscard]] Result<std::pair<std::int64_t, std::int64_t>> parse_size(const std::string& text, bool square,
                                                                       std::string_view option);
/// "1x3x224x224" into numbers; fails on anything else.
[[nodiscard]] Result<std::vector<std::int64_t>> parse_shape(std::string_view text);
/// A plain number such as "175e9", above zero.
[[nodiscard]] Result<double> parse_amount(std::string_view text, std::string_view option);

}  // namespace plimsoll
