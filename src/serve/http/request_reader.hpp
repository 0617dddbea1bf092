#pragma once
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "serve/http/response.hpp"

namespace plimsoll::serve {

/// Reads one request out of the bytes of a connection, in whatever pieces they come. Strict: what two readers
/// could take for two different requests (two lengths, a length beside chunks) is refused, with the answer to
/// give; nothing can be read afterwards.
class RequestReader {
 public:
  struct Bounds {
    std::size_t target_bytes = 0;
    std::size_t header_bytes = 0;
  };
  explicit RequestReader(Bounds bounds);
  ~RequestReader();
  RequestReader(RequestReader&& other) noexcept;
  RequestReader& operator=(RequestReader&& other) noexcept;

  /// Takes from the front of `bytes`; says how many. Those that are left are to be shown again, with more
  /// behind them. Reads the head, and stops behind it; then, called again, the body.
  [[nodiscard]] std::expected<std::size_t, Response> read(std::string_view bytes);

  [[nodiscard]] bool head_is_read() const;
  [[nodiscard]] bool is_complete() const;

  // Of the head, once it has been read:
  [[nodiscard]] const Request& head() const;
  [[nodiscard]] std::optional<std::uint64_t> content_length() const;  ///< nothing: chunks, or no body
  [[nodiscard]] bool expects_continue() const;
  [[nodiscard]] bool is_http_1_0() const;
  [[nodiscard]] bool keeps_alive() const;

  void set_most_body_bytes(std::uint64_t most);
  /// What has come of the body since this was last called.
  [[nodiscard]] std::string take_body();
  [[nodiscard]] std::size_t body_bytes_held() const;
  /// The request with the body that was not taken.
  [[nodiscard]] Request take_request();

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace plimsoll::serve
