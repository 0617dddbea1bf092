#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace plimsoll::gguf {

/// Reads a file's bytes from the front. What is asked for beyond the end is zero or empty, and the cursor is
/// `failed` from then on, so that the reading code can look once after several fields.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes, std::size_t position = 0)
      : bytes_(bytes), position_(position) {}

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::span<const std::byte> all() const { return bytes_; }
  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::size_t left() const { return failed_ ? 0 : bytes_.size() - position_; }

  template <class T>
  T number() {
    static_assert(std::endian::native == std::endian::little);
    T value{};
    const std::span<const std::byte> part = bytes(sizeof(T));
    if (!failed_) std::memcpy(&value, part.data(), sizeof(T));
    return value;
  }

  std::span<const std::byte> bytes(std::uint64_t count) {
    if (count > left()) {
      failed_ = true;
      return {};
    }
    const auto part = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += part.size();
    return part;
  }

  /// A length of 64 bits, and so many characters.
  std::string_view text() {
    const std::span<const std::byte> part = bytes(number<std::uint64_t>());
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes of a file that are text
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_;
  bool failed_ = false;
};

}  // namespace plimsoll::gguf
