// Any bytes, taken for a request: it must be read the same in whatever pieces it comes, or in none. Taken for
// each of the texts within one (target, query, Range, Authorization, Host, a header of an answer, an event):
// what is decoded keeps its promises.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/percent.hpp"
#include "base/utf8.hpp"
#include "serve/http/events.hpp"
#include "serve/http/origin.hpp"
#include "serve/http/range.hpp"
#include "serve/http/request_reader.hpp"
#include "serve/http/response_head.hpp"
#include "serve/http/router.hpp"
#include "serve/http/target.hpp"
#include "serve/http/token.hpp"

namespace {

using namespace plimsoll;
using namespace plimsoll::serve;

constexpr std::uint64_t kMostBody = 4096;
constexpr std::size_t kMostHead = 2048;

void must(bool holds) {
  if (!holds) std::abort();
}

struct Outcome {
  bool complete = false;
  Request request = {};
  std::size_t left = 0;
};

Outcome read(std::string_view text, std::size_t piece) {
  RequestReader reader({kMostHead / 2, kMostHead / 2});
  reader.set_most_body_bytes(kMostBody);
  std::string unread;
  while (true) {
    for (bool body = reader.head_is_read();; body = true) {
      const auto taken = reader.read(unread);
      if (!taken) return {};
      must(*taken <= unread.size());
      unread.erase(0, *taken);
      if (body || !reader.head_is_read()) break;
    }
    if (reader.is_complete() || text.empty()) break;
    unread += text.substr(0, piece);
    text.remove_prefix(std::min(piece, text.size()));
  }
  must(reader.body_bytes_held() <= kMostBody);
  const bool complete = reader.is_complete();
  return {complete, reader.take_request(), unread.size() + text.size()};
}

void read_requests(std::string_view text, std::size_t piece) {
  const Outcome whole = read(text, text.size());
  const Outcome parts = read(text, piece);
  // What is not complete may be refused as soon as its beginning is wrong, or wait for its end.
  must(whole.complete == parts.complete);
  if (!whole.complete) return;
  must(whole.left == parts.left && whole.request.body == parts.request.body);
  must(whole.request.path == parts.request.path && whole.request.headers == parts.request.headers);
  must(whole.request.path.starts_with('/') && is_utf8(whole.request.path));
  must(whole.request.path.find('\0') == std::string::npos);
}

void decode(const std::string& text) {
  if (const auto decoded = percent_decode(text)) {
    must(is_utf8(*decoded) && decoded->find('\0') == std::string::npos);
    must(percent_decode(percent_encode(*decoded)) == *decoded);
  }
  (void)parse_query(text);
  if (const auto target = parse_target(text)) must(target->path.starts_with('/'));
}

void route(const std::string& text) {
  static constexpr std::array<Route, 6> kRoutes = {{{"GET", "/a"},
                                                    {"GET", "/a/{b}"},
                                                    {"POST", "/a/{b}/c"},
                                                    {"GET", "/{x}/b/{rest...}"},
                                                    {"PUT", "/a/b/{path...}"},
                                                    {"HEAD", "/{x}"}}};
  static const Router router = *Router::make(kRoutes);
  for (const char* method : {"GET", "HEAD", "PUT"}) {
    const auto found = router.find(method, text);
    if (const auto* one = std::get_if<Router::Found>(&found)) must(one->route < kRoutes.size());
  }
  const Route own{"GET", text};
  (void)Router::make({&own, 1});
}

void look_at_headers(const std::string& text) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{10}, ~std::uint64_t{0}}) {
    const auto range = parse_range(text, bytes);
    if (const auto* part = std::get_if<ByteRange>(&range))
      must(part->first <= part->last && part->last < bytes);
  }
  if (authorized(text, "secret") && (text.starts_with("Bearer") || text.starts_with("bearer")))
    must(text.find("secret") != std::string::npos);
  must(!authorized(text, ""));
  if (is_own_host(text, "127.0.0.1")) must(text.size() >= 5);
  const Request head{.method = "POST", .headers = {{"origin", text}}, .host = "localhost"};
  if (!refuse_foreign_origin(head)) must(text.find("://") != std::string::npos);
}

void answer_with(const std::string& text) {
  Response response{.content_type = text, .headers = {{text, "value"}, {"Name", text}}};
  const std::string head = outgoing({}, response, "now").head;
  must(head.find("\r\n\r\n") == head.size() - 4);
  must(static_cast<std::size_t>(std::ranges::count(head, '\n')) <= 8);
  EventQueue queue;
  must(queue.send(text, text, text));
  const std::string event = queue.take().text;
  must(event.find('\r') == std::string::npos && event.find("\n\n") == event.size() - 2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libFuzzer hands bytes
  const std::string text(reinterpret_cast<const char*>(data), size);
  read_requests(text, 1 + data[size - 1] % 32);
  decode(text);
  route(text);
  look_at_headers(text);
  answer_with(text);
  return 0;
}
