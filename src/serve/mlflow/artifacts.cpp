#include <charconv>
#include <utility>

#include "base/percent.hpp"
#include "base/printable.hpp"
#include "serve/artifact_tree.hpp"
#include "serve/mlflow/content_type.hpp"
#include "serve/mlflow/disposition.hpp"
#include "serve/mlflow/handlers.hpp"
#include "serve/mlflow/json_writer.hpp"
#include "serve/mlflow/message.hpp"
#include "serve/mlflow/registry_names.hpp"
#include "serve/mlflow/routes.hpp"
#include "serve/mlflow/version_source.hpp"

namespace plimsoll::serve::mlflow {
namespace {

namespace fs = std::filesystem;

/// A folder of the store, and a path in it.
struct Place {
  fs::path root;
  ArtifactPath path;
};

/// A path as MLflow's clients send it: already decoded once, and escaped again by some of them.
Outcome<ArtifactPath> safe_path(std::string_view text) {
  std::string decoded(text);
  // An escape that hides another one, "%252e", is decoded until nothing changes, as MLflow does.
  for (int round = 0; round < 10 && decoded.find('%') != std::string::npos; ++round) {
    const Result<std::string> next = percent_decode(decoded);
    if (!next || *next == decoded) break;
    decoded = *next;
  }
  Result<ArtifactPath> checked = ArtifactPath::parse(decoded);
  if (!checked) return invalid("Invalid path");
  Result<ArtifactPath> path = ArtifactPath::parse(text);
  if (!path) return invalid("Invalid path");
  return std::move(*path);
}

Outcome<fs::path> folder_of_run(Api& api, const std::string& run) {
  PLIMSOLL_DO(api.run(run));
  PLIMSOLL_TAKE(folder, api.store().artifacts(run));
  return std::move(folder);
}

/// A path below "mlflow-artifacts:/": EXPERIMENT/RUN/artifacts/… or EXPERIMENT/models/MODEL/artifacts/….
struct ProxiedPath {
  bool of_model = false;
  std::string experiment;
  std::string owner;  ///< the run or the model
  ArtifactPath path;
};

Outcome<ProxiedPath> proxied_path(std::string_view text) {
  PLIMSOLL_TAKE(whole, safe_path(text));
  const std::vector<std::string>& parts = whole.parts();
  const bool of_model = parts.size() >= 4 && parts[1] == "models" && parts[3] == "artifacts";
  const bool of_run = !of_model && parts.size() >= 3 && parts[2] == "artifacts";
  if (!of_model && !of_run)
    return refuse(Code::resource_does_not_exist,
                  "Only artifacts of runs and of logged models are kept here, not '{}'", whole.text());
  std::string rest;
  for (std::size_t i = of_model ? 4 : 3; i < parts.size(); ++i) rest += (rest.empty() ? "" : "/") + parts[i];
  PLIMSOLL_TAKE(path, safe_path(rest));
  return ProxiedPath{of_model, parts[0], parts[of_model ? 2 : 1], std::move(path)};
}

/// Whether the path's first part is the experiment of what it leads to: its number, or the name that the
/// experiment's own location ("mlflow-artifacts:/NAME") gives it.
Outcome<void> check_experiment(Api& api, const ProxiedPath& wanted, std::int64_t experiment) {
  if (wanted.experiment == fmt::format("{}", experiment)) return {};
  PLIMSOLL_TAKE(location, api.artifact_location(experiment));
  constexpr std::string_view kScheme = "mlflow-artifacts:";
  std::string_view place = location;
  while (place.ends_with('/')) place.remove_suffix(1);
  if (place.starts_with(kScheme) && place.substr(place.rfind('/') + 1) == wanted.experiment) return {};
  return refuse(Code::resource_does_not_exist, "{} '{}' is not of experiment '{}'",
                wanted.of_model ? "Logged model" : "Run", printable(wanted.owner),
                printable(wanted.experiment));
}

/// The store's folder of such a path.
Outcome<Place> proxied(Api& api, std::string_view text) {
  PLIMSOLL_TAKE(wanted, proxied_path(text));
  if (wanted.of_model) {
    PLIMSOLL_TAKE(model, api.store().model(wanted.owner));
    PLIMSOLL_TRY(check_experiment(api, wanted, model.experiment_id));
    PLIMSOLL_TAKE(folder, api.store().model_artifacts(model.id));
    return Place{std::move(folder), std::move(wanted.path)};
  }
  PLIMSOLL_TAKE(run, api.run(wanted.owner));
  PLIMSOLL_TRY(check_experiment(api, wanted, run.experiment_id));
  PLIMSOLL_TAKE(folder, api.store().artifacts(run.id));
  return Place{std::move(folder), std::move(wanted.path)};
}

/// As an attachment: a page among the artifacts must not run as if it were this server's.
Outcome<Response> send(const Place& place) {
  PLIMSOLL_TAKE(file, open_artifact(place.root, place.path));
  const std::string& name = place.path.parts().back();
  Response response;
  response.content_type = std::string(content_type(name));
  response.headers.add("Content-Disposition", attachment(name));
  response.headers.add("Content-Security-Policy",
                       "sandbox; default-src 'none'");  // should it be shown after all
  response.file = std::move(file);
  return response;
}

/// `before`: what the names of the entries are shown with.
Outcome<Response> listing(const Place& place, const std::string& before, std::string_view root_uri) {
  PLIMSOLL_TAKE(entries, list_artifacts(place.root, place.path));
  JsonWriter out;
  out.begin_object();
  if (!root_uri.empty()) out.member("root_uri", root_uri);
  out.key("files").begin_array();
  for (const ArtifactEntry& entry : entries) {
    out.begin_object().member("path", before.empty() ? entry.name : before + "/" + entry.name);
    out.boolean_member("is_dir", entry.folder);
    if (!entry.folder) out.integer_member("file_size", entry.bytes);
    out.end_object();
  }
  out.end_array().end_object();
  return json_response(out.take());
}

Outcome<Place> place_in_run(Api& api, const std::string& run, const ArtifactPath& path) {
  PLIMSOLL_TAKE(folder, folder_of_run(api, run));
  return Place{std::move(folder), path};
}

Outcome<Response> receive(const Place& place, Request& request) {
  if (!request.body_file) return refuse(Code::internal_error, "the body of an upload did not come as a file");
  PLIMSOLL_DO(put_artifact(place.root, place.path, *request.body_file));
  return empty_response();
}

std::string query_text(const Request& request, std::string_view name) {
  const std::string* value = request.query.find(name);
  return value == nullptr ? std::string() : *value;
}

}  // namespace

Outcome<Response> list_run_artifacts(Api& api, Call& call) {
  static constexpr Field kFields[] = {{"run_id", Type::text, true}, {"path"}, {"page_token"}};
  PLIMSOLL_TAKE(document, Document::read(call.request, kFields));
  PLIMSOLL_TAKE(path, safe_path(document.message().text("path")));
  PLIMSOLL_TAKE(run, api.run(document.message().text("run_id")));
  PLIMSOLL_TAKE(location, api.artifact_location(run.experiment_id));
  PLIMSOLL_TAKE(place, place_in_run(api, run.id, path));
  return listing(place, path.text(), fmt::format("{}/{}/artifacts", location, run.id));
}

Outcome<Response> get_run_artifact(Api& api, Call& call) {
  std::string run = query_text(call.request, "run_id");
  if (run.empty()) run = query_text(call.request, "run_uuid");
  PLIMSOLL_TAKE(path, safe_path(query_text(call.request, "path")));
  PLIMSOLL_TAKE(place, place_in_run(api, run, path));
  return send(place);
}

Outcome<void> check_upload(const Request& head, const Pairs& /*parameters*/) {
  if (query_text(head, "run_uuid").empty()) return invalid("Request must specify run_uuid.");
  const std::string path = query_text(head, "path");
  if (path.empty()) return invalid("Request must specify path.");
  PLIMSOLL_DO(safe_path(path));
  // One in chunks does not say how long it is, and is cut off by the route's limit.
  const std::string_view length = head.header("content-length");
  std::uint64_t bytes = 0;
  std::from_chars(length.data(), length.data() + length.size(), bytes);
  if (bytes > most_bytes(Body::small_upload)) return invalid("Artifact size is too large. Max size is 10MB.");
  return {};
}

Outcome<Response> upload_run_artifact(Api& api, Call& call) {
  PLIMSOLL_TRY(check_upload(call.request, call.parameters));
  PLIMSOLL_TAKE(path, safe_path(query_text(call.request, "path")));
  std::error_code problem;
  const std::uintmax_t bytes =
      call.request.body_file ? fs::file_size(call.request.body_file->path(), problem) : 0;
  if (bytes == 0 || problem) return invalid("Request must specify data.");
  PLIMSOLL_TAKE(place, place_in_run(api, query_text(call.request, "run_uuid"), path));
  return receive(place, call.request);
}

Outcome<Response> list_model_artifacts(Api& api, Call& call) {
  PLIMSOLL_TAKE(path, safe_path(query_text(call.request, "artifact_directory_path")));
  PLIMSOLL_TAKE(model, api.store().model(call.parameter("id")));
  PLIMSOLL_TAKE(folder, api.store().model_artifacts(model.id));
  return listing({folder, path}, path.text(), model.artifact_uri);
}

Outcome<Response> get_model_artifact(Api& api, Call& call) {
  PLIMSOLL_TAKE(path, safe_path(query_text(call.request, "artifact_file_path")));
  PLIMSOLL_TAKE(folder, api.store().model_artifacts(call.parameter("id")));
  return send({folder, path});
}

Outcome<Response> get_model_version_artifact(Api& api, Call& call) {
  constexpr std::string_view kScheme = "mlflow-artifacts:/", kRuns = "runs:/";
  PLIMSOLL_TAKE(path, safe_path(query_text(call.request, "path")));
  const std::string name = query_text(call.request, "name");
  PLIMSOLL_TRY(check_registered_name(name));
  PLIMSOLL_TAKE(number, version_of(query_text(call.request, "version")));
  const Result<store::ModelVersion> version = api.store().registry().version(name, number);
  if (!version) return std::unexpected(no_model_version(version.error(), name, number));
  std::string_view location = version->location;
  const bool of_run = location.starts_with(kRuns);
  if (!of_run && (!location.starts_with(kScheme) || location.substr(kScheme.size()).starts_with('/')))
    return refuse(Code::not_implemented, "The files of this version are not on this server but at '{}'.",
                  printable(location));
  location.remove_prefix(of_run ? kRuns.size() : kScheme.size());
  const std::string whole = fmt::format("{}/{}", location, path.text());
  if (!of_run) {
    PLIMSOLL_TAKE(place, proxied(api, whole));
    return send(place);
  }
  const std::size_t slash = whole.find('/');
  PLIMSOLL_TAKE(rest, safe_path(whole.substr(slash + 1)));
  PLIMSOLL_TAKE(place, place_in_run(api, whole.substr(0, slash), rest));
  return send(place);
}

Outcome<Response> list_proxied(Api& api, Call& call) {
  PLIMSOLL_TAKE(place, proxied(api, query_text(call.request, "path")));
  return listing(place, {}, {});
}

Outcome<Response> get_proxied(Api& api, Call& call) {
  PLIMSOLL_TAKE(place, proxied(api, call.parameter("path")));
  return send(place);
}

Outcome<void> check_proxied(const Request& /*head*/, const Pairs& parameters) {
  const std::string* path = parameters.find("path");
  PLIMSOLL_TAKE(wanted, proxied_path(path == nullptr ? std::string_view() : *path));
  if (wanted.path.empty()) return invalid("Invalid path");
  return {};
}

Outcome<Response> put_proxied(Api& api, Call& call) {
  PLIMSOLL_TAKE(place, proxied(api, call.parameter("path")));
  return receive(place, call.request);
}

Outcome<Response> delete_proxied(Api& api, Call& call) {
  PLIMSOLL_TAKE(place, proxied(api, call.parameter("path")));
  PLIMSOLL_DO(remove_artifact(place.root, place.path));
  return empty_response();
}

Outcome<Response> refuse_parts(Api& /*api*/, Call& /*call*/) {
  return refuse(Code::not_implemented,
                "Multipart upload is not supported for the current artifact repository");
}

}  // namespace plimsoll::serve::mlflow
