#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <unistd.h>

#include "base/utf8.hpp"
#include "serve/artifact_tree.hpp"
#include "serve/dashboard/handlers.hpp"
#include "serve/mlflow/content_type.hpp"
#include "serve/mlflow/json_writer.hpp"
#include "serve/mlflow/message.hpp"

namespace plimsoll::serve::dashboard {
namespace {

using mlflow::Api;
using mlflow::Call;
using mlflow::Code;
using mlflow::Field;
using mlflow::invalid;
using mlflow::JsonWriter;
using mlflow::Outcome;
using mlflow::refuse;
using mlflow::Type;

constexpr std::int64_t kUsualPiece = std::int64_t{64} << 10, kLargestPiece = std::int64_t{1} << 20;
constexpr std::int64_t kMostSearched = std::int64_t{64} << 20;
constexpr std::size_t kMostMatches = 200, kLongestLine = 500, kLongestSearch = 200;
constexpr std::size_t kMostFiles = 1000;

/// Nothing of an artifact runs, is sent or goes elsewhere, whatever it holds.
constexpr std::string_view kSandbox =
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'self'";

Outcome<FileBody> file_of(Api& api, const std::string& run_id, std::string_view text) {
  PLIMSOLL_TAKE(run, api.run(run_id));
  const Result<ArtifactPath> path = ArtifactPath::parse(text);
  if (!path || path->empty()) return invalid("Invalid path");
  PLIMSOLL_TAKE(folder, api.store().artifacts(run.id));
  PLIMSOLL_TAKE(file, open_artifact(folder, *path));
  return std::move(file);
}

Outcome<std::string> read_at(const FileBody& file, std::int64_t from, std::int64_t bytes) {
  std::string out(static_cast<std::size_t>(bytes), '\0');
  std::size_t have = 0;
  while (have < out.size()) {
    const ssize_t count = ::pread(file.file.get(), out.data() + have, out.size() - have,
                                  static_cast<off_t>(from) + static_cast<off_t>(have));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return refuse(Code::internal_error, "the file cannot be read");
    if (count == 0) break;
    have += static_cast<std::size_t>(count);
  }
  out.resize(have);
  return out;
}

bool goes_on(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// How many bytes at the end are the beginning of a character whose rest is still to come.
std::size_t begun_character(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const char byte = text[text.size() - back];
    if (goes_on(byte)) continue;
    const auto lead = static_cast<unsigned char>(byte);
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

struct Match {
  std::int64_t line = 0, from = 0;
  std::string text;
};

/// Line by line, in pieces that are bounded; a line that is longer than a piece is searched in parts.
Outcome<Response> matches(const FileBody& file, std::string_view wanted, std::int64_t from,
                          const std::string& path) {
  const auto size = static_cast<std::int64_t>(file.bytes);
  const std::int64_t end = std::min(size, from + kMostSearched);
  std::vector<Match> found;
  std::int64_t line = 1, at = from;
  while (at < end && found.size() < kMostMatches) {
    PLIMSOLL_TAKE(piece, read_at(file, at, std::min(kLargestPiece, end - at)));
    if (piece.empty()) break;
    std::size_t whole = piece.rfind('\n');
    whole = whole == std::string::npos || at + static_cast<std::int64_t>(piece.size()) >= end ? piece.size()
                                                                                              : whole + 1;
    for (std::size_t begin = 0; begin < whole && found.size() < kMostMatches;) {
      const std::size_t stop = std::min(piece.find('\n', begin), whole);
      const std::string_view text = std::string_view(piece).substr(begin, stop - begin);
      if (text.find(wanted) != std::string_view::npos)
        found.push_back(
            {line, at + static_cast<std::int64_t>(begin), std::string(text.substr(0, kLongestLine))});
      line += stop < piece.size() ? 1 : 0;
      begin = stop + 1;
    }
    at += static_cast<std::int64_t>(whole);
  }
  JsonWriter out;
  out.begin_object().member("path", path).integer_member("size", size).key("matches").begin_array();
  for (const Match& match : found)
    out.begin_object()
        .integer_member("line", match.line)
        .integer_member("from", match.from)
        .member("text", match.text)
        .end_object();
  out.end_array().boolean_member("complete", at >= size && found.size() < kMostMatches).end_object();
  return mlflow::json_response(out.take());
}

bool holds_output(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kEndings = {".log", ".out", ".err", ".txt"};
  return std::ranges::any_of(kEndings, [&](std::string_view ending) { return name.ends_with(ending); });
}

/// As what it is shown; empty where it cannot be.
std::string_view shown_as(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kImages = {"image/png", "image/jpeg", "image/gif",
                                                              "image/webp", "image/svg+xml"};
  const std::string_view type = mlflow::content_type(name);
  if (const auto* image = std::ranges::find(kImages, type); image != kImages.end()) return *image;
  if (type == "text/html") return "text/html; charset=utf-8";
  if (type.starts_with("text/") || type == "application/json") return "text/plain; charset=utf-8";
  return {};
}

}  // namespace

Outcome<Response> logs(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"run_id", Type::text, true}};
  PLIMSOLL_TAKE(document, mlflow::Document::read(call.request, kFields));
  PLIMSOLL_TAKE(run, api.run(document.message().text("run_id")));
  PLIMSOLL_TAKE(files, api.store().files(run.id));
  JsonWriter out;
  out.begin_object().key("files").begin_array();
  std::size_t left = kMostFiles;
  for (const store::File& file : files)
    if (holds_output(file.path) && left-- > 0)
      out.begin_object().member("path", file.path).integer_member("bytes", file.bytes).end_object();
  out.end_array().end_object();
  return mlflow::json_response(out.take());
}

Outcome<Response> log_piece(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"run_id", Type::text, true},
                                      {"path", Type::text, true},
                                      {"from", Type::integer},
                                      {"bytes", Type::integer},
                                      {"search"}};
  PLIMSOLL_TAKE(document, mlflow::Document::read(call.request, kFields));
  const mlflow::Message message = document.message();
  const std::string path = message.text("path"), wanted = message.text("search");
  if (wanted.size() > kLongestSearch || wanted.find('\n') != std::string::npos)
    return invalid("What is searched for has {} characters at most, on one line.", kLongestSearch);
  PLIMSOLL_TAKE(file, file_of(api, message.text("run_id"), path));
  const auto size = static_cast<std::int64_t>(file.bytes);
  const std::int64_t asked = message.integer("from").value_or(0);
  // So far before the end; what is negative beyond the beginning is the beginning.
  std::int64_t from = asked < 0 ? (asked < -size ? 0 : size + asked) : std::min(asked, size);
  if (!wanted.empty()) return matches(file, wanted, from, path);
  const std::int64_t bytes = message.integer("bytes").value_or(kUsualPiece);
  if (bytes < 1 || bytes > kLargestPiece) return invalid("bytes must be between 1 and {}.", kLargestPiece);
  PLIMSOLL_TAKE(piece, read_at(file, from, std::min(bytes, size - from)));
  if (asked < 0 && from > 0) {  // not in the middle of a character
    std::size_t skipped = 0;
    while (skipped < std::min<std::size_t>(3, piece.size()) && goes_on(piece[skipped])) ++skipped;
    piece.erase(0, skipped);
    from += static_cast<std::int64_t>(skipped);
  }
  if (const std::size_t begun = begun_character(piece); begun < piece.size())
    piece.resize(piece.size() - begun);
  JsonWriter out;
  out.begin_object().member("path", path).integer_member("size", size).integer_member("from", from);
  out.integer_member("to", from + static_cast<std::int64_t>(piece.size())).member("text", piece).end_object();
  return mlflow::json_response(out.take());
}

Outcome<Response> preview(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"run_id", Type::text, true}, {"path", Type::text, true}};
  PLIMSOLL_TAKE(document, mlflow::Document::read(call.request, kFields));
  const std::string path = document.message().text("path");
  const std::string_view type = shown_as(path);
  if (type.empty()) return invalid("This kind of file is not shown here: save it by /get-artifact.");
  PLIMSOLL_TAKE(file, file_of(api, document.message().text("run_id"), path));
  Response response;
  response.content_type = std::string(type);
  response.headers.add("Content-Security-Policy", std::string(kSandbox));
  response.headers.add("Content-Disposition", "inline");
  response.headers.add("Cross-Origin-Resource-Policy", "same-origin");
  response.headers.add("Referrer-Policy", "no-referrer");
  response.headers.add("Cache-Control", "no-store");
  response.file = std::move(file);
  return response;
}

}  // namespace plimsoll::serve::dashboard
