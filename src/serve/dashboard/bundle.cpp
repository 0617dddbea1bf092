#include "serve/dashboard/bundle.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

#include "base/embedded.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace plimsoll {
[[nodiscard]] std::span<const EmbeddedFile> embedded_web();  // cmake/embed.cmake
}

namespace plimsoll::serve::dashboard {
namespace {

constexpr std::size_t kLargestFile = std::size_t{8} << 20;
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kTypes = {{
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".json", "application/json"},
    {".webmanifest", "application/manifest+json"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
}};

/// Nothing where the page has no files of that kind.
std::optional<std::string_view> type_of(std::string_view name) {
  for (const auto& [ending, type] : kTypes)
    if (name.ends_with(ending)) return type;
  return std::nullopt;
}

std::string gzip(std::string_view text) {
  constexpr int kGzipWindow = 15 + 16, kMemory = 8;
  z_stream stream{};
  if (::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    return {};
  std::string out(::deflateBound(&stream, text.size()), '\0');
  // zlib takes what it only reads as if it wrote it.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // NOLINT
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());  // NOLINT
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = ::deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(done ? stream.total_out : 0);
  ::deflateEnd(&stream);
  return out.size() < text.size() ? out : std::string();
}

/// Tells versions of a file apart. Weak: the same for the compressed file.
std::string tag_of(std::string_view contents) {
  const auto sum = ::crc32_z(0, reinterpret_cast<const Bytef*>(contents.data()), contents.size());  // NOLINT
  return fmt::format("W/\"{:x}-{:x}\"", contents.size(), sum);
}

bool takes_gzip(const Request& request) {
  const std::string_view accepted = request.header("accept-encoding");
  const std::size_t at = accepted.find("gzip");
  return at != std::string_view::npos && !accepted.substr(at).starts_with("gzip;q=0");
}

Response not_there() {
  return error_response(404, "ENDPOINT_NOT_FOUND", "The page has no such file.");
}

Response response_with(std::string_view name, std::string_view tag, const Request& request) {
  Response response;
  response.content_type = std::string(type_of(name).value_or("application/octet-stream"));
  response.headers.add("ETag", std::string(tag));
  response.headers.add("Cache-Control", "no-cache");  // asked for again each time, and answered 304
  response.headers.add("Vary", "Accept-Encoding");
  guard_page(response);
  if (request.header("if-none-match").find(tag) != std::string_view::npos) response.status = 304;
  return response;
}

}  // namespace

bool is_page_file(std::string_view name) {
  constexpr std::size_t kLongestName = 100;
  return !name.empty() && name.size() <= kLongestName && !name.starts_with('.') &&
         std::ranges::all_of(name,
                             [](char c) {
                               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                      (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
                             }) &&
         type_of(name).has_value();
}

void guard_page(Response& response) {
  response.headers.add("Content-Security-Policy", std::string(kPolicy));
  response.headers.add("X-Frame-Options", "DENY");  // for browsers that know no frame-ancestors
  response.headers.add("Referrer-Policy", "no-referrer");
  response.headers.add("Cross-Origin-Opener-Policy", "same-origin");
  response.headers.add("Cross-Origin-Resource-Policy", "same-origin");
  response.headers.add("Permissions-Policy", "camera=(), microphone=(), geolocation=()");
}

Bundle::Bundle(std::optional<std::filesystem::path> folder) : folder_(std::move(folder)) {
  for (const EmbeddedFile& file : embedded_web())
    files_.emplace(file.name, File{file.contents, gzip(file.contents), tag_of(file.contents)});
}

Response Bundle::answer(std::string_view name, const Request& request) const {
  if (!is_page_file(name)) return not_there();
  if (folder_) return answer_from_folder(name, request);
  const auto found = files_.find(name);
  if (found == files_.end()) return not_there();
  const File& file = found->second;
  Response response = response_with(name, file.tag, request);
  if (response.status == 304) return response;
  const bool compressed = !file.compressed.empty() && takes_gzip(request);
  if (compressed) response.headers.add("Content-Encoding", "gzip");
  response.body = compressed ? file.compressed : std::string(file.contents);
  return response;
}

Response Bundle::answer_from_folder(std::string_view name, const Request& request) const {
  Result<std::string> contents = read_file(*folder_ / name, kLargestFile);
  if (!contents) return not_there();
  Response response = response_with(name, tag_of(*contents), request);
  if (response.status != 304) response.body = *std::move(contents);
  return response;
}

}  // namespace plimsoll::serve::dashboard
