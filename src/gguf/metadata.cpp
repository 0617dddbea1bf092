#include "gguf/metadata.hpp"

#include <array>
#include <limits>

#include "base/printable.hpp"

namespace plimsoll::gguf {
namespace {

constexpr std::uint64_t kMostPairs = 1 << 20;
constexpr std::size_t kLongestKey = 65535;  // as the format says
constexpr int kMostLevels = 4;              // of arrays in arrays; writers of today make none
// A sparse file may be as long as it likes. Words of the largest vocabularies are a few hundred thousand.
constexpr std::uint64_t kMostItems = 1 << 24;   // of an array whose items are looked at one by one
constexpr std::size_t kMostMetadata = 1 << 30;  // bytes of the file up to their end
constexpr std::uint32_t kValueTypes = 13;

struct ValueTypeRow {
  std::uint8_t width;
  std::string_view words;
};
constexpr std::array<ValueTypeRow, kValueTypes> kValueTypeRows = {{{1, "a number"},
                                                                   {1, "a number"},
                                                                   {2, "a number"},
                                                                   {2, "a number"},
                                                                   {4, "a number"},
                                                                   {4, "a number"},
                                                                   {4, "a fraction"},
                                                                   {1, "a yes or no"},
                                                                   {0, "a text"},
                                                                   {0, "a list"},
                                                                   {8, "a number"},
                                                                   {8, "a number"},
                                                                   {8, "a fraction"}}};

std::string_view words_of(ValueType type) {
  return kValueTypeRows[static_cast<std::size_t>(type)].words;
}

std::unexpected<Error> cut_short() {
  return fail("ends too early: the file is cut short, or is not a GGUF file");
}

std::unexpected<Error> too_long() {
  return fail("ends beyond the first {} bytes of the file, within which metadata must lie", kMostMetadata);
}

std::unexpected<Error> other_kind(std::string_view key, ValueType type, std::string_view wanted) {
  return fail("metadata {}: is {}, not {}", quote(key), words_of(type), wanted);
}

Result<ValueType> read_type(Cursor& cursor) {
  const auto number = cursor.number<std::uint32_t>();
  if (cursor.failed()) return cut_short();
  if (number >= kValueTypes) return fail("has a value of type {}, which GGUF does not know", number);
  return static_cast<ValueType>(number);
}

Status skip_items(Cursor& cursor, ValueType type, std::uint64_t count, int level);

/// An array's own header is its items' type and their number.
Status skip_array(Cursor& cursor, int level) {
  const Result<ValueType> items = read_type(cursor);
  if (!items) return std::unexpected(items.error());
  return skip_items(cursor, *items, cursor.number<std::uint64_t>(), level + 1);
}

Status skip_items(Cursor& cursor, ValueType type, std::uint64_t count, int level) {
  if (level > kMostLevels) return fail("has arrays in arrays more than {} deep", kMostLevels);
  if (const std::size_t width = width_of(type); width > 0) {
    if (count > cursor.left() / width) return cut_short();
    (void)cursor.bytes(count * width);
    return {};
  }
  constexpr std::uint64_t kLeastBytes = 8;  // that a text or an array takes
  if (count > cursor.left() / kLeastBytes) return cut_short();
  if (count > kMostItems) return fail("is a list of {} items; {} are too many", count, kMostItems);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (type == ValueType::array)
      PLIMSOLL_TRY(skip_array(cursor, level));
    else
      (void)cursor.text();
    if (cursor.failed()) return cut_short();
    if (cursor.position() > kMostMetadata) return too_long();
  }
  return {};
}

Result<MetaValue> read_value(Cursor& cursor) {
  const Result<ValueType> type = read_type(cursor);
  if (!type) return std::unexpected(type.error());
  MetaValue value{.type = *type};
  if (*type == ValueType::array) {
    const Result<ValueType> items = read_type(cursor);
    if (!items) return std::unexpected(items.error());
    value.items = *items;
    value.count = cursor.number<std::uint64_t>();
    const std::size_t begin = cursor.position();
    PLIMSOLL_TRY(skip_items(cursor, *items, value.count, 1));
    value.bytes = cursor.all().subspan(begin, cursor.position() - begin);
  } else if (*type == ValueType::text) {
    const std::string_view text = cursor.text();
    value.bytes = std::as_bytes(std::span(text.data(), text.size()));
  } else {
    value.bytes = cursor.bytes(width_of(*type));
  }
  if (cursor.failed()) return cut_short();
  if (cursor.position() > kMostMetadata) return too_long();
  return value;
}

/// The integer at the front of the bytes; nothing where it is no integer, or does not fit in 63 bits.
std::optional<std::int64_t> integer_at(ValueType type, std::span<const std::byte> bytes) {
  Cursor cursor(bytes);
  switch (type) {
    case ValueType::uint8: return cursor.number<std::uint8_t>();
    case ValueType::int8: return cursor.number<std::int8_t>();
    case ValueType::uint16: return cursor.number<std::uint16_t>();
    case ValueType::int16: return cursor.number<std::int16_t>();
    case ValueType::uint32: return cursor.number<std::uint32_t>();
    case ValueType::int32: return cursor.number<std::int32_t>();
    case ValueType::int64: return cursor.number<std::int64_t>();
    case ValueType::uint64: {
      const auto value = cursor.number<std::uint64_t>();
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
      return static_cast<std::int64_t>(value);
    }
    default: return std::nullopt;
  }
}

}  // namespace

std::size_t width_of(ValueType type) {
  return kValueTypeRows[static_cast<std::size_t>(type)].width;
}

const MetaValue* Metadata::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

Result<std::optional<std::string_view>> Metadata::text(std::string_view key) const {
  const MetaValue* const value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != ValueType::text) return other_kind(key, value->type, "a text");
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes of a file that are text
  return std::string_view(reinterpret_cast<const char*>(value->bytes.data()), value->bytes.size());
}

Result<std::optional<std::int64_t>> Metadata::whole(std::string_view key) const {
  const MetaValue* const value = find(key);
  if (value == nullptr) return std::nullopt;
  const std::optional<std::int64_t> number = integer_at(value->type, value->bytes);
  if (!number || *number < 0) return other_kind(key, value->type, "a whole number of 0 or more");
  return number;
}

Result<std::optional<double>> Metadata::real(std::string_view key) const {
  const MetaValue* const value = find(key);
  if (value == nullptr) return std::nullopt;
  Cursor cursor(value->bytes);
  if (value->type == ValueType::float32) return cursor.number<float>();
  if (value->type == ValueType::float64) return cursor.number<double>();
  const std::optional<std::int64_t> number = integer_at(value->type, value->bytes);
  if (!number) return other_kind(key, value->type, "a number");
  return static_cast<double>(*number);
}

Result<std::optional<bool>> Metadata::flag(std::string_view key) const {
  const MetaValue* const value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != ValueType::boolean) return other_kind(key, value->type, "a yes or no");
  return value->bytes.front() != std::byte{0};
}

Result<std::optional<std::vector<std::int64_t>>> Metadata::wholes(std::string_view key,
                                                                  std::size_t most) const {
  const MetaValue* const value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != ValueType::array) {
    const Result<std::optional<std::int64_t>> one = whole(key);
    if (!one) return std::unexpected(one.error());
    return std::vector{**one};
  }
  if (value->count > most) return fail("metadata {}: has more than {} items", quote(key), most);
  std::vector<std::int64_t> out;
  const std::size_t width = width_of(value->items);
  for (std::size_t i = 0; i < value->count; ++i) {
    // Some writers keep a yes or no of each layer as a list of those.
    const std::optional<std::int64_t> number =
        width == 0 ? std::nullopt
                   : integer_at(value->items == ValueType::boolean ? ValueType::uint8 : value->items,
                                value->bytes.subspan(i * width, width));
    if (!number || *number < 0) return other_kind(key, value->items, "a whole number of 0 or more");
    out.push_back(*number);
  }
  return out;
}

Result<std::optional<std::int64_t>> Metadata::length(std::string_view key) const {
  const MetaValue* const value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != ValueType::array) return other_kind(key, value->type, "a list");
  return static_cast<std::int64_t>(value->count);
}

Result<Metadata> read_metadata(Cursor& cursor, std::uint64_t count) {
  if (count > kMostPairs)
    return fail("says to have {} pairs of metadata; {} are too many", count, kMostPairs);
  Metadata out;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string_view key = cursor.text();
    if (cursor.failed()) return cut_short();
    if (key.empty() || key.size() > kLongestKey)
      return fail("has metadata with a key of {} bytes", key.size());
    const auto named = [key](Error error) {
      return std::unexpected(std::move(error).within(fmt::format("metadata {}", quote(key))));
    };
    const Result<MetaValue> value = read_value(cursor);
    if (!value) return named(value.error());
    if (!out.values_.emplace(key, *value).second) return fail("metadata {}: stands twice", quote(key));
  }
  return out;
}

}  // namespace plimsoll::gguf
