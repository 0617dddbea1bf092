#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

namespace plimsoll::onnx {

/// Names one field of a protobuf message together with its encoding, for `case` labels. A field that comes
/// in another encoding than the schema's fits no label and is skipped, as protobuf itself does.
enum class FieldKey : std::uint32_t {};
constexpr FieldKey varint_field(std::uint32_t number) {
  return static_cast<FieldKey>(number << 3U);
}
constexpr FieldKey fixed64_field(std::uint32_t number) {
  return static_cast<FieldKey>(number << 3U | 1U);
}
constexpr FieldKey bytes_field(std::uint32_t number) {
  return static_cast<FieldKey>(number << 3U | 2U);
}
constexpr FieldKey fixed32_field(std::uint32_t number) {
  return static_cast<FieldKey>(number << 3U | 5U);
}

/// Walks the fields of one message in place. protozero::pbf_reader is not used because it cuts lengths to
/// 32 bits, so that a field that claims 2^32 + 5 bytes passes as one of 5; here every length is checked in
/// 64 bits against what remains. Damage throws protozero::exception, caught once in reader.cpp.
class Fields {
 public:
  explicit Fields(std::string_view message) : at_(message.data()), end_(message.data() + message.size()) {}

  [[nodiscard]] bool next() {
    if (at_ == end_) return false;
    // Nearly every field of a graph has a key of one byte; most are texts or messages with a length of one
    // or two, the others numbers of one.
    const std::ptrdiff_t left = end_ - at_;
    if (left >= 3) {
      const unsigned key = byte(0), second = byte(1);
      key_ = static_cast<FieldKey>(key);
      if (key >= 8 && key < 0x80 && (key & 7U) == 2) {
        if (second < 0x80 && second <= left - 2) return take(2, second);
        const unsigned length = (second & 0x7fU) | byte(2) << 7U;
        if (second >= 0x80 && byte(2) < 0x80 && length <= left - 3) return take(3, length);
      }
      if (key >= 8 && key < 0x80 && (key & 7U) == 0 && second < 0x80) {
        number_ = second;
        at_ += 2;
        return true;
      }
    }
    *this = after_next(*this);
    return true;
  }

 private:
  [[nodiscard]] unsigned byte(std::size_t i) const { return static_cast<unsigned char>(at_[i]); }
  bool take(std::size_t head, std::size_t length) {
    bytes_ = std::string_view(at_ + head, length);
    at_ += head + length;
    return true;
  }

  /// The same walk one field further, whatever its kind. By value, so that a walk whose fields all take the
  /// short way above stays in registers.
  [[gnu::noinline]] static Fields after_next(Fields f) {
    const std::uint64_t key = protozero::decode_varint(&f.at_, f.end_);
    if (key < 8 || key > 0xffffffffU) throw protozero::invalid_tag_exception{};
    f.key_ = static_cast<FieldKey>(key);
    switch (key & 7U) {
      case 0: f.number_ = protozero::decode_varint(&f.at_, f.end_); return f;
      case 1: f.number_ = f.fixed<std::uint64_t>(); return f;
      case 2: {
        const std::uint64_t length = protozero::decode_varint(&f.at_, f.end_);
        if (length > static_cast<std::uint64_t>(f.end_ - f.at_)) throw protozero::end_of_buffer_exception{};
        f.bytes_ = std::string_view(f.at_, static_cast<std::size_t>(length));
        f.at_ += length;
        return f;
      }
      case 5: f.number_ = f.fixed<std::uint32_t>(); return f;
      default: throw protozero::unknown_pbf_wire_type_exception{};
    }
  }

 public:
  /// What has not been walked yet.
  [[nodiscard]] std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }
  [[nodiscard]] FieldKey key() const { return key_; }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }  ///< of a bytes_field
  [[nodiscard]] std::int64_t integer() const {
    return static_cast<std::int64_t>(number_);
  }  ///< of a varint_field
  [[nodiscard]] std::uint64_t bits() const { return number_; }  ///< of a fixed one
  [[nodiscard]] float real() const {                            ///< of a fixed32_field
    float x = 0;
    const auto low = static_cast<std::uint32_t>(number_);
    std::memcpy(&x, &low, sizeof x);
    return x;
  }

 private:
  template <class T>
  std::uint64_t fixed() {
    if (end_ - at_ < static_cast<std::ptrdiff_t>(sizeof(T))) throw protozero::end_of_buffer_exception{};
    T value{};
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  const char* at_;
  const char* end_;
  FieldKey key_{};
  std::uint64_t number_ = 0;
  std::string_view bytes_;
};

/// Calls `use(std::int64_t)` for each integer of a packed field.
template <class Use>
void each_packed_varint(std::string_view packed, Use&& use) {
  const char* at = packed.data();
  const char* const end = at + packed.size();
  while (at != end) use(static_cast<std::int64_t>(protozero::decode_varint(&at, end)));
}

/// Calls `use(T)` for each number of a packed field of fixed width.
template <class T, class Use>
void each_packed_fixed(std::string_view packed, Use&& use) {
  if (packed.size() % sizeof(T) != 0) throw protozero::invalid_length_exception{};
  for (std::size_t i = 0; i < packed.size(); i += sizeof(T)) {
    T value{};
    std::memcpy(&value, packed.data() + i, sizeof value);
    use(value);
  }
}

}  // namespace plimsoll::onnx
