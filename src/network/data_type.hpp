#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace plimsoll::network {

/// Element types, with the numbers ONNX gives them.
enum class DataType : std::uint8_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
};
inline constexpr int kDataTypes = 25;

/// Bits of one element; 0 for `undefined` and `string`, whose elements have no fixed size.
[[nodiscard]] int bits(DataType type);
[[nodiscard]] std::string_view name(DataType type);
[[nodiscard]] std::optional<DataType> data_type_from_number(std::int64_t number);

[[nodiscard]] bool is_float(DataType type);    ///< float4 to float64 and bfloat16
[[nodiscard]] bool is_integer(DataType type);  ///< signed or unsigned, int4 to int64; not boolean

/// Bytes of `elements` packed elements, rounded up; nullopt where it does not fit in 63 bits.
[[nodiscard]] std::optional<std::int64_t> packed_bytes(DataType type, std::int64_t elements);

}  // namespace plimsoll::network
