#include "quantity.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <string>

#include "base/printable.hpp"

namespace plimsoll {
namespace {

struct UnitName {
  std::string_view name;
  double factor;
};

// The first of each is the example that a message gives.
constexpr UnitName kTimes[] = {{"ms", 1e-3}, {"s", 1},    {"us", 1e-6}, {"µs", 1e-6},
                               {"ns", 1e-9}, {"min", 60}, {"h", 3600},  {"d", 86400}};
constexpr UnitName kPowers[] = {{"W", 1}, {"mW", 1e-3}, {"kW", 1e3}};
constexpr UnitName kEnergies[] = {{"J", 1},    {"mJ", 1e-3}, {"kJ", 1e3},
                                  {"MJ", 1e6}, {"Wh", 3600}, {"kWh", 3.6e6}};
constexpr UnitName kMasses[] = {{"g", 1e-3}, {"kg", 1}};
constexpr UnitName kBitRates[] = {{"Mbit/s", 1e6}, {"bit/s", 1}, {"kbit/s", 1e3}, {"Gbit/s", 1e9}};
constexpr UnitName kBandwidths[] = {
    {"GB/s", 1e9}, {"B/s", 1}, {"MB/s", 1e6}, {"TB/s", 1e12}, {"Gbit/s", 1e9 / 8}};
constexpr UnitName kSizes[] = {{"MB", 1e6},     {"B", 1},        {"kB", 1e3},    {"GB", 1e9},
                               {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}};
constexpr UnitName kRates[] = {
    {"TFLOP/s", 1e12}, {"FLOP/s", 1}, {"", 1}, {"GFLOP/s", 1e9}, {"PFLOP/s", 1e15}};
constexpr UnitName kLengths[] = {{"mm", 1e-3}, {"cm", 1e-2}, {"m", 1}};
constexpr UnitName kShares[] = {{"%", 0.01}, {"", 1}};
constexpr UnitName kNone[] = {{"", 1}};
constexpr UnitName kPrices[] = {{"/h", 1}, {"$/h", 1}, {"", 1}};

/// "s, ms and min"
std::string unit_names(std::span<const UnitName> units) {
  std::vector<std::string_view> names;
  for (const UnitName& unit : units)
    if (!unit.name.empty()) names.push_back(unit.name);
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i]);
  return out;
}

std::unexpected<Error> wrong(std::string message, std::string_view option, std::string hint) {
  return std::unexpected(Error{std::move(message), std::string(option), std::move(hint)});
}

/// What to write instead: `number` with the first of the units.
std::string written_as(std::string_view number, std::span<const UnitName> units) {
  const std::string names = unit_names(units);
  if (names.empty()) return "Write a number above zero.";
  return fmt::format("Write the number and its unit, as in {}{}; the units are {}.", number,
                     units.front().name, names);
}

Result<double> parse(std::string_view text, std::string_view option, std::span<const UnitName> units) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{})
    return wrong(fmt::format("{} is not a number", quote(text)), option, written_as("20", units));
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.data()));
  std::string_view unit = text.substr(digits.size());
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto known = std::ranges::find(units, unit, &UnitName::name);
  if (known == units.end() && unit.empty())
    return wrong(fmt::format("the unit is missing after {}", quote(text)), option, written_as(digits, units));
  if (known == units.end())
    return wrong(fmt::format("{} is not a unit that it knows", quote(unit)), option,
                 written_as(digits, units));
  const double value = number * known->factor;
  if (std::isfinite(value) && value > 0) return value;
  return wrong(fmt::format("{} is not above zero", quote(text)), option, written_as("20", units));
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
  if (share && *share > 1)
    return wrong(fmt::format("{} is more than all", quote(text)), option,
                 "Write a share of at most 1, as in 5% or 0.05.");
  return share;
}

Result<std::array<double, 3>> parse_room(std::string_view text, std::string_view option) {
  const Error error{fmt::format("{} is not a size", quote(text)), std::string(option),
                    "Write three lengths and their unit, as in 10x70x80mm."};
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

Result<std::vector<std::int64_t>> parse_shape(std::string_view text) {
  std::vector<std::int64_t> dims;
  const std::string whole(text);
  while (true) {
    const std::size_t cut = text.find('x');
    const std::string_view part = text.substr(0, cut);
    std::int64_t n = 0;
    const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), n);
    if (problem != std::errc() || end != part.data() + part.size() || n < 0)
      return fail("'{}' is not a shape; write it as 1x3x224x224", whole);
    dims.push_back(n);
    if (cut == std::string_view::npos) return dims;
    text.remove_prefix(cut + 1);
  }
}

Result<std::pair<std::int64_t, std::int64_t>> parse_size(const std::string& text, bool square,
                                                         std::string_view option) {
  constexpr std::int64_t kMost = 1 << 24;
  const Result<std::vector<std::int64_t>> parsed = parse_shape(text);
  if (parsed && std::ranges::all_of(*parsed, [](std::int64_t n) { return n > 0 && n <= kMost; })) {
    if (parsed->size() == 2) return std::pair((*parsed)[0], (*parsed)[1]);
    if (parsed->size() == 1 && square) return std::pair((*parsed)[0], (*parsed)[0]);
  }
  return std::unexpected(Error{fmt::format("{} is not a size in pixels", quote(text)), std::string(option),
                               square ? "Write 224 or 224x224." : "Write WIDTHxHEIGHT, as in 4512x4512."});
}

}  // namespace plimsoll
