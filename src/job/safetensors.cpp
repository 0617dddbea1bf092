#include "job/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "base/file_descriptor.hpp"
#include "base/mapped_file.hpp"
#include "base/printable.hpp"
#include "job/fields.hpp"
#include "network/shape.hpp"

// The format: eight bytes with the header's length, little endian; the header, JSON:
// {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, …, "__metadata__": {…}}; the
// data, from which offsets count. https://github.com/huggingface/safetensors#format
namespace plimsoll::job {
namespace {

using network::DataType;

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMostHeaderBytes = 100'000'000;  // as the format's own reader
constexpr int kHeaderLevels = 4;
constexpr std::size_t kAlignment = 64;

struct TypeName {
  std::string_view name;
  DataType type;
};
constexpr std::array kTypeNames = {
    TypeName{"F64", DataType::float64},        TypeName{"F32", DataType::float32},
    TypeName{"F16", DataType::float16},        TypeName{"BF16", DataType::bfloat16},
    TypeName{"I64", DataType::int64},          TypeName{"I32", DataType::int32},
    TypeName{"I16", DataType::int16},          TypeName{"I8", DataType::int8},
    TypeName{"U64", DataType::uint64},         TypeName{"U32", DataType::uint32},
    TypeName{"U16", DataType::uint16},         TypeName{"U8", DataType::uint8},
    TypeName{"BOOL", DataType::boolean},       TypeName{"F8_E4M3", DataType::float8e4m3fn},
    TypeName{"F8_E5M2", DataType::float8e5m2}, TypeName{"F8_E8M0", DataType::float8e8m0},
    TypeName{"C64", DataType::complex64}};

std::optional<DataType> type_named(std::string_view name) {
  const auto found = std::ranges::find(kTypeNames, name, &TypeName::name);
  return found == kTypeNames.end() ? std::nullopt : std::optional(found->type);
}

std::optional<std::int64_t> size_of(DataType type, std::span<const std::int64_t> dims) {
  std::int64_t elements = 1;
  for (const std::int64_t dim : dims)
    if (dim < 0 || __builtin_mul_overflow(elements, dim, &elements)) return std::nullopt;
  return network::packed_bytes(type, elements);
}

StoredArray read_array(const Fields& fields, std::int64_t data_begin, std::int64_t data_bytes) {
  StoredArray array{.type = fields.choice("dtype", type_named), .dims = fields.wholes("shape", 0)};
  const std::vector<std::int64_t> offsets = fields.wholes("data_offsets", 0, data_bytes);
  if (array.dims.size() > network::kMaxRank)
    fields.complain("shape", fmt::format("has more than {} extents", network::kMaxRank));
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    fields.complain("data_offsets", "is not a begin and an end");
    return array;
  }
  array.offset = data_begin + offsets[0];
  array.bytes = offsets[1] - offsets[0];
  if (size_of(array.type, array.dims) != array.bytes)
    fields.complain("data_offsets", "do not hold what dtype and shape say");
  return array;
}

/// No two arrays share a byte.
Status check_apart(const std::map<std::string, StoredArray>& arrays) {
  std::vector<const std::pair<const std::string, StoredArray>*> order;
  order.reserve(arrays.size());
  for (const auto& entry : arrays) order.push_back(&entry);
  std::ranges::sort(order, {},
                    [](const auto* entry) { return std::pair(entry->second.offset, entry->second.bytes); });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const StoredArray& before = order[i - 1]->second;
    if (before.offset + before.bytes > order[i]->second.offset)
      return fail("{} and {} lie on each other", quote(order[i - 1]->first), quote(order[i]->first));
  }
  return {};
}

Status write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail("cannot write: {}", std::generic_category().message(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

std::size_t aligned(std::size_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

/// Gaps between arrays are against the format, so an array's alignment is that of what stands before it: the
/// header is padded to 64 bytes, and filling arrays of bytes stand between.
struct Layout {
  std::string header;
  std::vector<std::size_t> padding;  ///< after each array
};

Result<Layout> lay_out(std::span<const ArrayToStore> arrays) {
  Layout layout;
  Json header = Json::object();
  std::size_t offset = 0;
  for (const ArrayToStore& array : arrays) {
    const auto named = std::ranges::find(kTypeNames, array.type, &TypeName::type);
    if (named == kTypeNames.end())
      return fail("{}: safetensors has no type for {}", quote(array.name), network::name(array.type));
    const auto taken = size_of(array.type, array.dims);
    if (!taken || (!array.stream && *taken != static_cast<std::int64_t>(array.bytes.size())))
      return fail("{}: {} bytes do not fit its type and shape", quote(array.name), array.bytes.size());
    if (!text_json(array.name).is_string()) return fail("{}: the name is not UTF-8", quote(array.name));
    Json& entry = header[array.name];
    if (!entry.is_null()) return fail("{}: stands twice", quote(array.name));
    const auto size = static_cast<std::size_t>(*taken);
    entry = {{"dtype", named->name}, {"shape", array.dims}, {"data_offsets", {offset, offset + size}}};
    offset += size;
    layout.padding.push_back(aligned(offset) - offset);
    if (layout.padding.back() > 0 && &array != &arrays.back())
      header[fmt::format("__padding__.{}", layout.padding.size())] = {
          {"dtype", "U8"},
          {"shape", {layout.padding.back()}},
          {"data_offsets", {offset, offset + layout.padding.back()}}};
    offset += layout.padding.back();
  }
  layout.header = dump(header);
  // Spaces at the end of the header are allowed for just this.
  layout.header.resize(aligned(kLengthBytes + layout.header.size()) - kLengthBytes, ' ');
  return layout;
}

Status write_stream(int descriptor, const ArrayToStore& array) {
  std::int64_t left = size_of(array.type, array.dims).value_or(0);
  PLIMSOLL_TRY(array.stream([&](std::span<const std::byte> bytes) -> Status {
    left -= std::ssize(bytes);
    if (left < 0) return fail("{}: more bytes came than its type and shape take", quote(array.name));
    return write_all(descriptor, bytes);
  }));
  if (left > 0) return fail("{}: {} bytes fewer came than its type and shape take", quote(array.name), left);
  return {};
}

Status write_arrays(int descriptor, const Layout& layout, std::span<const ArrayToStore> arrays) {
  std::array<std::byte, kLengthBytes> length{};
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    length[i] = static_cast<std::byte>(layout.header.size() >> (8 * i) & 0xff);
  PLIMSOLL_TRY(write_all(descriptor, length));
  PLIMSOLL_TRY(write_all(descriptor, std::as_bytes(std::span(layout.header))));
  constexpr std::array<std::byte, kAlignment> kZeros{};
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].stream)
      PLIMSOLL_TRY(write_stream(descriptor, arrays[i]));
    else
      PLIMSOLL_TRY(write_all(descriptor, arrays[i].bytes));
    if (i + 1 < arrays.size())
      PLIMSOLL_TRY(write_all(descriptor, std::span(kZeros).first(layout.padding[i])));
  }
  return {};
}

}  // namespace

Result<std::map<std::string, StoredArray>> read_safetensors_header(std::span<const std::byte> file) {
  if (file.size() < kLengthBytes) return fail("is too short for a safetensors file");
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) length |= static_cast<std::uint64_t>(file[i]) << (8 * i);
  if (length > kMostHeaderBytes || length > file.size() - kLengthBytes)
    return fail("is not a safetensors file: its header would be {} bytes long", length);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes of a file that are text
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes,
                              static_cast<std::size_t>(length));
  const Result<Json> header = parse_within(text, kMostHeaderBytes, kHeaderLevels);
  if (!header) return std::unexpected(Error(header.error()).within("header"));
  if (!header->is_object()) return fail("its header is not an object");

  const auto begin = static_cast<std::int64_t>(kLengthBytes + length);
  std::map<std::string, StoredArray> arrays;
  std::optional<Error> error;
  for (const auto& [name, value] : header->items()) {
    if (name == "__metadata__" || name.starts_with("__padding__")) continue;
    arrays[name] =
        read_array(Fields(value, quote(name), error), begin, static_cast<std::int64_t>(file.size()) - begin);
    if (error) return std::unexpected(std::move(*error));
  }
  PLIMSOLL_TRY(check_apart(arrays));
  return arrays;
}

Result<std::map<std::string, StoredArray>> read_safetensors(const std::filesystem::path& path) {
  const auto within = [&path](Error error) {
    return std::unexpected(std::move(error).within(printable(path.string())));
  };
  const Result<MappedFile> file = MappedFile::open(path);
  if (!file) return within(file.error());
  auto arrays = read_safetensors_header(file->bytes());
  if (!arrays) return within(arrays.error());
  return arrays;
}

namespace {

Status write_to(const std::filesystem::path& path, std::span<const ArrayToStore> arrays, bool to_disk) {
  const auto within = [&path](Error error) {
    return std::unexpected(std::move(error).within(printable(path.string())));
  };
  const Result<Layout> layout = lay_out(arrays);
  if (!layout) return within(layout.error());
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) return within(Error{fmt::format("cannot create: {}", std::generic_category().message(errno))});
  const Status written = write_arrays(file.get(), *layout, arrays);
  if (!written) return within(written.error());
  if (to_disk && ::fsync(file.get()) != 0)
    return within(Error{fmt::format("cannot write: {}", std::generic_category().message(errno))});
  return {};
}

}  // namespace

Status write_safetensors(const std::filesystem::path& path, std::span<const ArrayToStore> arrays) {
  return write_to(path, arrays, false);
}

Status replace_safetensors(const std::filesystem::path& path, std::span<const ArrayToStore> arrays) {
  std::filesystem::path part = path;
  part += ".part";
  Status written = write_to(part, arrays, true);
  if (written && ::rename(part.c_str(), path.c_str()) != 0)
    written = std::unexpected(Error{fmt::format("cannot rename: {}", std::generic_category().message(errno)),
                                    printable(path.string())});
  if (!written) {
    ::unlink(part.c_str());
    return written;
  }
  // A rename is on disk only when its directory is.
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const FileDescriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) ::fsync(directory.get());
  return {};
}

}  // namespace plimsoll::job
