#include "gguf/file.hpp"

#include <algorithm>
#include <bit>

#include "base/printable.hpp"
#include "gguf/parts.hpp"

// The format: "GGUF", version (32 bits), number of tensors, number of metadata pairs (64 bits each); the
// pairs; for each tensor name, number of extents (32 bits), extents (64 bits each), type (32 bits), offset
// (64 bits); padding; the data. https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
namespace plimsoll::gguf {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr std::uint64_t kMostTensors = 1 << 18;
constexpr std::size_t kLongestName = 256;  // llama.cpp takes 63 bytes
constexpr std::int64_t kUsualAlignment = 32, kMostAlignment = 1 << 20;

struct Header {
  std::uint32_t version = 0;
  std::uint64_t tensors = 0, pairs = 0;
};

Result<Header> read_header(Cursor& cursor) {
  const std::span<const std::byte> magic = cursor.bytes(kMagic.size());
  if (cursor.failed() || !std::ranges::equal(magic, std::as_bytes(std::span(kMagic))))
    return fail("is not a GGUF file");
  Header header{.version = cursor.number<std::uint32_t>()};
  if ((header.version & 0xffffU) == 0 && header.version != 0)
    return fail("is a GGUF file of a big-endian machine; only little-endian ones are read");
  if (header.version == 1)
    return fail("is of version 1 of GGUF, of August 2023; convert the model again with a llama.cpp of today");
  if (header.version < 2 || header.version > 3)
    return fail("is of version {} of GGUF; 2 and 3 are known", header.version);
  header.tensors = cursor.number<std::uint64_t>();
  header.pairs = cursor.number<std::uint64_t>();
  if (cursor.failed()) return fail("ends too early: the file is cut short");
  if (header.tensors > kMostTensors)
    return fail("says to have {} tensors; {} are too many", header.tensors, kMostTensors);
  return header;
}

Result<std::int64_t> alignment_of(const Metadata& metadata) {
  const Result<std::optional<std::int64_t>> given = metadata.whole("general.alignment");
  if (!given) return std::unexpected(given.error());
  const std::int64_t alignment = given->value_or(kUsualAlignment);
  if (alignment < 1 || alignment > kMostAlignment ||
      !std::has_single_bit(static_cast<std::uint64_t>(alignment)))
    return fail("metadata 'general.alignment': {} is no power of two up to {}", alignment, kMostAlignment);
  return alignment;
}

/// Extents and type, and the bytes that follow from them.
Status set_size(TensorInfo& tensor) {
  std::int64_t elements = 1;
  for (const std::int64_t dim : tensor.extents())
    if (dim < 0 || __builtin_mul_overflow(elements, dim, &elements))
      return fail("has extents whose product does not fit in 63 bits");
  if (tensor.dims[0] % tensor.type->values != 0)
    return fail("has rows of {} values, which are not whole blocks of {} ({} each)", tensor.dims[0],
                tensor.type->name, tensor.type->values);
  if (__builtin_mul_overflow(elements / tensor.type->values, tensor.type->bytes, &tensor.bytes))
    return fail("would take more than 2^63 bytes");
  return {};
}

Result<const TensorType*> tensor_type(std::uint32_t number) {
  if (const TensorType* const type = find_tensor_type(number)) return type;
  if (const std::string_view name = removed_tensor_type(number); !name.empty())
    return fail("is stored as {}, which GGUF files had once and llama.cpp reads no more", name);
  return fail("is of type {}, which Plimsoll does not know", number);
}

Result<TensorInfo> read_tensor(Cursor& cursor) {
  const auto cut_short = [] { return fail("ends too early: the file is cut short"); };
  TensorInfo tensor{.name = cursor.text()};
  if (cursor.failed()) return cut_short();
  if (tensor.name.empty() || tensor.name.size() > kLongestName)
    return fail("has a tensor whose name has {} bytes", tensor.name.size());
  const auto named = [&tensor](Error error) {
    return std::unexpected(std::move(error).within(fmt::format("tensor {}", quote(tensor.name))));
  };
  tensor.rank = cursor.number<std::uint32_t>();
  if (tensor.rank > kMostDims)
    return named({fmt::format("has {} extents; {} are the most", tensor.rank, kMostDims)});
  for (std::size_t i = 0; i < tensor.rank; ++i) tensor.dims[i] = cursor.number<std::int64_t>();
  const Result<const TensorType*> type = tensor_type(cursor.number<std::uint32_t>());
  tensor.offset = cursor.number<std::int64_t>();
  if (cursor.failed()) return cut_short();
  if (!type) return named(type.error());
  tensor.type = *type;
  if (const Status size = set_size(tensor); !size) return named(size.error());
  return tensor;
}

/// Every tensor's data lies in the file, where it may, and on nobody else's.
Status check_places(std::span<const TensorInfo> tensors, std::int64_t alignment, std::int64_t data_bytes) {
  std::vector<const TensorInfo*> order;
  order.reserve(tensors.size());
  for (const TensorInfo& t : tensors) {
    if (t.offset < 0 || t.offset % alignment != 0)
      return fail("tensor {}: begins at {}, which is not a multiple of {}", quote(t.name), t.offset,
                  alignment);
    if (t.offset > data_bytes || t.bytes > data_bytes - t.offset) {
      Error error{fmt::format("tensor {}: ends beyond the file: {} bytes at {}, where there are {}",
                              quote(t.name), t.bytes, t.offset, data_bytes)};
      error.hint = "The file is cut short; a download may not have ended.";
      return std::unexpected(std::move(error));
    }
    order.push_back(&t);
  }
  std::ranges::sort(order, [](const TensorInfo* a, const TensorInfo* b) {
    return a->offset != b->offset ? a->offset < b->offset : a->bytes < b->bytes;
  });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i - 1]->offset + order[i - 1]->bytes > order[i]->offset)
      return fail("tensors {} and {} lie on each other", quote(order[i - 1]->name), quote(order[i]->name));
  return {};
}

/// A file that stays mapped while its File is used.
struct OpenPart {
  MappedFile bytes;
  File file;
};

Result<OpenPart> open_part(const std::filesystem::path& path) {
  const auto within = [&path](Error error) {
    return std::unexpected(std::move(error).within(printable(path.string())));
  };
  Result<MappedFile> bytes = MappedFile::open(path);
  if (!bytes) return within(std::move(bytes).error());
  Result<File> file = read_bytes(bytes->bytes());
  if (!file) return within(std::move(file).error());
  return OpenPart{std::move(*bytes), std::move(*file)};
}

}  // namespace

const TensorInfo* File::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors[found->second];
}

Status File::add(const TensorInfo& tensor) {
  if (tensors.size() == kMostTensors) return fail("its parts have more than {} tensors", kMostTensors);
  if (!by_name_.emplace(tensor.name, static_cast<std::uint32_t>(tensors.size())).second)
    return fail("tensor {}: stands twice", quote(tensor.name));
  tensors.push_back(tensor);
  return {};
}

Result<File> read_bytes(std::span<const std::byte> bytes) {
  Cursor cursor(bytes);
  const Result<Header> header = read_header(cursor);
  if (!header) return std::unexpected(header.error());
  Result<Metadata> metadata = read_metadata(cursor, header->pairs);
  if (!metadata) return std::unexpected(std::move(metadata).error());
  const Result<std::int64_t> alignment = alignment_of(*metadata);
  if (!alignment) return std::unexpected(alignment.error());
  File file;
  file.version = header->version;
  file.metadata = std::move(*metadata);
  file.alignment = *alignment;
  for (std::uint64_t i = 0; i < header->tensors; ++i) {
    const Result<TensorInfo> tensor = read_tensor(cursor);
    if (!tensor) return std::unexpected(tensor.error());
    PLIMSOLL_TRY(file.add(*tensor));
  }
  const auto end = static_cast<std::int64_t>(cursor.position());
  const std::int64_t begin = (end + file.alignment - 1) / file.alignment * file.alignment;
  const std::int64_t data = std::max<std::int64_t>(static_cast<std::int64_t>(bytes.size()) - begin, 0);
  PLIMSOLL_TRY(check_places(file.tensors, file.alignment, data));
  return file;
}

Result<File> read(const std::filesystem::path& path) {
  Result<OpenPart> asked = open_part(path);
  if (!asked) return std::unexpected(std::move(asked).error());
  const auto within = [&path](Error error) {
    return std::unexpected(std::move(error).within(printable(path.string())));
  };
  const Result<PartPlace> place = part_place(asked->file.metadata);
  if (!place) return within(place.error());
  const Result<std::vector<std::filesystem::path>> paths = all_parts(path, *place);
  if (!paths) return within(paths.error());
  if (paths->empty()) {
    asked->file.mapped_.push_back(std::move(asked->bytes));
    return std::move(asked->file);
  }
  File whole;
  for (const std::filesystem::path& one : *paths) {
    Result<OpenPart> part = open_part(one);
    if (!part) {
      Error error = std::move(part).error();
      if (error.hint.empty())
        error.hint =
            fmt::format("The file is split into {} parts, which must all lie in one folder.", paths->size());
      return std::unexpected(std::move(error));
    }
    if (const Status joined = whole.join(std::move(part->file), std::move(part->bytes), place->count);
        !joined)
      return std::unexpected(Error(joined.error()).within(printable(one.string())));
  }
  if (place->tensors && *place->tensors != static_cast<std::int64_t>(whole.tensors.size()))
    return within({fmt::format("its parts have {} tensors together, not the {} that they say",
                               whole.tensors.size(), *place->tensors)});
  return whole;
}

Status File::join(File part, MappedFile bytes, std::int64_t count) {
  const Result<PartPlace> place = part_place(part.metadata);
  if (!place) return std::unexpected(place.error());
  const auto index = static_cast<std::uint32_t>(mapped_.size());
  if (place->number != index || place->count != count)
    return fail("says to be part {} of {}, but is named as part {} of {}", place->number + 1, place->count,
                index + 1, count);
  for (TensorInfo& tensor : part.tensors) {
    tensor.part = index;
    PLIMSOLL_TRY(add(tensor));
  }
  if (index == 0) {
    version = part.version;
    alignment = part.alignment;
    metadata = std::move(part.metadata);
  }
  mapped_.push_back(std::move(bytes));
  parts = static_cast<std::int64_t>(mapped_.size());
  return {};
}

}  // namespace plimsoll::gguf
