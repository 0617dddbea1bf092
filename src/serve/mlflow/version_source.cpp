#include "serve/mlflow/version_source.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/percent.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "serve/mlflow/registry_names.hpp"
#include "serve/mlflow/validation.hpp"

namespace plimsoll::serve::mlflow {
namespace {

constexpr std::size_t kShownSource = 500;

/// A URI as Python takes it apart, without its query.
struct Parts {
  std::string scheme, host, path;
};

Parts parts_of(std::string_view uri) {
  Parts out;
  out.scheme = scheme_of(uri);
  std::string_view rest = uri.substr(out.scheme.empty() ? 0 : out.scheme.size() + 1);
  rest = rest.substr(0, rest.find_first_of("?#"));
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    out.host = lower_case(rest.substr(0, rest.find('/')));
    rest.remove_prefix(out.host.size());
  }
  out.path = rest;
  return out;
}

/// As often as there is an escape: "%252e" hides one.
std::string unescaped(std::string text) {
  for (int round = 0; round < 10 && text.find('%') != std::string::npos; ++round) {
    const Result<std::string> next = percent_decode(text);
    if (!next || *next == text) break;
    text = *next;
  }
  return text;
}

std::vector<std::string> segments(std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty()) {
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), segment.size() + 1));
    if (!segment.empty()) out.push_back(unescaped(std::string(segment)));
  }
  return out;
}

bool is_local(const Parts& parts) {
  if (parts.scheme.empty()) return true;
  return parts.scheme == "file" &&
         (parts.host.empty() || parts.host == "." || parts.host.starts_with("localhost") ||
          parts.host.starts_with("127.0.0.1"));
}

std::unexpected<Fault> not_of(std::string_view source, std::string_view which) {
  return invalid(
      "Invalid model version source: '{}'. The {} request parameter must identify the resource that contains "
      "the source.",
      printable(source, kShownSource), which);
}

std::unexpected<Fault> local_refused(std::string_view source, std::string_view which) {
  return invalid(
      "Invalid model version source: '{}'. To use a local path as a model version source, the {} request "
      "parameter has to be specified and the local path has to be contained within the artifact directory of "
      "the run specified by the {}.",
      printable(source, kShownSource), which, which);
}

Outcome<void> check_no_climbing(const std::string& source, const Parts& parts) {
  std::string_view path = parts.path;
  while (path.ends_with('/')) path.remove_suffix(1);
  std::string plain;
  for (const char c : unescaped(std::string(path)))
    if (c != '/' || !plain.ends_with('/')) plain += c;
  const std::string whole = unescaped(source);
  const bool climbs = whole.find('\0') != std::string::npos || whole.find("%00") != std::string::npos ||
                      plain.empty() || plain.front() != '/' || normalized(plain) != plain ||
                      std::ranges::any_of(segments(whole), [](const auto& part) { return part == ".."; });
  if (!climbs) return {};
  return invalid(
      "Invalid model version source: '{}'. If supplying a source as an http, https, local file path, ftp, "
      "objectstore, or mlflow-artifacts uri, an absolute path must be provided without relative path "
      "references present. Please provide an absolute path.",
      printable(source, kShownSource));
}

std::string local_path(const std::string& uri) {
  return std::filesystem::path(unescaped(parts_of(uri).path)).lexically_normal().string();
}

bool is_local_within(const std::string& source, const std::string& root) {
  if (!is_local(parts_of(root)) || source.find('\0') != std::string::npos) return false;
  const std::string inner = local_path(source), outer = local_path(root);
  return inner == outer || inner.starts_with(outer.ends_with('/') ? outer : outer + "/");
}

/// Where the artifacts of the run or logged model are; nothing where it is not there.
Outcome<std::optional<std::string>> root_of_run(Api& api, const std::string& id) {
  Outcome<store::Run> run = api.run(id);
  if (!run && run.error().code == Code::resource_does_not_exist) return std::nullopt;
  if (!run) return std::unexpected(std::move(run).error());
  PLIMSOLL_TAKE(location, api.artifact_location(run->experiment_id));
  return fmt::format("{}{}{}/artifacts", location, location.ends_with('/') ? "" : "/", run->id);
}

Outcome<std::optional<store::LoggedModel>> logged_model(Api& api, const std::string& id) {
  Result<store::LoggedModel> model = api.store().model(id);
  if (model && !model->deleted) return std::optional(std::move(*model));
  if (model || model.error().kind == Error::Kind::not_found) return std::nullopt;
  return std::unexpected(fault_of(model.error()));
}

/// A version of another model: what the copy has of it.
Outcome<VersionOrigin> copied(Api& api, const std::string& source, const std::optional<std::string>& run,
                              const std::optional<std::string>& model) {
  PLIMSOLL_TAKE(version, version_at(api, source));
  return VersionOrigin{fmt::format("models:/{}/{}", version.model, version.version), version.location,
                       run.value_or(version.run), model.value_or(version.logged_model)};
}

}  // namespace

std::string scheme_of(std::string_view uri) {
  const std::size_t end = uri.find(':');
  if (end == std::string_view::npos || end == 0) return {};
  const std::string scheme = lower_case(uri.substr(0, end));
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  const bool good = kLetters.find(scheme.front()) != std::string_view::npos &&
                    scheme.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+.-") == std::string::npos;
  return good ? scheme : std::string();
}

Fault no_registered_model(const Error& error, std::string_view name) {
  if (error.kind != Error::Kind::not_found) return fault_of(error);
  return {Code::resource_does_not_exist,
          fmt::format("Registered Model with name={} not found", printable(name, kShownSource))};
}

Fault no_model_version(const Error& error, std::string_view name, std::int64_t version) {
  if (error.kind != Error::Kind::not_found) return fault_of(error);
  return {Code::resource_does_not_exist, fmt::format("Model Version (name={}, version={}) not found",
                                                     printable(name, kShownSource), version)};
}

Outcome<store::ModelVersion> version_by_alias(Api& api, const std::string& name, const std::string& alias) {
  const Result<store::RegisteredModel> model = api.store().registry().model(name);
  if (!model) return std::unexpected(no_registered_model(model.error(), name));
  std::int64_t wanted = 0;
  if (lower_case(alias) == "latest") {
    for (const store::ModelVersion& version : model->latest) wanted = std::max(wanted, version.version);
    if (wanted == 0)
      return refuse(Code::resource_does_not_exist, "Latest version not found for model {}.", printable(name));
  } else {
    const auto found = model->aliases.find(alias);
    if (found == model->aliases.end())
      return invalid("Registered model alias {} not found.", printable(alias, kShownSource));
    wanted = found->second;
  }
  Result<store::ModelVersion> version = api.store().registry().version(name, wanted);
  if (!version) return std::unexpected(no_model_version(version.error(), name, wanted));
  return std::move(*version);
}

Outcome<store::ModelVersion> version_at(Api& api, const std::string& uri) {
  std::string_view rest = uri;
  rest.remove_prefix(std::min(rest.size(), std::string_view("models:").size()));
  while (rest.starts_with('/')) rest.remove_prefix(1);
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos) {
    const std::size_t at = rest.rfind('@');
    if (at == std::string_view::npos || at + 1 == rest.size()) return not_of(uri, "model_id");
    return version_by_alias(api, std::string(rest.substr(0, at)), std::string(rest.substr(at + 1)));
  }
  const std::string name(rest.substr(0, slash)), suffix(rest.substr(slash + 1));
  PLIMSOLL_TRY(check_registered_name(name));
  if (suffix.empty() || suffix.find('/') != std::string::npos) return not_of(uri, "model_id");
  if (lower_case(suffix) == "latest") return version_by_alias(api, name, suffix);
  if (suffix.find_first_not_of("0123456789") == std::string::npos) {
    PLIMSOLL_TAKE(number, version_of(suffix));
    Result<store::ModelVersion> version = api.store().registry().version(name, number);
    if (!version) return std::unexpected(no_model_version(version.error(), name, number));
    return std::move(*version);
  }
  PLIMSOLL_TAKE(stage, stage_of(suffix));
  const Result<store::RegisteredModel> model = api.store().registry().model(name);
  if (!model) return std::unexpected(no_registered_model(model.error(), name));
  for (const store::ModelVersion& version : model->latest)
    if (version.stage == stage) return version;
  return refuse(Code::resource_does_not_exist, "No versions of model with name '{}' and stage '{}' found",
                printable(name), printable(suffix));
}

Outcome<VersionOrigin> origin_of(Api& api, const std::string& source, const std::optional<std::string>& run,
                                 const std::optional<std::string>& model) {
  const Parts parts = parts_of(source);
  VersionOrigin out{source, source, run.value_or(""), model.value_or("")};
  const std::vector<std::string> path = segments(parts.path);
  const bool of_logged =
      parts.scheme == "models" && path.size() == 1 && path.front().find('@') == std::string::npos;
  if ((parts.scheme == "models" || parts.scheme == "runs") && !parts.host.empty())
    return not_of(source, parts.scheme == "runs" ? "run_id" : "model_id");
  if (parts.scheme == "models" && !of_logged) return copied(api, source, run, model);
  if (of_logged && out.logged_model.empty()) out.logged_model = path.front();
  if (of_logged && out.logged_model != path.front()) return not_of(source, "model_id");
  std::optional<store::LoggedModel> logged;
  if (!out.logged_model.empty()) {
    PLIMSOLL_TAKE(found, logged_model(api, out.logged_model));
    if (!found) return not_of(source, "model_id");
    logged = std::move(found);
    if (out.run.empty()) out.run = logged->source_run;
  }
  if (of_logged) out.location = logged->artifact_uri;
  if (!is_local(parts)) {
    PLIMSOLL_TRY(check_no_climbing(source, parts));
    return out;
  }
  std::optional<std::string> root;
  if (logged) {
    root = logged->artifact_uri;
  } else if (!out.run.empty()) {
    PLIMSOLL_TAKE(found, root_of_run(api, out.run));
    root = std::move(found);
  }
  if (!root || !is_local_within(source, *root)) return local_refused(source, logged ? "model_id" : "run_id");
  return out;
}

}  // namespace plimsoll::serve::mlflow
