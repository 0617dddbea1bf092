#include "forward/remote_files.hpp"

#include <nlohmann/json.hpp>

#include "base/percent.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

namespace plimsoll::forward {
namespace {

constexpr std::string_view kProxy = "/api/2.0/mlflow-artifacts/artifacts";
constexpr std::int64_t kMostSmall = std::int64_t{10} << 20;  ///< that MLflow's upload-artifact takes

std::string joined(const std::string& folder, const std::string& path) {
  return folder.empty() || path.empty() ? folder + path : folder + "/" + path;
}

/// Each part by itself, so that slashes stay.
std::string encoded(std::string_view path) {
  std::string out;
  for (;;) {
    const std::size_t slash = path.find('/');
    out += percent_encode(path.substr(0, slash));
    if (slash == std::string_view::npos) return out;
    out += '/';
    path.remove_prefix(slash + 1);
  }
}

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

RemotePlace place_of(const std::string& uri, const std::string& run) {
  constexpr std::string_view kScheme = "mlflow-artifacts:/";
  RemotePlace out{.run = run, .uri = uri};
  // mlflow-artifacts://HOST/… is on a server that may be another.
  if (uri.starts_with(kScheme) && !uri.substr(kScheme.size()).starts_with('/'))
    out.proxied = uri.substr(kScheme.size());
  while (out.proxied.ends_with('/')) out.proxied.pop_back();
  return out;
}

Result<std::map<std::string, std::int64_t>> RemoteFiles::sizes(const RemotePlace& place,
                                                               const std::string& folder) {
  std::map<std::string, std::int64_t> out;
  const bool proxied = !place.proxied.empty();
  if (!proxied && place.run.empty()) return out;
  std::string token;
  do {
    const std::string path =
        proxied ? fmt::format("{}?path={}", kProxy, percent_encode(joined(place.proxied, folder)))
                : path_of(fmt::format("artifacts/list?run_id={}&path={}{}", percent_encode(place.run),
                                      percent_encode(folder),
                                      token.empty() ? "" : "&page_token=" + percent_encode(token)));
    const Result<Answer> answer = server_->exchange({.path = path});
    if (!answer) return std::unexpected(answer.error());
    if (answer->status == 404) return out;  // nothing is in it yet
    if (answer->status != 200) {
      Error error = server_->error_of(*answer, "the list of artifacts");
      if (error.may_pass() || answer->status == 401 || answer->status == 403)
        return std::unexpected(std::move(error));
      return out;  // all goes once more
    }
    const Json list = Json::parse(answer->body, nullptr, false);
    for (const Json& file : list_of(list, "files"))
      if (const Json& is_folder = part_of(file, "is_dir"); !is_folder.is_boolean() || !is_folder.get<bool>())
        out.insert_or_assign(last_part(text_of(file, "path")), integer_of(file, "file_size"));
    token = proxied ? std::string() : text_of(list, "next_page_token");
  } while (!token.empty());
  return out;
}

Result<std::optional<std::string>> RemoteFiles::put(const RemotePlace& place, const std::string& path,
                                                    const std::filesystem::path& file, std::int64_t bytes) {
  using Refusal = std::optional<std::string>;
  Request request{.path = fmt::format("{}/{}", kProxy, encoded(joined(place.proxied, path))),
                  .method = "PUT",
                  .file = file};
  if (place.proxied.empty()) {
    if (place.run.empty() || bytes > kMostSmall)
      return Refusal(fmt::format("its place there is {}, which the server takes no {} for: copy it yourself",
                                 printable(place.uri),
                                 place.run.empty() ? "files" : "files of more than 10 MiB"));
    if (bytes == 0) return Refusal("it is empty, which the server takes for nothing");
    request.method = "POST";
    request.path = fmt::format("/ajax-api/2.0/mlflow/upload-artifact?run_uuid={}&path={}",
                               percent_encode(place.run), percent_encode(path));
  }
  const Result<Answer> answer = server_->exchange(request);
  if (!answer) return std::unexpected(answer.error());
  if (answer->status == 200) return Refusal();
  Error error = server_->error_of(*answer, "the upload");
  constexpr int kNotImplemented = 501;  // of a server, or one before it, that takes no files at all
  const bool ends_it =
      error.may_pass() || answer->status == 401 || answer->status == 403 || answer->status / 100 == 3;
  if (ends_it && answer->status != kNotImplemented) return std::unexpected(std::move(error));
  return Refusal(error.message);
}

}  // namespace plimsoll::forward
