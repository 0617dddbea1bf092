#include <system_error>

#include "base/printable.hpp"
#include "intake/byte_stream.hpp"
#include "intake/labels.hpp"
#include "intake/source.hpp"

namespace plimsoll::intake {
namespace {

using network::DataType;

constexpr std::int64_t kChannels = 3, kSide = 32, kImageBytes = kChannels * kSide * kSide;

struct CifarFile {
  std::filesystem::path path;
  std::int64_t records = 0;
};

class CifarRows final : public RowReader {
 public:
  CifarRows(std::vector<CifarFile> files, int label_bytes)
      : files_(std::move(files)), labels_(static_cast<std::size_t>(label_bytes)) {}

  Status next(std::span<std::byte> row) override {
    PLIMSOLL_TRY(next_record(row));
    return {};
  }
  /// The same with the label, which stands before the image.
  Result<std::byte> next_record(std::span<std::byte> row) {
    while (!stream_ || left_ == 0) {
      if (file_ == files_.size()) return fail("there are no more images");
      Result<ByteStream> opened = ByteStream::open(files_[file_].path);
      PLIMSOLL_TRY(opened);
      stream_ = *std::move(opened);
      left_ = files_[file_].records;
      ++file_;
    }
    PLIMSOLL_TRY(stream_->read(labels_));
    PLIMSOLL_TRY(stream_->read(row));
    --left_;
    return labels_.back();
  }

 private:
  std::vector<CifarFile> files_;
  std::vector<std::byte> labels_;
  std::size_t file_ = 0;
  std::optional<ByteStream> stream_;
  std::int64_t left_ = 0;
};

}  // namespace

Result<Part> open_cifar(const std::vector<std::filesystem::path>& files, int label_bytes) {
  std::vector<CifarFile> found;
  Part part{.form = {DataType::uint8, {kChannels, kSide, kSide}}, .count = 0, .inputs = {}, .labels = {}};
  for (const std::filesystem::path& path : files) {
    std::error_code problem;
    const auto size = std::filesystem::file_size(path, problem);
    const auto record = static_cast<std::uintmax_t>(kImageBytes + label_bytes);
    if (problem)
      return std::unexpected(Error{"cannot be read: " + problem.message(), printable(path.string())});
    if (size == 0 || size % record != 0)
      return std::unexpected(
          Error{fmt::format("is cut off, or not of CIFAR's binary form: {} bytes are not records of {}", size,
                            record),
                printable(path.string())});
    found.push_back({path, static_cast<std::int64_t>(size / record)});
    part.count += found.back().records;
  }
  if (part.count > kMostExamples) return fail("{} images are more than can be learned from", part.count);
  // Labels stand among the images: this first reading is of the labels, the second of the images.
  CifarRows first(found, label_bytes);
  std::vector<std::byte> image(static_cast<std::size_t>(kImageBytes)), labels;
  labels.reserve(static_cast<std::size_t>(part.count));
  for (std::int64_t i = 0; i < part.count; ++i) {
    const Result<std::byte> label = first.next_record(image);
    PLIMSOLL_TRY(label);
    labels.push_back(*label);
  }
  part.labels = classes_of_bytes(labels);
  part.inputs = std::make_unique<CifarRows>(std::move(found), label_bytes);
  return part;
}

}  // namespace plimsoll::intake
