#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/printable.hpp"
#include "dataset/dataset.hpp"
#include "intake/byte_stream.hpp"
#include "intake/labels.hpp"
#include "intake/source.hpp"

// "\x93NUMPY", two bytes of version, the header's length in two bytes (four from version 2 on), the header: a
// Python dictionary such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }; then the values.
namespace plimsoll::intake {
namespace {

using network::DataType;

constexpr std::size_t kMostHeader = std::size_t{1} << 20, kMostRank = 8;

/// A kind of number in the file, and what becomes of it.
struct Element {
  std::string_view word;  // without its byte order
  std::size_t bytes;
  DataType becomes;
};
constexpr std::array kElements = {
    Element{"u1", 1, DataType::uint8},   Element{"i1", 1, DataType::int64},
    Element{"b1", 1, DataType::uint8},   Element{"u2", 2, DataType::int64},
    Element{"i2", 2, DataType::int64},   Element{"u4", 4, DataType::int64},
    Element{"i4", 4, DataType::int64},   Element{"i8", 8, DataType::int64},
    Element{"f4", 4, DataType::float32}, Element{"f8", 8, DataType::float32},
};

struct Header {
  Element element = kElements[0];
  std::vector<std::int64_t> dims;
};

/// The text of one key's value: up to the comma or brace that ends it, parentheses and quotes respected.
std::optional<std::string_view> value_of(std::string_view header, std::string_view key) {
  for (const char quote_mark : {'\'', '"'}) {
    const std::string wanted = fmt::format("{}{}{}", quote_mark, key, quote_mark);
    const auto at = header.find(wanted);
    if (at == header.npos) continue;
    std::string_view rest = header.substr(at + wanted.size());
    const auto colon = rest.find_first_not_of(' ');
    if (colon == rest.npos || rest[colon] != ':') return std::nullopt;
    rest.remove_prefix(colon + 1);
    const auto begin = rest.find_first_not_of(' ');
    if (begin == rest.npos) return std::nullopt;
    rest.remove_prefix(begin);
    const auto end = rest.starts_with('(') ? rest.find(')') : rest.find_first_of(",}");
    if (end == rest.npos) return std::nullopt;
    return rest.substr(0, rest.starts_with('(') ? end + 1 : end);
  }
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> shape_of(std::string_view tuple) {
  if (!tuple.starts_with('(') || !tuple.ends_with(')')) return std::nullopt;
  tuple = tuple.substr(1, tuple.size() - 2);
  std::vector<std::int64_t> dims;
  while (true) {
    const auto begin = tuple.find_first_not_of(" ,");
    if (begin == tuple.npos) return dims;
    tuple.remove_prefix(begin);
    std::int64_t extent = 0;
    const auto [end, problem] = std::from_chars(tuple.data(), tuple.data() + tuple.size(), extent);
    if (problem != std::errc() || extent < 0 || dims.size() == kMostRank) return std::nullopt;
    dims.push_back(extent);
    tuple.remove_prefix(static_cast<std::size_t>(end - tuple.data()));
    if (!tuple.empty() && tuple.front() != ',' && tuple.front() != ' ') return std::nullopt;
  }
}

std::unexpected<Error> wrong(const ByteStream& stream, std::string message, std::string hint = {}) {
  return std::unexpected(Error{std::move(message), printable(stream.path().string()), std::move(hint)});
}

Result<Element> element_of(const ByteStream& stream, std::string_view descr) {
  if (descr.size() < 4 || (descr.front() != '\'' && descr.front() != '"'))
    return wrong(stream, "holds records, not numbers of one kind");
  const std::string_view word = descr.substr(1, descr.find_last_of(descr.front()) - 1);
  const auto found = std::ranges::find(kElements, word.substr(1), &Element::word);
  if (word.starts_with('>') || found == kElements.end())
    return wrong(stream, fmt::format("holds numbers of type {}, which is not read", quote(word)),
                 "uint8, int8 to int64 and float32, float64 are, the least byte first: "
                 "array.astype('float32').");
  return *found;
}

Result<Header> read_header(ByteStream& stream) {
  std::array<std::byte, 8> begin{};
  PLIMSOLL_TRY(stream.read(begin));
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (std::memcmp(begin.data(), kMagic.data(), kMagic.size()) != 0)
    return wrong(stream, "is not a NumPy file");
  const int version = std::to_integer<int>(begin[6]);
  if (version < 1 || version > 3)
    return wrong(stream, fmt::format("is of version {} of the format", version));
  std::array<std::byte, 4> size{};
  PLIMSOLL_TRY(stream.read(std::span(size).first(version == 1 ? 2 : 4)));
  std::size_t length = 0;
  for (std::size_t i = size.size(); i-- > 0;) length = length << 8 | std::to_integer<std::size_t>(size[i]);
  if (length > kMostHeader) return wrong(stream, fmt::format("has a header of {} bytes", length));
  std::string header(length, '\0');
  PLIMSOLL_TRY(stream.read(std::as_writable_bytes(std::span(header))));
  const auto descr = value_of(header, "descr"), order = value_of(header, "fortran_order"),
             shape = value_of(header, "shape");
  const auto dims = shape ? shape_of(*shape) : std::nullopt;
  if (!descr || !order || !dims) return wrong(stream, "has a header that is not NumPy's");
  if (!order->starts_with("False"))
    return wrong(stream, "holds columns first (Fortran's order)", "numpy.ascontiguousarray turns it.");
  const Result<Element> element = element_of(stream, *descr);
  PLIMSOLL_TRY(element);
  auto bytes = static_cast<std::int64_t>(element->bytes);
  for (const std::int64_t dim : *dims)
    if (__builtin_mul_overflow(bytes, dim, &bytes)) bytes = INT64_MAX;
  if (bytes > stream.most_left())
    return wrong(stream, fmt::format("is cut off: it says that it holds {}", dataset::shape_text(*dims)));
  return Header{*element, *dims};
}

template <class Number>
Number number_at(std::span<const std::byte> bytes) {
  Number value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::int64_t whole_at(std::span<const std::byte> bytes, std::string_view word) {
  if (word == "i1") return number_at<std::int8_t>(bytes);
  if (word == "u2") return number_at<std::uint16_t>(bytes);
  if (word == "i2") return number_at<std::int16_t>(bytes);
  if (word == "u4") return number_at<std::uint32_t>(bytes);
  if (word == "i4") return number_at<std::int32_t>(bytes);
  if (word == "i8") return number_at<std::int64_t>(bytes);
  return std::to_integer<std::int64_t>(bytes.front());
}

/// The values in the type that they become, one after the other.
void convert(std::span<const std::byte> from, const Element& element, DataType to, std::span<std::byte> out) {
  const std::size_t width = to == DataType::float32 ? sizeof(float)
                            : to == DataType::int64 ? sizeof(std::int64_t)
                                                    : 1;
  if (width == 1) return (void)std::ranges::copy(from, out.begin());
  for (std::size_t i = 0; i * width < out.size(); ++i) {
    const auto value = from.subspan(i * element.bytes, element.bytes);
    if (to == DataType::int64) {
      const std::int64_t whole = whole_at(value, element.word);
      std::memcpy(out.data() + i * width, &whole, width);
      continue;
    }
    const float real = element.word == "f8"   ? static_cast<float>(number_at<double>(value))
                       : element.word == "f4" ? number_at<float>(value)
                                              : static_cast<float>(whole_at(value, element.word));
    std::memcpy(out.data() + i * width, &real, width);
  }
}

class NpyRows final : public RowReader {
 public:
  /// `channels_last`: of images as height x width x channels, so many; 0: nothing is turned.
  NpyRows(ByteStream stream, Element element, DataType becomes, std::int64_t elements,
          std::int64_t channels_last)
      : stream_(std::move(stream)),
        element_(element),
        becomes_(becomes),
        channels_(static_cast<std::size_t>(channels_last)),
        read_(static_cast<std::size_t>(elements) * element.bytes) {}

  Status next(std::span<std::byte> row) override {
    PLIMSOLL_TRY(stream_.read(read_));
    if (channels_ <= 1) {
      convert(read_, element_, becomes_, row);
      return {};
    }
    turned_.resize(read_.size());
    const std::size_t pixels = read_.size() / element_.bytes / channels_;
    for (std::size_t p = 0; p < pixels; ++p)
      for (std::size_t c = 0; c < channels_; ++c)
        std::memcpy(turned_.data() + (c * pixels + p) * element_.bytes,
                    read_.data() + (p * channels_ + c) * element_.bytes, element_.bytes);
    convert(turned_, element_, becomes_, row);
    return {};
  }
  Status end() override { return stream_.expect_end(); }

 private:
  ByteStream stream_;
  Element element_;
  DataType becomes_;
  std::size_t channels_;
  std::vector<std::byte> read_, turned_;
};

Result<Labels> read_labels(const std::filesystem::path& path, std::int64_t count) {
  Result<ByteStream> stream = ByteStream::open(path);
  PLIMSOLL_TRY(stream);
  const Result<Header> header = read_header(*stream);
  PLIMSOLL_TRY(header);
  if (header->dims.empty() || header->dims.front() != count)
    return wrong(*stream, fmt::format("holds {} labels for {} examples",
                                      header->dims.empty() ? 1 : header->dims.front(), count));
  const bool real = header->element.becomes == DataType::float32;
  Labels labels{.type = real ? DataType::float32 : DataType::int64,
                .dims = {header->dims.begin() + 1, header->dims.end()}};
  // Keras writes classes as a column.
  if (!real && labels.dims == std::vector<std::int64_t>{1}) labels.dims.clear();
  std::int64_t elements = count;
  for (const std::int64_t dim : labels.dims) elements *= dim;
  std::vector<std::byte> bytes(static_cast<std::size_t>(elements) * header->element.bytes);
  PLIMSOLL_TRY(stream->read(bytes));
  PLIMSOLL_TRY(stream->expect_end());
  labels.bytes.resize(static_cast<std::size_t>(elements) * (real ? sizeof(float) : sizeof(std::int64_t)));
  convert(bytes, header->element, labels.type, labels.bytes);
  return labels;
}

}  // namespace

Result<Part> open_npy(const std::filesystem::path& inputs, const std::filesystem::path& labels) {
  Result<ByteStream> stream = ByteStream::open(inputs);
  PLIMSOLL_TRY(stream);
  const Result<Header> header = read_header(*stream);
  PLIMSOLL_TRY(header);
  if (header->dims.size() < 2)
    return wrong(*stream, fmt::format("holds {}; examples are rows of more than one number",
                                      dataset::shape_text(header->dims)));
  Part part{.form = {header->element.becomes, {header->dims.begin() + 1, header->dims.end()}},
            .count = header->dims.front(),
            .inputs = {},
            .labels = {}};
  std::vector<std::int64_t>& dims = part.form.dims;
  std::int64_t elements = 1, channels_last = 0;
  for (const std::int64_t dim : dims)
    if (__builtin_mul_overflow(elements, dim, &elements) || elements > kMostExampleBytes)
      return wrong(*stream,
                   fmt::format("holds examples of {}, which are too large", dataset::shape_text(dims)));
  if (elements == 0) return wrong(*stream, "holds examples of nothing");
  if (dims.size() == 2 && part.form.type == DataType::uint8) dims.insert(dims.begin(), 1);
  if (dims.size() == 3 && dims[0] > 4 && dims[2] <= 4) {  // height x width x channels
    channels_last = dims[2];
    std::ranges::rotate(dims, dims.begin() + 2);
  }
  Result<Labels> read = read_labels(labels, part.count);
  PLIMSOLL_TRY(read);
  part.labels = *std::move(read);
  part.inputs =
      std::make_unique<NpyRows>(*std::move(stream), header->element, part.form.type, elements, channels_last);
  return part;
}

}  // namespace plimsoll::intake
