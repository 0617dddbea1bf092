#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "gguf/cursor.hpp"

namespace plimsoll::gguf {

enum class ValueType : std::uint32_t {
  uint8 = 0,
  int8 = 1,
  uint16 = 2,
  int16 = 3,
  uint32 = 4,
  int32 = 5,
  float32 = 6,
  boolean = 7,
  text = 8,
  array = 9,
  uint64 = 10,
  int64 = 11,
  float64 = 12,
};

/// A value of the metadata, where it stands in the file: nothing is copied, an array's items are read when
/// they are asked for.
struct MetaValue {
  ValueType type = ValueType::uint8;
  ValueType items = ValueType::uint8;     ///< of an array
  std::uint64_t count = 0;                ///< of an array's items
  std::span<const std::byte> bytes = {};  ///< the number, the text, or all items
};

/// Bytes of a number of that type; 0 for texts and arrays.
[[nodiscard]] std::size_t width_of(ValueType type);

/// What a file says about itself. Views into the file, which must outlive it.
class Metadata {
 public:
  [[nodiscard]] const MetaValue* find(std::string_view key) const;
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] const std::map<std::string_view, MetaValue>& all() const { return values_; }

  // Absent: nothing. There but of another kind: an error that names the key.
  [[nodiscard]] Result<std::optional<std::string_view>> text(std::string_view key) const;
  /// Any integer type, 0 or more.
  [[nodiscard]] Result<std::optional<std::int64_t>> whole(std::string_view key) const;
  [[nodiscard]] Result<std::optional<double>> real(std::string_view key) const;  ///< or an integer
  [[nodiscard]] Result<std::optional<bool>> flag(std::string_view key) const;
  /// A number, or one for each of something ("head_count" of each layer); at most `most` items.
  [[nodiscard]] Result<std::optional<std::vector<std::int64_t>>> wholes(std::string_view key,
                                                                        std::size_t most) const;
  /// How many items an array has.
  [[nodiscard]] Result<std::optional<std::int64_t>> length(std::string_view key) const;

 private:
  friend Result<Metadata> read_metadata(Cursor& cursor, std::uint64_t count);
  std::map<std::string_view, MetaValue> values_;
};

/// `count` pairs of a key and a value, from where the cursor stands. Never takes more memory than a small
/// multiple of the bytes read, whatever `count` says.
[[nodiscard]] Result<Metadata> read_metadata(Cursor& cursor, std::uint64_t count);

}  // namespace plimsoll::gguf
