#include "store/chunk.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

#include <zlib.h>

namespace plimsoll::store {
namespace {

// version (1 byte), flags (1 byte), count (varint), length of the body uncompressed (varint, only where it is
// compressed), body. Body: times as zigzag varints of the second differences, steps as zigzag varints of the
// first differences, values each XORed with the one before it, stored plane by plane: all highest bytes
// first.
constexpr unsigned char kVersion = 1;
constexpr unsigned char kCompressed = 1;
constexpr std::size_t kMostPoints = 65536;
constexpr std::size_t kLongestVarint = 10;
constexpr std::size_t kValueBytes = sizeof(double);
/// Below it, setting up zlib costs more time than the bytes are worth; compact() joins small chunks anyway.
constexpr std::size_t kWorthCompressing = 64;

// Differences wrap around, so that any two times have one and the sum comes back exact.
std::uint64_t zigzag(std::uint64_t difference) {
  return (difference << 1U) ^ (0 - (difference >> 63U));
}

std::uint64_t unzigzag(std::uint64_t coded) {
  return (coded >> 1U) ^ (0 - (coded & 1U));
}

void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80U);
    value >>= 7U;
  }
  out += static_cast<char>(value);
}

/// Takes a varint off the front; nothing where there is none in the shortest form of its number.
std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  if (!bytes.empty() && static_cast<unsigned char>(bytes.front()) < 0x80) {  // most of them
    const auto value = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    return value;
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kLongestVarint && i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (i == kLongestVarint - 1 && byte > 1) return {};
    value |= std::uint64_t{byte & 0x7FU} << (7 * i);
    if (byte < 0x80) {
      if (byte == 0 && i > 0) return {};
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return {};
}

std::unexpected<Error> no_number() {
  return fail("a number is cut off, too large or not in its shortest form");
}

std::string encode_body(std::span<const Point> points) {
  std::string body;
  body.reserve(points.size() * (kValueBytes + 4) + 2 * kLongestVarint);
  std::uint64_t time = 0, difference = 0, step = 0;
  for (const Point& p : points) {
    const std::uint64_t next = static_cast<std::uint64_t>(p.time) - time;
    put_varint(body, zigzag(next - difference));
    // The first difference is the time itself; the second starts from nothing, not from that.
    difference = &p == points.data() ? 0 : next;
    time = static_cast<std::uint64_t>(p.time);
  }
  for (const Point& p : points) {
    put_varint(body, zigzag(static_cast<std::uint64_t>(p.step) - step));
    step = static_cast<std::uint64_t>(p.step);
  }
  const std::size_t at = body.size(), count = points.size();
  body.resize(at + count * kValueBytes);
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(points[i].value);
    for (std::size_t plane = 0; plane < kValueBytes; ++plane)
      body[at + plane * count + i] = static_cast<char>((bits ^ before) >> (56 - 8 * plane));
    before = bits;
  }
  return body;
}

/// Empty where it does not get smaller.
std::string compress_body(const std::string& body) {
  std::string out(compressBound(body.size()), '\0');
  uLongf size = out.size();
  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): zlib takes unsigned bytes
  const int code = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                             reinterpret_cast<const Bytef*>(body.data()), body.size(), Z_BEST_SPEED);
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
  if (code != Z_OK || size + kLongestVarint >= body.size()) return {};
  out.resize(size);
  return out;
}

Result<std::string> expand_body(std::string_view bytes, std::size_t size) {
  std::string out(size, '\0');
  uLongf got = out.size();
  uLong used = bytes.size();
  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): zlib takes unsigned bytes
  const int code = uncompress2(reinterpret_cast<Bytef*>(out.data()), &got,
                               reinterpret_cast<const Bytef*>(bytes.data()), &used);
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
  if (code != Z_OK || got != size || used != bytes.size())
    return fail("its compressed part cannot be expanded");
  return out;
}

Result<std::vector<Point>> decode_body(std::string_view body, std::size_t count) {
  std::vector<Point> points(count);
  std::uint64_t time = 0, difference = 0, step = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<std::uint64_t> coded = take_varint(body);
    if (!coded) return no_number();
    const std::uint64_t next = unzigzag(*coded) + difference;
    time += next;
    difference = i == 0 ? 0 : next;
    points[i].time = static_cast<Time>(time);
  }
  for (Point& p : points) {
    const std::optional<std::uint64_t> coded = take_varint(body);
    if (!coded) return no_number();
    step += unzigzag(*coded);
    p.step = static_cast<std::int64_t>(step);
  }
  if (body.size() != count * kValueBytes) return fail("its values do not fill it");
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t changed = 0;
    for (std::size_t plane = 0; plane < kValueBytes; ++plane)
      changed = (changed << 8U) | static_cast<unsigned char>(body[plane * count + i]);
    bits ^= changed;
    points[i].value = std::bit_cast<double>(bits);
  }
  return points;
}

}  // namespace

std::string encode_chunk(std::span<const Point> points) {
  std::string out;
  const std::string body = encode_body(points);
  const std::string compressed = points.size() < kWorthCompressing ? std::string() : compress_body(body);
  out += static_cast<char>(kVersion);
  out += static_cast<char>(compressed.empty() ? 0 : kCompressed);
  put_varint(out, points.size());
  if (!compressed.empty()) put_varint(out, body.size());
  return out + (compressed.empty() ? body : compressed);
}

Result<std::vector<Point>> decode_chunk(std::string_view bytes) {
  if (bytes.size() < 3) return fail("a chunk of {} bytes is too short", bytes.size());
  const auto version = static_cast<unsigned char>(bytes[0]), flags = static_cast<unsigned char>(bytes[1]);
  if (version != kVersion) return fail("a chunk of version {}; version {} is known", version, kVersion);
  if (flags > kCompressed) return fail("a chunk with unknown flags {:#x}", flags);
  bytes.remove_prefix(2);
  const std::optional<std::uint64_t> count = take_varint(bytes);
  if (!count) return no_number();
  if (*count > kMostPoints) return fail("a chunk of {} points, more than {}", *count, kMostPoints);
  if (flags != kCompressed) {
    if (bytes.size() < *count * kValueBytes) return fail("its values do not fill it");
    return decode_body(bytes, *count);
  }
  const std::optional<std::uint64_t> size = take_varint(bytes);
  if (!size) return no_number();
  if (*size > *count * (kValueBytes + 2 * kLongestVarint) || *size < *count * kValueBytes)
    return fail("{} points do not take {} bytes", *count, *size);
  const Result<std::string> body = expand_body(bytes, *size);
  if (!body) return std::unexpected(body.error());
  return decode_body(*body, *count);
}

}  // namespace plimsoll::store
