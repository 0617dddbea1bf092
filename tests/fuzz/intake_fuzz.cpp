// Any bytes, taken for a data set in each of its forms and for an image, are read within bounds or give one
// Error.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "dataset/dataset.hpp"
#include "intake/image_file.hpp"
#include "intake/source.hpp"

namespace {

using namespace plimsoll;

constexpr std::int64_t kMostRead = 64;
constexpr std::int64_t kMostRowBytes = 1 << 20;

void require(bool holds) {
  if (!holds) std::abort();
}

/// A file without a name, which lives as long as the object.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::uint8_t> bytes) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
    require(descriptor_ >= 0 && ::write(descriptor_, bytes.data(), bytes.size()) == std::ssize(bytes));
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

void read_some(Result<intake::Part> part) {
  if (!part) return require(!part.error().text().empty());
  require(part->count >= 0 && part->form.bytes() > 0);
  if (part->form.bytes() > kMostRowBytes) return;
  std::vector<std::byte> row(static_cast<std::size_t>(part->form.bytes()));
  for (std::int64_t i = 0; i < part->count && i < kMostRead; ++i)
    if (!part->inputs->next(row)) return;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  // Two files in one: the first two bytes say where the second, of labels, begins.
  const std::size_t begin = std::min<std::size_t>(2, size);
  const std::size_t cut = size < 2 ? size : begin + (data[0] * std::size_t{256} + data[1]) % (size - 1);
  const std::span<const std::uint8_t> first = bytes.subspan(begin, cut - begin);
  const MemoryFile inputs(first), labels(bytes.subspan(cut)), all(bytes);
  read_some(intake::open_idx(inputs.path(), labels.path()));
  read_some(intake::open_npy(inputs.path(), labels.path()));
  read_some(intake::open_cifar({all.path()}, 1));
  const auto picture = intake::read_picture(std::as_bytes(bytes));
  if (picture)
    require(std::ssize(picture->values) == picture->channels * picture->height * picture->width);
  else
    require(!picture.error().text().empty());
  if (const auto flat = dataset::Dataset::open(all.path()); !flat) require(!flat.error().text().empty());
  return 0;
}
