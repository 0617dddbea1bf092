#include "serve/mlflow/pages.hpp"

#include <array>
#include <system_error>
#include <utility>

#include "base/printable.hpp"
#include "serve/artifact_tree.hpp"

namespace plimsoll::serve::mlflow {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFiles = "static-files";

/// Scripts are the pages' own files alone: an HTML artifact that they show, which has this policy too, runs
/// none. Its charts make functions of texts, hence 'unsafe-eval'.
constexpr std::string_view kPolicy =
    "default-src 'self'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; media-src 'self' data: blob:; worker-src 'self' "
    "blob:; "
    "frame-src 'self' blob: data:; connect-src 'self'; object-src 'none'; base-uri 'self'; form-action "
    "'self'; "
    "frame-ancestors 'self'";

std::string_view type_of(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kTypes = {{
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".mjs", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".json", "application/json"},
      {".map", "application/json"},
      {".svg", "image/svg+xml"},
      {".png", "image/png"},
      {".jpg", "image/jpeg"},
      {".gif", "image/gif"},
      {".ico", "image/x-icon"},
      {".woff", "font/woff"},
      {".woff2", "font/woff2"},
      {".wasm", "application/wasm"},
  }};
  for (const auto& [ending, type] : kTypes)
    if (name.ends_with(ending)) return type;
  return "application/octet-stream";
}

}  // namespace

Result<Pages> Pages::in(const fs::path& folder) {
  const fs::path built = fs::path("server") / "js" / "build";
  for (const fs::path& place : {folder, folder / built, folder / "mlflow" / built}) {
    std::error_code problem;
    if (fs::is_regular_file(place / "index.html", problem) && fs::is_directory(place / "static", problem))
      return Pages(place);
  }
  return std::unexpected(
      Error{"MLflow's pages are not in this folder", printable(folder.string()),
            "Give that of an installed MLflow 3: python -c 'import mlflow; print(mlflow.__path__[0])'"});
}

Response Pages::file(std::string_view path) const {
  const auto absent = [] { return error_response(404, "MLflow's pages have no such file."); };
  const Result<ArtifactPath> parsed = ArtifactPath::parse(path);
  if (!parsed || parsed->empty()) return absent();
  Result<FileBody> found = open_artifact(root_, *parsed);
  if (!found) return absent();
  Response response{.content_type = std::string(type_of(path))};
  response.file = std::move(*found);
  response.headers.add("Content-Security-Policy", std::string(kPolicy));
  response.headers.add("Referrer-Policy", "no-referrer");
  // Names of what is in static/ have a hash of its contents in them.
  response.headers.add("Cache-Control", path.starts_with("static/") ? "private, max-age=604800" : "no-cache");
  return response;
}

std::string_view below_pages(std::string_view path) {
  if (!path.starts_with(kPages) || path.size() <= kPages.size() + 1 || path[kPages.size()] != '/')
    return path;
  const std::string_view rest = path.substr(kPages.size());
  return rest.substr(1).starts_with(kFiles) ? path : rest;
}

}  // namespace plimsoll::serve::mlflow
