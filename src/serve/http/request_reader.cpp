#include "serve/http/request_reader.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "serve/http/target.hpp"

// The only file that includes Beast.
namespace plimsoll::serve {
namespace {

namespace http = boost::beast::http;
using boost::beast::string_view;
using boost::system::error_code;

constexpr std::size_t kRequestLineBesideTarget = 64;  // method, version, spaces
constexpr std::size_t kLongestChunkLine = 8192;       // with extensions; trailers too
constexpr std::size_t kReservedBody = std::size_t{64} << 10;

std::string_view view(string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

class RequestReader::Parser final : public http::basic_parser<true> {
 public:
  explicit Parser(Bounds bounds) : bounds_(bounds) {
    const std::size_t most = bounds.target_bytes + bounds.header_bytes + kRequestLineBesideTarget;
    header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(most, 1U << 30U)));
    body_limit(boost::none);  // counted here: it is known only when the head has been read
    eager(false);
  }

  std::optional<Response> refusal;
  Request request;
  std::uint64_t most_body_bytes = 0;
  int http_version = 11;

  void refuse(int status, std::string_view why, error_code& error) {
    refusal = error_response(status, why);
    error = make_error_code(http::error::bad_value);
  }

 private:
  void on_request_impl(http::verb /*method*/, string_view method, string_view target, int version,
                       error_code& error) override {
    http_version = version;
    if (version != 10 && version != 11) return refuse(505, "this server speaks HTTP/1.1 and 1.0", error);
    if (target.size() > bounds_.target_bytes)
      return refuse(414, fmt::format("the target has over {} bytes", bounds_.target_bytes), error);
    auto parsed = serve::parse_target(view(target));
    if (!parsed) return refuse(400, parsed.error().message, error);
    request.method = view(method);
    request.target = view(target);
    request.path = std::move(parsed->path);
    request.query = std::move(parsed->query);
    request.host = std::move(parsed->host);
    absolute_ = !request.host.empty();
  }

  void on_field_impl(http::field field, string_view name, string_view value, error_code& error) override {
    if (is_header_done()) return;  // trailers must not pass for headers
    header_bytes_ += name.size() + value.size() + 4;
    if (header_bytes_ > bounds_.header_bytes)
      return refuse(431, fmt::format("the headers have over {} bytes", bounds_.header_bytes), error);
    switch (field) {
      case http::field::host:
        if (std::exchange(has_host_, true)) return refuse(400, "two Host headers", error);
        if (!absolute_) request.host = view(value);
        break;
      case http::field::content_length:
        if (std::exchange(has_length_, true)) return refuse(400, "two Content-Length headers", error);
        if (view(value).find_first_not_of("0123456789") != std::string_view::npos)
          return refuse(400, "a Content-Length that is not a number", error);  // Beast takes "5, 5" for 5
        break;
      case http::field::transfer_encoding:
        if (std::exchange(has_encoding_, true)) return refuse(400, "two Transfer-Encoding headers", error);
        if (lower_case(view(value)) != "chunked")
          return refuse(501, "of transfer encodings this server knows chunked alone", error);
        break;
      default: break;
    }
    request.headers.add(lower_case(view(name)), std::string(view(value)));
  }

  void on_header_impl(error_code& error) override {
    if (has_length_ && has_encoding_) return refuse(400, "Content-Length beside Transfer-Encoding", error);
    if (has_encoding_ && http_version < 11) return refuse(400, "Transfer-Encoding in HTTP/1.0", error);
    if (!has_host_ && http_version >= 11) return refuse(400, "the Host header is missing", error);
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code& /*error*/) override {
    if (length) request.body.reserve(std::min<std::uint64_t>({*length, most_body_bytes, kReservedBody}));
  }

  std::size_t on_body_impl(string_view body, error_code& error) override {
    body_bytes_ += body.size();
    if (body_bytes_ > most_body_bytes) {
      refuse(413, fmt::format("the body has over {} bytes", most_body_bytes), error);
      return 0;
    }
    request.body.append(body.data(), body.size());
    return body.size();
  }
  std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, string_view body, error_code& error) override {
    return on_body_impl(body, error);
  }
  void on_chunk_header_impl(std::uint64_t size, string_view extensions, error_code& error) override {
    if (extensions.size() > kLongestChunkLine) return refuse(400, "a chunk's line is too long", error);
    if (size > most_body_bytes - std::min(body_bytes_, most_body_bytes))
      refuse(413, fmt::format("the body has over {} bytes", most_body_bytes), error);
  }
  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_finish_impl(error_code& /*error*/) override {}

  Bounds bounds_;
  std::size_t header_bytes_ = 0;
  std::uint64_t body_bytes_ = 0;
  bool absolute_ = false, has_host_ = false, has_length_ = false, has_encoding_ = false;
};

RequestReader::RequestReader(Bounds bounds) : parser_(std::make_unique<Parser>(bounds)) {}
RequestReader::~RequestReader() = default;
RequestReader::RequestReader(RequestReader&& other) noexcept = default;
RequestReader& RequestReader::operator=(RequestReader&& other) noexcept = default;

std::expected<std::size_t, Response> RequestReader::read(std::string_view bytes) {
  std::size_t taken = 0;
  const bool reads_head = !parser_->is_header_done();
  while (taken < bytes.size() && !parser_->is_done() && !(reads_head && parser_->is_header_done())) {
    error_code error;
    const std::string_view rest = bytes.substr(taken);
    taken += parser_->put(boost::asio::const_buffer(rest.data(), rest.size()), error);
    if (error == http::error::need_more) {
      const bool endless = !reads_head && bytes.size() - taken > kLongestChunkLine;
      if (endless) return std::unexpected(error_response(400, "a chunk's line is too long"));
      break;
    }
    if (parser_->refusal) return std::unexpected(*std::move(parser_->refusal));
    if (error == http::error::bad_version)
      return std::unexpected(error_response(505, "this server speaks HTTP/1.1 and 1.0"));
    if (error == http::error::header_limit)
      return std::unexpected(error_response(431, "the request's head is too long"));
    if (error)
      return std::unexpected(
          error_response(400, fmt::format("this is not an HTTP request: {}", printable(error.message()))));
  }
  return taken;
}

bool RequestReader::head_is_read() const {
  return parser_->is_header_done();
}
bool RequestReader::is_complete() const {
  return parser_->is_done();
}
const Request& RequestReader::head() const {
  return parser_->request;
}

std::optional<std::uint64_t> RequestReader::content_length() const {
  const auto length = parser_->content_length();
  return length ? std::optional<std::uint64_t>(*length) : std::nullopt;
}

bool RequestReader::expects_continue() const {
  return !is_http_1_0() && lower_case(head().header("expect")) == "100-continue";
}
bool RequestReader::is_http_1_0() const {
  return parser_->http_version < 11;
}
bool RequestReader::keeps_alive() const {
  return parser_->keep_alive();
}
void RequestReader::set_most_body_bytes(std::uint64_t most) {
  parser_->most_body_bytes = most;
}
std::string RequestReader::take_body() {
  return std::exchange(parser_->request.body, {});
}
std::size_t RequestReader::body_bytes_held() const {
  return parser_->request.body.size();
}
Request RequestReader::take_request() {
  return std::move(parser_->request);
}

}  // namespace plimsoll::serve
