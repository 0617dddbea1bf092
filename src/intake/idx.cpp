#include <array>
#include <span>

#include "base/printable.hpp"
#include "dataset/dataset.hpp"
#include "intake/byte_stream.hpp"
#include "intake/labels.hpp"
#include "intake/source.hpp"

// Two zeros, the type, the number of extents; the extents, 32 bits each, the largest byte first; the values.
namespace plimsoll::intake {
namespace {

using network::DataType;

constexpr int kBytes = 0x08;  // the type of unsigned bytes
constexpr std::size_t kMostIdxRank = 4;

std::int64_t whole_of(std::span<const std::byte> four) {
  std::int64_t value = 0;
  for (const std::byte b : four) value = value << 8 | std::to_integer<std::int64_t>(b);
  return value;
}

std::unexpected<Error> bad_idx(const ByteStream& stream, std::string message) {
  return std::unexpected(Error{std::move(message), printable(stream.path().string())});
}

/// The extents. Fails where the file cannot hold what they say.
Result<std::vector<std::int64_t>> read_extents(ByteStream& stream) {
  std::array<std::byte, 4> word{};
  PLIMSOLL_TRY(stream.read(word));
  if (word[0] != std::byte{0} || word[1] != std::byte{0}) return bad_idx(stream, "is not an IDX file");
  if (const int type = std::to_integer<int>(word[2]); type != kBytes)
    return bad_idx(stream, fmt::format("holds values of IDX type {:#04x}; only bytes (0x08) are read", type));
  const auto rank = std::to_integer<std::size_t>(word[3]);
  if (rank == 0 || rank > kMostIdxRank)
    return bad_idx(stream, fmt::format("has {} extents, not 1 to {}", rank, kMostIdxRank));
  std::vector<std::int64_t> dims;
  std::int64_t bytes = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    PLIMSOLL_TRY(stream.read(word));
    dims.push_back(whole_of(word));
    if (__builtin_mul_overflow(bytes, dims.back(), &bytes)) bytes = INT64_MAX;
  }
  if (bytes > stream.most_left())
    return bad_idx(stream, fmt::format("is cut off, or no IDX file: it says that it holds {} bytes",
                                       dataset::shape_text(dims)));
  return dims;
}

class IdxRows final : public RowReader {
 public:
  explicit IdxRows(ByteStream stream) : stream_(std::move(stream)) {}
  Status next(std::span<std::byte> row) override { return stream_.read(row); }
  Status end() override { return stream_.expect_end(); }

 private:
  ByteStream stream_;
};

}  // namespace

Result<Part> open_idx(const std::filesystem::path& images, const std::filesystem::path& labels) {
  Result<ByteStream> stream = ByteStream::open(images), classes = ByteStream::open(labels);
  PLIMSOLL_TRY(stream);
  PLIMSOLL_TRY(classes);
  const auto dims = read_extents(*stream), count = read_extents(*classes);
  PLIMSOLL_TRY(dims);
  PLIMSOLL_TRY(count);
  if (dims->size() < 3)
    return bad_idx(*stream,
                   fmt::format("holds {}; images are number x height x width", dataset::shape_text(*dims)));
  std::int64_t pixels = 1;
  for (const std::int64_t dim : std::span(*dims).subspan(1))
    if (__builtin_mul_overflow(pixels, dim, &pixels) || pixels > kMostExampleBytes)
      return bad_idx(*stream, fmt::format("holds {}: its images are too large", dataset::shape_text(*dims)));
  if (pixels == 0) return bad_idx(*stream, "holds images of nothing");
  if (count->size() != 1)
    return bad_idx(*classes,
                   fmt::format("holds {}; labels are one row of numbers", dataset::shape_text(*count)));
  if (count->front() != dims->front())
    return bad_idx(*classes, fmt::format("holds {} labels for {} images", count->front(), dims->front()));
  Part part{.form = {DataType::uint8, {dims->begin() + 1, dims->end()}},
            .count = dims->front(),
            .inputs = {},
            .labels = {}};
  if (part.form.dims.size() == 2) part.form.dims.insert(part.form.dims.begin(), 1);
  std::vector<std::byte> bytes(static_cast<std::size_t>(part.count));
  PLIMSOLL_TRY(classes->read(bytes));
  PLIMSOLL_TRY(classes->expect_end());
  part.labels = classes_of_bytes(bytes);
  part.inputs = std::make_unique<IdxRows>(*std::move(stream));
  return part;
}

}  // namespace plimsoll::intake
