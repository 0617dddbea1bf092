#include "forward/remote_registry.hpp"

#include <nlohmann/json.hpp>

#include "base/percent.hpp"
#include "forward/mlflow_text.hpp"

namespace plimsoll::forward {
namespace {

std::string of_version(const std::string& name, std::int64_t version) {
  return fmt::format(R"({{"name":{},"version":"{}")", json_text(name), version);
}

/// MLflow has no way to quote a quotation mark: a pattern takes any letter there, and more names may fit.
std::string filter_of(const std::string& name) {
  constexpr std::string_view kOdd = "'\"`\\";
  if (name.find_first_of(kOdd) == std::string::npos) return fmt::format("name = '{}'", name);
  std::string pattern = name;
  for (char& c : pattern)
    if (kOdd.find(c) != std::string_view::npos) c = '_';
  return fmt::format("name LIKE '{}'", pattern);
}

std::string field(const char* name, const std::string& value) {
  return value.empty() ? std::string() : fmt::format(R"(,"{}":{})", name, json_text(value));
}

}  // namespace

Result<std::optional<RemoteRegistered>> RemoteRegistry::model(const std::string& name) {
  const Result<Json> answer = server_->ask("registered-models/get?name=" + percent_encode(name));
  if (!answer && answer.error().kind == Error::Kind::not_found) return std::optional<RemoteRegistered>();
  if (!answer) return std::unexpected(answer.error());
  const Json& model = part_of(*answer, "registered_model");
  if (text_of(model, "name").empty()) return std::unexpected(server_->not_mlflow());
  RemoteRegistered out{.description = text_of(model, "description"),
                       .tags = pairs_of(part_of(model, "tags"))};
  for (const Json& alias : list_of(model, "aliases"))
    out.aliases.insert_or_assign(text_of(alias, "alias"), integer_of(alias, "version"));
  return out;
}

Status RemoteRegistry::create(const std::string& name, const std::string& description,
                              const std::map<std::string, std::string>& tags) {
  return server_->tell("registered-models/create",
                       fmt::format(R"({{"name":{}{},"tags":{}}})", json_text(name),
                                   field("description", description), pairs_json(tags)));
}

Status RemoteRegistry::describe(const std::string& name, const std::string& description) {
  return server_->tell(
      "registered-models/update",
      fmt::format(R"({{"name":{},"description":{}}})", json_text(name), json_text(description)), "PATCH");
}

Status RemoteRegistry::set_tag(const std::string& name, const std::string& key, const std::string& value) {
  return server_->tell(
      "registered-models/set-tag",
      fmt::format(R"({{"name":{},"key":{},"value":{}}})", json_text(name), json_text(key), json_text(value)));
}

Status RemoteRegistry::set_alias(const std::string& name, const std::string& alias, std::int64_t version) {
  return server_->tell("registered-models/alias",
                       fmt::format(R"({},"alias":{}}})", of_version(name, version), json_text(alias)));
}

Result<std::vector<RemoteVersion>> RemoteRegistry::versions(const std::string& name) {
  std::vector<RemoteVersion> out;
  std::string token;
  do {
    const Result<Json> answer = server_->ask(
        fmt::format("model-versions/search?max_results=1000&filter={}{}", percent_encode(filter_of(name)),
                    token.empty() ? std::string() : "&page_token=" + percent_encode(token)));
    if (!answer) return std::unexpected(answer.error());
    for (const Json& version : list_of(*answer, "model_versions"))
      if (text_of(version, "name") == name)
        out.push_back({.version = integer_of(version, "version"),
                       .description = text_of(version, "description"),
                       .stage = text_of(version, "current_stage"),
                       .tags = pairs_of(part_of(version, "tags"))});
    token = text_of(*answer, "next_page_token");
  } while (!token.empty());
  return out;
}

Result<std::int64_t> RemoteRegistry::create(const NewRemoteVersion& version) {
  const Result<Json> answer = server_->ask(
      "model-versions/create",
      fmt::format(R"({{"name":{},"source":{}{}{}{}{},"tags":{}}})", json_text(version.model),
                  json_text(version.source), field("run_id", version.run),
                  field("model_id", version.logged_model), field("description", version.description),
                  field("run_link", version.run_link), pairs_json(version.tags)));
  if (!answer) return std::unexpected(answer.error());
  const std::int64_t number = integer_of(part_of(*answer, "model_version"), "version");
  if (number < 1) return std::unexpected(server_->not_mlflow());
  return number;
}

Status RemoteRegistry::remove(const std::string& name, std::int64_t version) {
  return server_->tell("model-versions/delete", of_version(name, version) + "}", "DELETE");
}

Status RemoteRegistry::describe(const std::string& name, std::int64_t version,
                                const std::string& description) {
  return server_->tell(
      "model-versions/update",
      fmt::format(R"({},"description":{}}})", of_version(name, version), json_text(description)), "PATCH");
}

Status RemoteRegistry::set_tag(const std::string& name, std::int64_t version, const std::string& key,
                               const std::string& value) {
  return server_->tell("model-versions/set-tag",
                       fmt::format(R"({},"key":{},"value":{}}})", of_version(name, version), json_text(key),
                                   json_text(value)));
}

Status RemoteRegistry::set_stage(const std::string& name, std::int64_t version, store::ModelStage stage) {
  return server_->tell("model-versions/transition-stage",
                       fmt::format(R"({},"stage":"{}","archive_existing_versions":false}})",
                                   of_version(name, version), store::name(stage)));
}

}  // namespace plimsoll::forward
