#include "onnx/elements.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace plimsoll::onnx {
namespace {

using network::DataType;
using network::Scalar;

double from_half(std::uint16_t bits) {
  const int exponent = bits >> 10U & 0x1f;
  const int fraction = bits & 0x3ff;
  double magnitude = 0;
  if (exponent == 0x1f)
    magnitude = fraction == 0 ? HUGE_VAL : std::nan("");
  else if (exponent == 0)
    magnitude = std::ldexp(fraction, -24);
  else
    magnitude = std::ldexp(fraction + 1024, exponent - 25);
  return (bits & 0x8000U) != 0 ? -magnitude : magnitude;
}

/// Exact for numbers that came from a half; others are cut towards zero.
std::uint16_t to_half(double x) {
  const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double magnitude = std::fabs(x);
  if (std::isnan(x)) return 0x7e00;
  if (magnitude >= 65536) return static_cast<std::uint16_t>(sign | 0x7c00);
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int biased = exponent + 14;
  if (magnitude == 0 || biased <= 0)
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::ldexp(magnitude, 24)));
  const auto fraction = static_cast<std::uint16_t>(std::ldexp(magnitude, 11 - exponent)) & 0x3ff;
  return static_cast<std::uint16_t>(sign | biased << 10 | fraction);
}

double from_bfloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}
std::uint16_t to_bfloat(double x) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> 16U);
}

template <class T>
T load(std::string_view raw, std::size_t index) {
  T value{};
  std::memcpy(&value, raw.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void decode_integers(std::string_view raw, std::size_t count, std::vector<Scalar>& out) {
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(Scalar::integer(static_cast<std::int64_t>(load<T>(raw, i))));
}

std::int64_t nibble(DataType type, unsigned byte, bool high) {
  const int bits = static_cast<int>(high ? byte >> 4U & 0xfU : byte & 0xfU);
  return type == DataType::int4 && bits >= 8 ? bits - 16 : bits;
}

template <class T>
void store(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

}  // namespace

bool has_scalars(DataType type) {
  return network::is_integer(type) || type == DataType::boolean || type == DataType::float16 ||
         type == DataType::bfloat16 || type == DataType::float32 || type == DataType::float64;
}

void decode_raw(DataType type, std::string_view raw, std::size_t count, std::vector<Scalar>& out) {
  switch (type) {
    case DataType::int8: return decode_integers<std::int8_t>(raw, count, out);
    case DataType::boolean:
    case DataType::uint8: return decode_integers<std::uint8_t>(raw, count, out);
    case DataType::int16: return decode_integers<std::int16_t>(raw, count, out);
    case DataType::uint16: return decode_integers<std::uint16_t>(raw, count, out);
    case DataType::int32: return decode_integers<std::int32_t>(raw, count, out);
    case DataType::uint32: return decode_integers<std::uint32_t>(raw, count, out);
    case DataType::int64:
    case DataType::uint64: return decode_integers<std::int64_t>(raw, count, out);
    case DataType::int4:
    case DataType::uint4:
      for (std::size_t i = 0; i < count; ++i)
        out.push_back(Scalar::integer(nibble(type, static_cast<unsigned char>(raw[i / 2]), i % 2 != 0)));
      return;
    case DataType::float16:
      for (std::size_t i = 0; i < count; ++i)
        out.push_back(Scalar::real(from_half(load<std::uint16_t>(raw, i))));
      return;
    case DataType::bfloat16:
      for (std::size_t i = 0; i < count; ++i)
        out.push_back(Scalar::real(from_bfloat(load<std::uint16_t>(raw, i))));
      return;
    case DataType::float32:
      for (std::size_t i = 0; i < count; ++i)
        out.push_back(Scalar::real(static_cast<double>(load<float>(raw, i))));
      return;
    case DataType::float64:
      for (std::size_t i = 0; i < count; ++i) out.push_back(Scalar::real(load<double>(raw, i)));
      return;
    default: return;
  }
}

std::string encode_raw(DataType type, std::span<const Scalar> values) {
  std::string out;
  bool high = false;
  for (const Scalar v : values) {
    const std::int64_t n = v.is_integer() ? v.integer() : static_cast<std::int64_t>(0);
    switch (type) {
      case DataType::boolean:
      case DataType::int8:
      case DataType::uint8: store(out, static_cast<std::uint8_t>(n)); break;
      case DataType::int16:
      case DataType::uint16: store(out, static_cast<std::uint16_t>(n)); break;
      case DataType::int32:
      case DataType::uint32: store(out, static_cast<std::uint32_t>(n)); break;
      case DataType::int64:
      case DataType::uint64: store(out, n); break;
      case DataType::int4:
      case DataType::uint4:
        if (high)
          out.back() = static_cast<char>(static_cast<unsigned char>(out.back()) | (n & 0xf) << 4);
        else
          out.push_back(static_cast<char>(n & 0xf));
        high = !high;
        break;
      case DataType::float16: store(out, to_half(v.real())); break;
      case DataType::bfloat16: store(out, to_bfloat(v.real())); break;
      case DataType::float32: store(out, static_cast<float>(v.real())); break;
      case DataType::float64: store(out, v.real()); break;
      default: break;
    }
  }
  return out;
}

void append_little_endian(std::vector<std::byte>& out, std::uint64_t bits, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::byte>(bits >> (8 * i) & 0xffU));
}

}  // namespace plimsoll::onnx
