#include "onnx/tensor_proto.hpp"

#include <charconv>

#include "base/printable.hpp"
#include "onnx/elements.hpp"
#include "onnx/external_location.hpp"
#include "onnx/schema.hpp"
#include "onnx/wire.hpp"

namespace plimsoll::onnx {
namespace {

using network::DataType;
using network::Dim;
using network::Scalar;
Result<std::int64_t> parse_number(std::string_view key, std::string_view text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || n < 0)
    return fail("external data: {} is {}, not a number of bytes", key, quote(text));
  return n;
}

Status decode_external_entry(std::string_view message, StoredTensor& tensor) {
  std::string_view key, value;
  for (Fields f(message); f.next();) {
    if (f.key() == bytes_field(schema::entry::kKey)) key = f.bytes();
    if (f.key() == bytes_field(schema::entry::kValue)) value = f.bytes();
  }
  if (key == "location") {
    tensor.location = value;
  } else if (key == "offset" || key == "length") {
    const Result<std::int64_t> n = parse_number(key, value);
    if (!n) return std::unexpected(n.error());
    (key == "offset" ? tensor.offset : tensor.length) = *n;
  }
  return {};
}

/// Which typed field may hold which type, as onnx.proto says.
bool holds(Storage storage, DataType type) {
  switch (storage) {
    case Storage::floats: return type == DataType::float32 || type == DataType::complex64;
    case Storage::doubles: return type == DataType::float64 || type == DataType::complex128;
    case Storage::int64s: return type == DataType::int64;
    case Storage::uint64s: return type == DataType::uint32 || type == DataType::uint64;
    case Storage::strings: return type == DataType::string;
    case Storage::int32s:
      return network::bits(type) <= 32 && type != DataType::float32 && type != DataType::uint32 &&
             type != DataType::string && type != DataType::undefined;
    default: return true;
  }
}

Status measure(StoredTensor& tensor) {
  if (tensor.dims.overflowed()) return fail("a rank over {} is not supported", network::kMaxRank);
  bool empty = false;
  for (const Dim d : tensor.dims.dims()) {
    if (!d.valid()) return fail("has a negative dimension");
    empty = empty || d.is(0);
  }
  tensor.elements = empty ? 0 : 1;
  if (!empty)
    for (const Dim d : tensor.dims.dims())
      if (__builtin_mul_overflow(tensor.elements, d.value(), &tensor.elements))
        return fail("has more than 2^63 elements");
  const auto bytes = network::packed_bytes(tensor.type, tensor.elements);
  if (!bytes) return fail("has more than 2^63 bytes");
  tensor.bytes = *bytes;
  return {};
}

struct Contents {
  std::uint64_t fixed = 0;         // numbers of fixed width
  std::uint64_t varint_bytes = 0;  // each at least one byte long
  std::uint64_t strings = 0;
};

Status check_contents(const StoredTensor& tensor, const Contents& contents) {
  if (tensor.storage == Storage::none) return {};
  if (!holds(tensor.storage, tensor.type))
    return fail("its contents are in a field that cannot hold {}", network::name(tensor.type));
  const auto elements = static_cast<std::uint64_t>(tensor.elements);
  switch (tensor.storage) {
    case Storage::raw:
      if (tensor.type == DataType::string) return fail("raw_data cannot hold strings");
      if (tensor.raw.size() != static_cast<std::uint64_t>(tensor.bytes))
        return fail("raw_data has {} bytes; its type and dimensions need {}", tensor.raw.size(),
                    tensor.bytes);
      return {};
    case Storage::floats:
    case Storage::doubles: {
      const bool pairs = tensor.type == DataType::complex64 || tensor.type == DataType::complex128;
      if (contents.fixed % (pairs ? 2 : 1) != 0 || contents.fixed / (pairs ? 2 : 1) != elements)
        return fail("has {} numbers; its dimensions need {} elements", contents.fixed, elements);
      return {};
    }
    case Storage::strings:
      if (contents.strings != elements)
        return fail("has {} strings; its dimensions need {}", contents.strings, elements);
      return {};
    case Storage::external:
      if (tensor.location.empty()) return fail("external data has no location");
      PLIMSOLL_TRY(check_location(tensor.location));
      if (tensor.length >= 0 && tensor.length != tensor.bytes)
        return fail("external data has {} bytes; its type and dimensions need {}", tensor.length,
                    tensor.bytes);
      if (std::int64_t end = 0; __builtin_add_overflow(tensor.offset, tensor.bytes, &end))
        return fail("external data ends beyond 2^63");
      return {};
    default: {
      const std::uint64_t entries = network::bits(tensor.type) == 4 ? elements / 2 + elements % 2 : elements;
      if (contents.varint_bytes < entries)
        return fail("has fewer numbers than the {} elements of its dimensions", elements);
      // A varint is at most ten bytes long.
      if (contents.varint_bytes / 10 > entries)
        return fail("has more numbers than the {} elements of its dimensions", elements);
      return {};
    }
  }
}

}  // namespace

Result<StoredTensor> decode_tensor(std::string_view message) {
  StoredTensor tensor;
  tensor.message = message;
  Contents contents;
  bool external = false;
  std::int64_t type = 0;
  for (Fields f(message); f.next();) {
    switch (f.key()) {
      case varint_field(schema::tensor::kDims): tensor.dims.push_back(Dim::of(f.integer())); break;
      case bytes_field(schema::tensor::kDims):
        each_packed_varint(f.bytes(), [&](std::int64_t d) { tensor.dims.push_back(Dim::of(d)); });
        break;
      case varint_field(schema::tensor::kType): type = f.integer(); break;
      case bytes_field(schema::tensor::kName): tensor.name = f.bytes(); break;
      case bytes_field(schema::tensor::kRaw):
        tensor.raw = f.bytes();
        tensor.storage = Storage::raw;
        break;
      case bytes_field(schema::tensor::kFloats):
        contents.fixed += f.bytes().size() / 4;
        tensor.storage = Storage::floats;
        break;
      case fixed32_field(schema::tensor::kFloats):
        ++contents.fixed;
        tensor.storage = Storage::floats;
        break;
      case bytes_field(schema::tensor::kDoubles):
        contents.fixed += f.bytes().size() / 8;
        tensor.storage = Storage::doubles;
        break;
      case fixed64_field(schema::tensor::kDoubles):
        ++contents.fixed;
        tensor.storage = Storage::doubles;
        break;
      case bytes_field(schema::tensor::kInt32s):
      case bytes_field(schema::tensor::kInt64s):
      case bytes_field(schema::tensor::kUint64s): contents.varint_bytes += f.bytes().size(); break;
      case varint_field(schema::tensor::kInt32s):
      case varint_field(schema::tensor::kInt64s):
      case varint_field(schema::tensor::kUint64s): ++contents.varint_bytes; break;
      case bytes_field(schema::tensor::kStrings):
        ++contents.strings;
        tensor.storage = Storage::strings;
        break;
      case bytes_field(schema::tensor::kExternal):
        PLIMSOLL_TRY(decode_external_entry(f.bytes(), tensor));
        break;
      case varint_field(schema::tensor::kLocation): external = f.integer() == 1; break;
      default: break;
    }
    switch (f.key()) {
      case bytes_field(schema::tensor::kInt32s):
      case varint_field(schema::tensor::kInt32s): tensor.storage = Storage::int32s; break;
      case bytes_field(schema::tensor::kInt64s):
      case varint_field(schema::tensor::kInt64s): tensor.storage = Storage::int64s; break;
      case bytes_field(schema::tensor::kUint64s):
      case varint_field(schema::tensor::kUint64s): tensor.storage = Storage::uint64s; break;
      default: break;
    }
  }
  if (external) tensor.storage = Storage::external;
  const auto known = network::data_type_from_number(type);
  if (!known || *known == DataType::undefined)
    return fail("has element type {}, which ONNX does not define", type);
  tensor.type = *known;
  PLIMSOLL_TRY(measure(tensor));
  PLIMSOLL_TRY(check_contents(tensor, contents));
  return tensor;
}

Result<StoredTensor> decode_sparse_tensor(std::string_view message) {
  std::string_view values;
  network::Shape dims;
  for (Fields f(message); f.next();) {
    switch (f.key()) {
      case bytes_field(schema::sparse::kValues): values = f.bytes(); break;
      case varint_field(schema::sparse::kDims): dims.push_back(Dim::of(f.integer())); break;
      case bytes_field(schema::sparse::kDims):
        each_packed_varint(f.bytes(), [&](std::int64_t d) { dims.push_back(Dim::of(d)); });
        break;
      default: break;
    }
  }
  Result<StoredTensor> tensor = decode_tensor(values);
  if (!tensor) return tensor;
  tensor->message = message;
  tensor->raw = {};
  tensor->dims = dims;
  tensor->storage = Storage::sparse;
  PLIMSOLL_TRY(measure(*tensor));
  return tensor;
}

Result<bool> decode_values(const StoredTensor& tensor, std::vector<Scalar>& out) {
  const std::int64_t most = network::is_float(tensor.type)
                                ? kMaxRealElements
                                : static_cast<std::int64_t>(network::kMaxValueElements);
  if (tensor.elements > most || !has_scalars(tensor.type)) return false;
  const auto count = static_cast<std::size_t>(tensor.elements);
  out.clear();
  if (tensor.storage == Storage::raw) {
    decode_raw(tensor.type, tensor.raw, count, out);
    return true;
  }
  // Of a tensor without elements all is known, wherever its contents would be.
  if (tensor.storage == Storage::none || tensor.storage == Storage::external ||
      tensor.storage == Storage::sparse)
    return count == 0;
  std::vector<std::byte> raw;
  PLIMSOLL_TRY(gather_typed(tensor.message, tensor.storage, tensor.type, raw));
  if (raw.size() != static_cast<std::size_t>(tensor.bytes))
    return fail("its typed data has {} bytes' worth of numbers; its type and dimensions need {}", raw.size(),
                tensor.bytes);
  decode_raw(tensor.type, std::string_view(reinterpret_cast<const char*>(raw.data()), raw.size()), count,
             out);
  return true;
}

Status gather_typed(std::string_view message, Storage storage, DataType type, std::vector<std::byte>& out) {
  out.clear();
  // The widths of one entry; two 4-bit elements share one.
  const int width = type == DataType::complex64    ? 4
                    : type == DataType::complex128 ? 8
                                                   : (network::bits(type) + 7) / 8;
  const auto entry = [&](std::int64_t n) { append_little_endian(out, static_cast<std::uint64_t>(n), width); };
  const std::uint32_t number = storage == Storage::floats    ? schema::tensor::kFloats
                               : storage == Storage::doubles ? schema::tensor::kDoubles
                               : storage == Storage::int32s  ? schema::tensor::kInt32s
                               : storage == Storage::int64s  ? schema::tensor::kInt64s
                               : storage == Storage::uint64s ? schema::tensor::kUint64s
                                                             : 0;
  if (number == 0) return fail("its contents are not numbers in a typed field");
  const bool fixed = storage == Storage::floats || storage == Storage::doubles;
  for (Fields f(message); f.next();) {
    if (f.key() == bytes_field(number) && fixed) {
      const auto* at = reinterpret_cast<const std::byte*>(f.bytes().data());
      out.insert(out.end(), at, at + f.bytes().size());
    } else if (f.key() == bytes_field(number)) {
      each_packed_varint(f.bytes(), entry);
    } else if (f.key() == varint_field(number) && !fixed) {
      entry(f.integer());
    } else if (f.key() == (storage == Storage::floats ? fixed32_field(number) : fixed64_field(number)) &&
               fixed) {
      append_little_endian(out, f.bits(), width);
    }
  }
  return {};
}

}  // namespace plimsoll::onnx
