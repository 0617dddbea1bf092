#include "network/data_type.hpp"

#include <array>

namespace plimsoll::network {
namespace {

enum class Family : std::uint8_t { other, floating, integer };
struct TypeRow {
  std::string_view name;
  std::uint8_t bits;
  Family family;
};

constexpr std::array<TypeRow, kDataTypes> kTypeRows = {{
    {"undefined", 0, Family::other},
    {"float32", 32, Family::floating},
    {"uint8", 8, Family::integer},
    {"int8", 8, Family::integer},
    {"uint16", 16, Family::integer},
    {"int16", 16, Family::integer},
    {"int32", 32, Family::integer},
    {"int64", 64, Family::integer},
    {"string", 0, Family::other},
    {"bool", 8, Family::other},
    {"float16", 16, Family::floating},
    {"float64", 64, Family::floating},
    {"uint32", 32, Family::integer},
    {"uint64", 64, Family::integer},
    {"complex64", 64, Family::other},
    {"complex128", 128, Family::other},
    {"bfloat16", 16, Family::floating},
    {"float8e4m3fn", 8, Family::floating},
    {"float8e4m3fnuz", 8, Family::floating},
    {"float8e5m2", 8, Family::floating},
    {"float8e5m2fnuz", 8, Family::floating},
    {"uint4", 4, Family::integer},
    {"int4", 4, Family::integer},
    {"float4e2m1", 4, Family::floating},
    {"float8e8m0", 8, Family::floating},
}};

const TypeRow& row(DataType type) {
  return kTypeRows[static_cast<std::size_t>(type)];
}

}  // namespace

int bits(DataType type) {
  return row(type).bits;
}
std::string_view name(DataType type) {
  return row(type).name;
}
bool is_float(DataType type) {
  return row(type).family == Family::floating;
}
bool is_integer(DataType type) {
  return row(type).family == Family::integer;
}

std::optional<DataType> data_type_from_number(std::int64_t number) {
  if (number < 0 || number >= kDataTypes) return std::nullopt;
  return static_cast<DataType>(number);
}

std::optional<std::int64_t> packed_bytes(DataType type, std::int64_t elements) {
  std::int64_t total = 0;
  if (elements < 0 || __builtin_mul_overflow(elements, static_cast<std::int64_t>(bits(type)), &total)) {
    // Bits overflow before bytes do; whole-byte types still have a chance.
    const int bytes = bits(type) / 8;
    if (elements < 0 || bits(type) % 8 != 0 ||
        __builtin_mul_overflow(elements, static_cast<std::int64_t>(bytes), &total))
      return std::nullopt;
    return total;
  }
  return total / 8 + (total % 8 != 0);
}

}  // namespace plimsoll::network
