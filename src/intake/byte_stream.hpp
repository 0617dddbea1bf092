#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "base/error.hpp"

namespace plimsoll::intake {

/// A file read from its beginning to its end, unpacked where it is gzip. Only what is asked for is in memory.
class ByteStream {
 public:
  /// A regular file alone: a FIFO would be waited for.
  [[nodiscard]] static Result<ByteStream> open(const std::filesystem::path& path);
  ByteStream(ByteStream&&) noexcept;
  ByteStream& operator=(ByteStream&&) noexcept;
  ~ByteStream();

  /// Exactly so many bytes, or an error that says where the file ends.
  [[nodiscard]] Status read(std::span<std::byte> out);
  /// Fails where the file goes on.
  [[nodiscard]] Status expect_end();
  /// No more than so many bytes can come yet: gzip packs a byte into no less than a 1032nd.
  [[nodiscard]] std::int64_t most_left() const;
  [[nodiscard]] const std::filesystem::path& path() const;

 private:
  struct State;
  explicit ByteStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::intake
