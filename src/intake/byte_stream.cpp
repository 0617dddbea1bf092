#include "intake/byte_stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file_descriptor.hpp"
#include "base/printable.hpp"

namespace plimsoll::intake {
namespace {

constexpr std::int64_t kMostPacked =
    1032;  // deflate's best: zlib's documentation, "maximum compression factor"
constexpr unsigned kBuffer = 256U << 10;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

}  // namespace

struct ByteStream::State {
  std::filesystem::path path;
  gzFile file = nullptr;
  std::int64_t size = 0;
  std::int64_t taken = 0;

  State(std::filesystem::path of, gzFile opened, std::int64_t bytes)
      : path(std::move(of)), file(opened), size(bytes) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { gzclose_r(file); }

  [[nodiscard]] std::unexpected<Error> wrong(std::string message) const {
    return std::unexpected(Error{std::move(message), printable(path.string())});
  }
};

ByteStream::ByteStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
ByteStream::ByteStream(ByteStream&&) noexcept = default;
ByteStream& ByteStream::operator=(ByteStream&&) noexcept = default;
ByteStream::~ByteStream() = default;

Result<ByteStream> ByteStream::open(const std::filesystem::path& path) {
  const auto wrong = [&path](std::string message) {
    return std::unexpected(Error{std::move(message), printable(path.string())});
  };
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return wrong(fmt::format("cannot open: {}", std::generic_category().message(errno)));
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return wrong("is not a regular file");
  const int own = ::fcntl(file.get(), F_DUPFD_CLOEXEC, 0);  // the stream closes it
  gzFile opened = own < 0 ? nullptr : gzdopen(own, "rb");
  if (opened == nullptr) {
    if (own >= 0) ::close(own);
    return wrong("cannot be read: the system has no room for another file");
  }
  gzbuffer(opened, kBuffer);
  return ByteStream(std::make_unique<State>(path, opened, facts.st_size));
}

Status ByteStream::read(std::span<std::byte> out) {
  while (!out.empty()) {
    const auto wanted = static_cast<unsigned>(std::min(out.size(), kMostAtOnce));
    const int got = gzread(state_->file, out.data(), wanted);
    if (got < 0) {
      int code = 0;
      const char* const why = gzerror(state_->file, &code);
      return state_->wrong(
          fmt::format("cannot be read after {} bytes: {}", state_->taken,
                      code == Z_ERRNO ? std::generic_category().message(errno) : printable(why)));
    }
    if (got == 0)
      return state_->wrong(
          fmt::format("ends after {} bytes; at least {} more were expected", state_->taken, out.size()));
    state_->taken += got;
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

Status ByteStream::expect_end() {
  std::array<std::byte, 1> more{};
  const int got = gzread(state_->file, more.data(), 1);
  if (got < 0) return state_->wrong(fmt::format("is damaged after {} bytes", state_->taken));
  if (got > 0)
    return state_->wrong(fmt::format("goes on after the {} bytes that its form says", state_->taken));
  return {};
}

std::int64_t ByteStream::most_left() const {
  if (gzdirect(state_->file) != 0) return state_->size - state_->taken;
  return state_->size > INT64_MAX / kMostPacked ? INT64_MAX : state_->size * kMostPacked - state_->taken;
}

const std::filesystem::path& ByteStream::path() const {
  return state_->path;
}

}  // namespace plimsoll::intake
