#include "store/mlflow_registry.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "store/import_mlflow.hpp"
#include "store/mlflow_meta.hpp"

namespace plimsoll::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDeletedStage = "Deleted_Internal";
constexpr std::size_t kLargestTag = std::size_t{1} << 20;

struct RegisteredArrival {
  RegisteredModel model;
  std::vector<ModelVersion> versions = {};
};

bool is_prompt(const RegisteredModel& model) {
  const auto found = model.tags.find("mlflow.prompt.is_prompt");
  return found != model.tags.end() && lower_case(found->second) == "true";
}

Status give(RegisteredArrival& arrival, Store& to, Transferred& counts) {
  if (is_prompt(arrival.model)) return {};
  std::ranges::sort(arrival.versions, {}, &ModelVersion::version);
  return receive_registered(to, arrival.model, arrival.versions, counts);
}

/// Nothing for one that was deleted, whose number is not given again.
std::optional<ModelVersion> kept(ModelVersion version, std::string_view stage, RegisteredModel& model) {
  model.last_version = std::max(model.last_version, version.version);
  if (stage == kDeletedStage || version.version < 1) return {};
  version.stage = model_stage_named(stage).value_or(ModelStage::none);
  if (version.status.empty()) version.status = "READY";
  return version;
}

Status read_version(const fs::path& directory, RegisteredArrival& arrival) {
  const Result<Texts> meta = read_meta(directory);
  if (!meta) return std::unexpected(meta.error());
  Result<Texts> tags = read_texts(directory / "tags", kLargestTag);
  if (!tags) return std::unexpected(std::move(tags).error());
  std::optional<ModelVersion> version = kept({.model = arrival.model.name,
                                              .version = integer_in(*meta, "version").value_or(0),
                                              .created = time_in(*meta, "creation_timestamp").value_or(1),
                                              .changed = time_in(*meta, "last_updated_timestamp").value_or(1),
                                              .description = text_in(*meta, "description"),
                                              .user = text_in(*meta, "user_id"),
                                              .source = text_in(*meta, "source"),
                                              .location = text_in(*meta, "storage_location"),
                                              .run = text_in(*meta, "run_id"),
                                              .run_link = text_in(*meta, "run_link"),
                                              .logged_model = text_in(*meta, "model_id"),
                                              .status = text_in(*meta, "status"),
                                              .status_message = text_in(*meta, "status_message"),
                                              .tags = std::move(*tags)},
                                             text_in(*meta, "current_stage"), arrival.model);
  if (version) arrival.versions.push_back(std::move(*version));
  return {};
}

Result<RegisteredArrival> read_registered(const fs::path& directory) {
  const Result<Texts> meta = read_meta(directory);
  if (!meta) return std::unexpected(meta.error());
  Result<Texts> tags = read_texts(directory / "tags", kLargestTag);
  if (!tags) return std::unexpected(std::move(tags).error());
  RegisteredArrival out{.model = {.name = text_in(*meta, "name"),
                                  .created = time_in(*meta, "creation_timestamp").value_or(1),
                                  .changed = time_in(*meta, "last_updated_timestamp").value_or(1),
                                  .description = text_in(*meta, "description"),
                                  .tags = std::move(*tags)}};
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(directory, problem)) {
    std::error_code ignored;
    if (entry.is_symlink(ignored) || !entry.path().filename().string().starts_with("version-") ||
        !fs::is_regular_file(entry.path() / "meta.yaml", ignored))
      continue;
    PLIMSOLL_TRY(read_version(entry.path(), out));
  }
  const Result<Texts> aliases = read_texts(directory / "aliases");
  if (!aliases) return std::unexpected(aliases.error());
  for (const auto& [alias, text] : *aliases) {
    std::int64_t version = 0;
    std::from_chars(text.data(), text.data() + text.size(), version);
    if (std::ranges::find(out.versions, version, &ModelVersion::version) != out.versions.end())
      out.model.aliases.emplace(alias, version);
  }
  return out;
}

/// The registry's tables of MLflow's database.
class RegistryTables {
 public:
  explicit RegistryTables(SqliteDatabase& database) : database_(database) {}

  Result<bool> has(std::string_view table, std::string_view column) {
    Query query = database_.query("SELECT 1 FROM pragma_table_info(?) WHERE name = ?");
    return query.bind(table).bind(column).next();
  }

  Result<std::vector<RegisteredModel>> models() {
    std::vector<RegisteredModel> out;
    Query query = database_.query(
        "SELECT name, creation_time, last_updated_time, description FROM registered_models ORDER BY name");
    PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) {
      out.push_back({.name = row.text(0),
                     .created = time_of_mlflow(row.integer(1)).value_or(1),
                     .changed = time_of_mlflow(row.integer(2)).value_or(1),
                     .description = row.text(3)});
    }));
    return out;
  }

  Result<RegisteredArrival> whole(RegisteredModel model) {
    RegisteredArrival out{.model = std::move(model)};
    Query tags = database_.query("SELECT key, value FROM registered_model_tags WHERE name = ?");
    tags.bind(out.model.name);
    PLIMSOLL_TRY(
        for_each_row(tags, [&](const Query& row) { out.model.tags.emplace(row.text(0), row.text(1)); }));
    PLIMSOLL_TRY(add_versions(out));
    PLIMSOLL_TRY(add_version_tags(out));
    const Result<bool> aliased = has("registered_model_aliases", "alias");
    if (!aliased) return std::unexpected(aliased.error());
    if (!*aliased) return out;
    Query aliases = database_.query("SELECT alias, version FROM registered_model_aliases WHERE name = ?");
    aliases.bind(out.model.name);
    PLIMSOLL_TRY(for_each_row(aliases, [&](const Query& row) {
      if (std::ranges::find(out.versions, row.integer(1), &ModelVersion::version) != out.versions.end())
        out.model.aliases.emplace(row.text(0), row.integer(1));
    }));
    return out;
  }

 private:
  Status add_versions(RegisteredArrival& arrival) {
    const Result<bool> placed = has("model_versions", "storage_location");
    if (!placed) return std::unexpected(placed.error());
    Query query = database_.query_once(fmt::format(
        "SELECT version, creation_time, last_updated_time, description, user_id, current_stage, source, {}, "
        "run_id, run_link, status, status_message FROM model_versions WHERE name = ?",
        *placed ? "storage_location" : "source"));
    query.bind(arrival.model.name);
    return for_each_row(query, [&](const Query& row) {
      std::optional<ModelVersion> version = kept({.model = arrival.model.name,
                                                  .version = row.integer(0),
                                                  .created = time_of_mlflow(row.integer(1)).value_or(1),
                                                  .changed = time_of_mlflow(row.integer(2)).value_or(1),
                                                  .description = row.text(3),
                                                  .user = row.text(4),
                                                  .source = row.text(6),
                                                  .location = row.text(7),
                                                  .run = row.text(8),
                                                  .run_link = row.text(9),
                                                  .logged_model = logged_model_of(row.text(6)),
                                                  .status = row.text(10),
                                                  .status_message = row.text(11)},
                                                 row.text(5), arrival.model);
      if (version) arrival.versions.push_back(std::move(*version));
    });
  }

  Status add_version_tags(RegisteredArrival& arrival) {
    Query query = database_.query("SELECT version, key, value FROM model_version_tags WHERE name = ?");
    query.bind(arrival.model.name);
    return for_each_row(query, [&](const Query& row) {
      const auto found = std::ranges::find(arrival.versions, row.integer(0), &ModelVersion::version);
      if (found != arrival.versions.end()) found->tags.emplace(row.text(1), row.text(2));
    });
  }

  static std::string logged_model_of(const std::string& source) {
    constexpr std::string_view kModels = "models:/";
    return source.starts_with("models:/m-") && source.find('/', kModels.size()) == std::string::npos
               ? source.substr(kModels.size())
               : std::string();
  }

  SqliteDatabase& database_;
};

}  // namespace

Status import_registry_files(const fs::path& models, Store& to, Transferred& counts) {
  std::error_code problem;
  if (fs::is_symlink(models, problem)) return {};
  for (const auto& entry : fs::directory_iterator(models, problem)) {
    std::error_code ignored;
    if (entry.is_symlink(ignored) || !fs::is_regular_file(entry.path() / "meta.yaml", ignored)) continue;
    Result<RegisteredArrival> arrival = read_registered(entry.path());
    if (!arrival) return std::unexpected(std::move(arrival).error());
    PLIMSOLL_TRY(give(*arrival, to, counts));
  }
  return {};
}

Status import_registry_database(SqliteDatabase& database, Store& to, Transferred& counts) {
  RegistryTables tables(database);
  const Result<bool> there = tables.has("model_versions", "current_stage");
  if (!there) return std::unexpected(there.error());
  if (!*there) return {};
  Result<std::vector<RegisteredModel>> models = tables.models();
  if (!models) return std::unexpected(std::move(models).error());
  for (RegisteredModel& model : *models) {
    Result<RegisteredArrival> arrival = tables.whole(std::move(model));
    if (!arrival) return std::unexpected(std::move(arrival).error());
    PLIMSOLL_TRY(give(*arrival, to, counts));
  }
  return {};
}

}  // namespace plimsoll::store
