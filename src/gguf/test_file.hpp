#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/metadata.hpp"
#include "gguf/tensor_type.hpp"

namespace plimsoll::gguf::test {

/// Appends numbers and texts as GGUF has them.
class Writer {
 public:
  std::string bytes;

  template <class T>
  Writer& number(T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes.append(raw, sizeof(T));
    return *this;
  }
  Writer& text(std::string_view text) {
    number<std::uint64_t>(text.size());
    bytes.append(text);
    return *this;
  }
  Writer& type(ValueType type) { return number(static_cast<std::uint32_t>(type)); }
};

/// A GGUF file under construction, right unless it is told otherwise.
class FileWriter {
 public:
  std::uint32_t version = 3;
  std::int64_t alignment = 32;     ///< that the file is laid out by
  std::uint64_t more_tensors = 0;  ///< said but not there
  std::uint64_t more_pairs = 0;    ///< the same
  std::int64_t data_less = 0;      ///< bytes of data that are cut off at the end

  FileWriter& text(std::string_view key, std::string_view value) {
    pair(key, ValueType::text).text(value);
    return *this;
  }
  FileWriter& whole(std::string_view key, std::uint32_t value) {
    pair(key, ValueType::uint32).number(value);
    return *this;
  }
  FileWriter& small(std::string_view key, std::uint16_t value) {
    pair(key, ValueType::uint16).number(value);
    return *this;
  }
  FileWriter& real(std::string_view key, float value) {
    pair(key, ValueType::float32).number(value);
    return *this;
  }
  FileWriter& flag(std::string_view key, bool value) {
    pair(key, ValueType::boolean).number<std::uint8_t>(value ? 1 : 0);
    return *this;
  }
  FileWriter& texts(std::string_view key, std::span<const std::string> values) {
    Writer& w = pair(key, ValueType::array);
    w.type(ValueType::text).number<std::uint64_t>(values.size());
    for (const std::string& value : values) w.text(value);
    return *this;
  }
  FileWriter& wholes(std::string_view key, std::initializer_list<std::uint32_t> values) {
    Writer& w = pair(key, ValueType::array);
    w.type(ValueType::uint32).number<std::uint64_t>(values.size());
    for (const std::uint32_t value : values) w.number(value);
    return *this;
  }
  /// Its value follows.
  Writer& pair(std::string_view key, ValueType type) {
    ++pairs_;
    return metadata_.text(key).type(type);
  }
  /// Dims as the file has them, innermost first. Laid out behind the one before.
  FileWriter& tensor(std::string_view name, std::initializer_list<std::int64_t> dims, std::uint32_t type) {
    return tensor(name, std::span(dims.begin(), dims.size()), type);
  }
  FileWriter& tensor(std::string_view name, std::span<const std::int64_t> dims, std::uint32_t type) {
    std::int64_t elements = 1;
    for (const std::int64_t d : dims) elements *= d;
    const TensorType* const row = find_tensor_type(type);
    const std::int64_t bytes = row == nullptr ? 0 : elements / row->values * row->bytes;
    tensor_at(name, dims, type, data_);
    data_ = (data_ + bytes + alignment - 1) / alignment * alignment;
    return *this;
  }
  FileWriter& tensor_at(std::string_view name, std::span<const std::int64_t> dims, std::uint32_t type,
                        std::int64_t offset) {
    ++tensors_;
    infos_.text(name).number(static_cast<std::uint32_t>(dims.size()));
    for (const std::int64_t d : dims) infos_.number(d);
    infos_.number(type).number(offset);
    return *this;
  }
  FileWriter& data(std::int64_t bytes) {
    data_ = bytes;
    return *this;
  }

  [[nodiscard]] std::string bytes() const {
    Writer out;
    out.bytes = "GGUF";
    out.number(version).number(tensors_ + more_tensors).number(pairs_ + more_pairs);
    out.bytes += metadata_.bytes + infos_.bytes;
    if (alignment > 0)
      while (out.bytes.size() % static_cast<std::size_t>(alignment) != 0) out.bytes += '\0';
    out.bytes.append(static_cast<std::size_t>(data_ - data_less), '\0');
    return out.bytes;
  }

 private:
  Writer metadata_, infos_;
  std::uint64_t pairs_ = 0, tensors_ = 0;
  std::int64_t data_ = 0;
};

}  // namespace plimsoll::gguf::test
