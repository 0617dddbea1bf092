#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "store/location.hpp"
#include "store/run_rows.hpp"
#include "store/transfer.hpp"

namespace plimsoll::store {
namespace {

std::vector<std::string_view> path_parts(std::string_view path) {
  std::vector<std::string_view> out;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    if (!part.empty()) out.push_back(part);
  }
  return out;
}

std::string with_rest(std::string out, const std::vector<std::string_view>& parts, std::size_t from) {
  for (std::size_t i = from; i < parts.size(); ++i) out.append("/").append(parts[i]);
  return out;
}

/// Where files that came over with a run or a logged model are now. An address of files that stayed where
/// they were, as in s3://…, is kept.
std::string place_here(Store& to, const std::string& location) {
  constexpr std::string_view kServed = "mlflow-artifacts:", kFile = "file:";
  const bool moves =
      location.starts_with(kServed) || location.starts_with(kFile) || location.starts_with('/');
  const std::vector<std::string_view> parts = path_parts(location);
  if (!moves || std::ranges::find(parts, std::string_view("..")) != parts.end()) return location;
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    if (parts[i + 1] != "artifacts") continue;
    if (is_run_id(parts[i]))
      if (const Result<Run> run = to.find(parts[i]); run)
        return with_rest(fmt::format("{}/{}/{}/artifacts", kServed, run->experiment_id, run->id), parts,
                         i + 2);
    if (parts[i].starts_with("m-") && parts[i - 1] == "models")
      if (const Result<LoggedModel> model = to.model(parts[i]); model)
        return with_rest(model->artifact_uri, parts, i + 2);
  }
  return location;
}

/// As far as people can see, but for what changes after it was made.
bool same_version(const ModelVersion& there, const ModelVersion& arriving) {
  return there.created == arriving.created && there.source == arriving.source && there.run == arriving.run;
}

NewModelVersion made_of(Store& to, const ModelVersion& version) {
  return {.model = version.model,
          .source = version.source,
          .location = place_here(to, version.location.empty() ? version.source : version.location),
          .description = version.description,
          .run = version.run,
          .run_link = version.run_link,
          .logged_model = version.logged_model,
          .tags = version.tags,
          .version = version.version,
          .created = version.created,
          .changed = version.changed,
          .user = version.user,
          .stage = version.stage,
          .status = version.status,
          .status_message = version.status_message};
}

Status receive_version(Store& to, const ModelVersion& version, Transferred& counts) {
  const Result<ModelVersion> there = to.registry().version(version.model, version.version);
  if (!there && there.error().kind != Error::Kind::not_found) return std::unexpected(there.error());
  if (there) {
    if (!same_version(*there, version)) ++counts.versions_different;
    return {};
  }
  const Result<ModelVersion> made = to.registry().create_version(made_of(to, version));
  if (!made) return std::unexpected(made.error());
  ++counts.versions;
  return {};
}

/// What is not there yet; an alias that names another version by now is left.
RegisteredModelChange missing_in(const RegisteredModel& there, const RegisteredModel& arriving) {
  RegisteredModelChange out{.last_version = arriving.last_version};
  for (const auto& [alias, version] : arriving.aliases)
    if (!there.aliases.contains(alias)) out.aliases.emplace(alias, version);
  return out;
}

}  // namespace

Status receive_registered(Store& to, const RegisteredModel& model, std::span<const ModelVersion> versions,
                          Transferred& counts) {
  const Result<RegisteredModel> there = to.registry().model(model.name);
  if (!there && there.error().kind != Error::Kind::not_found) return std::unexpected(there.error());
  if (there && there->created != model.created) {  // another of the same name
    counts.versions_different += std::max<std::size_t>(versions.size(), 1);
    return {};
  }
  if (!there) {
    const Result<RegisteredModel> made = to.registry().create(
        {.name = model.name, .description = model.description, .tags = model.tags, .created = model.created});
    if (!made) return std::unexpected(made.error());
    ++counts.registered;
  }
  const std::size_t before = counts.versions;
  for (const ModelVersion& version : versions) PLIMSOLL_TRY(receive_version(to, version, counts));
  const Result<RegisteredModel> whole = to.registry().model(model.name);
  if (!whole) return std::unexpected(whole.error());
  RegisteredModelChange change = missing_in(*whole, model);
  if (there && counts.versions == before && change.aliases.empty()) return {};
  change.changed = model.changed;
  const Result<RegisteredModel> changed = to.registry().change(model.name, change);
  if (!changed) return std::unexpected(changed.error());
  return {};
}

}  // namespace plimsoll::store
