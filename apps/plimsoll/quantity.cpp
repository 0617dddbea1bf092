#include "quantity.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <string>

#include "base/printable.hpp"
#include "model_source.hpp"

namespace plimsoll {
namespace {

struct UnitName {
  std::string_view name;
  double factor;
};

constexpr UnitName kTimes[] = {{"s", 1},     {"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6},
                               {"ms", 1e-3}, {"min", 60},  {"h", 3600},  {"d", 86400}};
constexpr UnitName kPowers[] = {{"W", 1}, {"mW", 1e-3}, {"kW", 1e3}};
constexpr UnitName kEnergies[] = {{"J", 1},    {"mJ", 1e-3}, {"kJ", 1e3},
                                  {"MJ", 1e6}, {"Wh", 3600}, {"kWh", 3.6e6}};
constexpr UnitName kMasses[] = {{"kg", 1}, {"g", 1e-3}};
constexpr UnitName kBitRates[] = {{"bit/s", 1}, {"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}};
constexpr UnitName kBandwidths[] = {
    {"B/s", 1}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}, {"Gbit/s", 1e9 / 8}};
constexpr UnitName kSizes[] = {{"B", 1},        {"kB", 1e3},     {"MB", 1e6},    {"GB", 1e9},
                               {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}};
constexpr UnitName kRates[] = {
    {"FLOP/s", 1}, {"", 1}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}};
constexpr UnitName kLengths[] = {{"mm", 1e-3}, {"cm", 1e-2}, {"m", 1}};
constexpr UnitName kShares[] = {{"%", 0.01}, {"", 1}};
constexpr UnitName kNone[] = {{"", 1}};
constexpr UnitName kPrices[] = {{"/h", 1}, {"$/h", 1}, {"", 1}};

std::unexpected<Error> wrong(std::string_view text, std::string_view option,
                             std::span<const UnitName> units) {
  std::string names;
  for (const UnitName& unit : units)
    if (!unit.name.empty()) names += fmt::format("{}{}", names.empty() ? "" : ", ", unit.name);
  return std::unexpected(Error{fmt::format("{} is no amount above zero", quote(text)), std::string(option),
                               names.empty() ? "" : fmt::format("a number and its unit: {}", names)});
}

Result<double> parse(std::string_view text, std::string_view option, std::span<const UnitName> units) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const UnitName& known : units)
    if (code == std::errc{} && unit == known.name) {
      const double value = number * known.factor;
      if (std::isfinite(value) && value > 0) return value;
    }
  return wrong(text, option, units);
}

template <class Quantity>
Result<Quantity> parse_as(std::string_view text, std::string_view option, std::span<const UnitName> units) {
  const Result<double> value = parse(text, option, units);
  if (!value) return std::unexpected(value.error());
  return Quantity(*value);
}

}  // namespace

Result<Seconds> parse_seconds(std::string_view text, std::string_view option) {
  return parse_as<Seconds>(text, option, kTimes);
}
Result<Watts> parse_watts(std::string_view text, std::string_view option) {
  return parse_as<Watts>(text, option, kPowers);
}
Result<Joules> parse_joules(std::string_view text, std::string_view option) {
  return parse_as<Joules>(text, option, kEnergies);
}
Result<double> parse_kilograms(std::string_view text, std::string_view option) {
  return parse(text, option, kMasses);
}
Result<double> parse_bits_per_second(std::string_view text, std::string_view option) {
  return parse(text, option, kBitRates);
}
Result<BytesPerSecond> parse_bandwidth(std::string_view text, std::string_view option) {
  return parse_as<BytesPerSecond>(text, option, kBandwidths);
}
Result<Bytes> parse_bytes(std::string_view text, std::string_view option) {
  const Result<double> size = parse(text, option, kSizes);
  PLIMSOLL_TRY(size);
  return Bytes::rounded(*size);
}
Result<FlopsPerSecond> parse_flops_rate(std::string_view text, std::string_view option) {
  return parse_as<FlopsPerSecond>(text, option, kRates);
}
Result<double> parse_amount(std::string_view text, std::string_view option) {
  return parse(text, option, kNone);
}

Result<MoneyPerHour> parse_price(std::string_view text, std::string_view option) {
  if (text.starts_with('$')) text.remove_prefix(1);
  return parse_as<MoneyPerHour>(text, option, kPrices);
}

Result<double> parse_share(std::string_view text, std::string_view option) {
  Result<double> share = parse(text, option, kShares);
  if (share && *share > 1) return wrong(text, option, kShares);
  return share;
}

Result<std::array<double, 3>> parse_room(std::string_view text, std::string_view option) {
  const Error error{fmt::format("{} is no size", quote(text)), std::string(option), "as in 10x70x80mm"};
  const auto unit_at = text.find_last_of("0123456789.") + 1;  // npos + 1 is 0
  const std::string unit(text.substr(unit_at));
  std::array<double, 3> out{};
  std::string_view rest = text.substr(0, unit_at);
  for (std::size_t side = 0; side < 3; ++side) {
    const auto cross = rest.find('x');
    if ((cross == rest.npos) != (side == 2)) return std::unexpected(error);
    const Result<double> length = parse(std::string(rest.substr(0, cross)) + unit, option, kLengths);
    if (!length) return std::unexpected(error);
    out[side] = *length;
    rest.remove_prefix(side == 2 ? 0 : cross + 1);
  }
  return out;
}

Result<std::pair<std::int64_t, std::int64_t>> parse_size(const std::string& text, bool square,
                                                         std::string_view option) {
  constexpr std::int64_t kMost = 1 << 24;
  const Result<std::vector<std::int64_t>> parsed = parse_shape(text);
  if (parsed && std::ranges::all_of(*parsed, [](std::int64_t n) { return n > 0 && n <= kMost; })) {
    if (parsed->size() == 2) return std::pair((*parsed)[0], (*parsed)[1]);
    if (parsed->size() == 1 && square) return std::pair((*parsed)[0], (*parsed)[0]);
  }
  return fail("{} {} is no size: {}", option, text,
              square ? "224, or 224x224" : "WIDTHxHEIGHT, as 4512x4512");
}

}  // namespace plimsoll
