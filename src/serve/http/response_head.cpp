#include "serve/http/response_head.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/text.hpp"
#include "serve/http/range.hpp"

namespace plimsoll::serve {
namespace {

std::string_view reason(int status) {
  static constexpr std::pair<int, std::string_view> kReasons[] = {
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {206, "Partial Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {308, "Permanent Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {411, "Length Required"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {416, "Range Not Satisfiable"},
      {417, "Expectation Failed"},
      {422, "Unprocessable Content"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
      {507, "Insufficient Storage"},
  };
  const auto* found = std::ranges::find(kReasons, status, &std::pair<int, std::string_view>::first);
  return found == std::end(kReasons) ? "Unknown" : found->second;
}

bool is_token(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

bool is_servers_own(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kOwn = {
      "content-type", "content-length", "transfer-encoding", "connection",
      "date",         "content-range",  "keep-alive"};
  return std::ranges::find(kOwn, lower_case(name)) != kOwn.end();
}

/// A line break in a value would begin a header, or an answer, of somebody else's making.
void append_value(std::string& head, std::string_view value) {
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    head += byte < 0x20 || byte == 0x7F ? ' ' : c;
  }
}

void append_header(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ");
  append_value(head, value);
  head.append("\r\n");
}

/// Takes a range where one is asked for and can be given.
void choose_range(const Asked& asked, Response& response, Outgoing& out) {
  out.file_bytes = response.file->bytes;
  if (response.status != 200) return;
  append_header(out.head, "Accept-Ranges", "bytes");
  if (asked.range.empty()) return;
  const std::string* tag = response.headers.find("ETag");
  if (!asked.if_range.empty() && (tag == nullptr || *tag != asked.if_range)) return;
  const auto range = parse_range(asked.range, response.file->bytes);
  if (const auto* part = std::get_if<ByteRange>(&range)) {
    out.status = 206;
    out.file_first = part->first;
    out.file_bytes = part->last - part->first + 1;
    append_header(out.head, "Content-Range",
                  fmt::format("bytes {}-{}/{}", part->first, part->last, response.file->bytes));
  } else if (std::holds_alternative<NotSatisfiable>(range)) {
    append_header(out.head, "Content-Range", fmt::format("bytes */{}", response.file->bytes));
    out.status = 416;
    response.file.reset();
    out.file_bytes = 0;
  }
}

}  // namespace

Outgoing outgoing(const Asked& asked, Response& response, std::string_view date) {
  Outgoing out;
  out.status = response.status < 200 || response.status > 599 ? 500 : response.status;
  out.keep_alive = asked.keep_alive && !response.events;
  out.head.reserve(256);
  if (response.file) choose_range(asked, response, out);
  const std::string rest = std::exchange(out.head, {});
  fmt::format_to(std::back_inserter(out.head), "HTTP/1.1 {} {}\r\nDate: {}\r\n", out.status,
                 reason(out.status), date);
  out.head.append(rest);
  const bool bodiless = out.status == 204 || out.status == 304;
  if (!bodiless && !response.content_type.empty())
    append_header(out.head, "Content-Type", response.events ? "text/event-stream" : response.content_type);
  if (response.events) out.head.append("Cache-Control: no-store\r\n");
  if (!bodiless && !response.events)
    fmt::format_to(std::back_inserter(out.head), "Content-Length: {}\r\n",
                   response.file ? out.file_bytes : response.body.size());
  for (const auto& [name, value] : response.headers)
    if (is_token(name) && !is_servers_own(name)) append_header(out.head, name, value);
  out.head.append("X-Content-Type-Options: nosniff\r\n");
  if (!out.keep_alive) out.head.append("Connection: close\r\n");
  if (out.keep_alive && asked.http_1_0) out.head.append("Connection: keep-alive\r\n");
  out.head.append("\r\n");
  if (asked.without_body || bodiless) {
    response.body.clear();
    response.file.reset();
    if (response.events) response.events->abandon();
    response.events.reset();
    out.file_bytes = 0;
  }
  return out;
}

std::string http_date(std::time_t time) {
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[parts.tm_wday], parts.tm_mday,
                     kMonths[parts.tm_mon], 1900 + parts.tm_year, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace plimsoll::serve
