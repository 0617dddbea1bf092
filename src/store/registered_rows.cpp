#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/printable.hpp"
#include "store/registry_checks.hpp"
#include "store/registry_rows.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::store {
namespace {

constexpr Literal kSetRegisteredTag =
    "INSERT INTO registered_tag(model, name, value) VALUES (?, ?, ?) "
    "ON CONFLICT(model, name) DO UPDATE SET value = excluded.value";

Error registered_already(std::string_view name) {
  return Error{fmt::format("there is a registered model {} already", quote(name)),
               {},
               {},
               Error::Kind::exists_already};
}

Result<bool> is_taken(Database& database, std::string_view name) {
  Query query = database.query("SELECT 1 FROM registered_model WHERE name = ?");
  return query.bind(name).next();
}

Result<std::int64_t> row_number(Query query, std::string_view name) {
  const Result<bool> row = query.bind(name).next();
  if (!row) return std::unexpected(row.error());
  if (!*row)
    return std::unexpected(
        Error{fmt::format("there is no registered model {}", quote(name)), {}, {}, Error::Kind::not_found});
  return query.integer(0);
}

Status write_registered_tags(Database& database, std::int64_t number, const Texts& tags) {
  PLIMSOLL_TRY(check_registry_tags(tags));
  for (const auto& [name, value] : tags)
    PLIMSOLL_TRY(database.query(kSetRegisteredTag).bind(number).bind(name).bind(value).run());
  return {};
}

Status rename(Database& database, std::int64_t number, std::string_view name, Time when) {
  PLIMSOLL_TRY(check_registered_name(name));
  const Result<bool> taken = is_taken(database, name);
  if (!taken) return std::unexpected(taken.error());
  if (*taken) return std::unexpected(registered_already(name));
  PLIMSOLL_TRY(
      database.query("UPDATE registered_model SET name = ? WHERE number = ?").bind(name).bind(number).run());
  return database.query("UPDATE model_version SET changed = ? WHERE model = ?").bind(when).bind(number).run();
}

Status set_alias(Database& database, std::int64_t number, std::string_view alias, std::int64_t version) {
  PLIMSOLL_TRY(check_alias(alias));
  Query query = database.query("SELECT 1 FROM model_version WHERE model = ? AND version = ?");
  const Result<bool> there = query.bind(number).bind(version).next();
  if (!there) return std::unexpected(there.error());
  if (!*there)
    return std::unexpected(
        Error{fmt::format("there is no version {} of this model", version), {}, {}, Error::Kind::not_found});
  return database
      .query(
          "INSERT INTO model_alias(model, name, version) VALUES (?, ?, ?) "
          "ON CONFLICT(model, name) DO UPDATE SET version = excluded.version")
      .bind(number)
      .bind(alias)
      .bind(version)
      .run();
}

Status update_texts(Database& database, std::int64_t number, const RegisteredModelChange& change) {
  for (const std::string& tag : change.tags_removed)
    PLIMSOLL_TRY(database.query("DELETE FROM registered_tag WHERE model = ? AND name = ?")
                     .bind(number)
                     .bind(tag)
                     .run());
  PLIMSOLL_TRY(write_registered_tags(database, number, change.tags));
  for (const std::string& alias : change.aliases_removed)
    PLIMSOLL_TRY(database.query("DELETE FROM model_alias WHERE model = ? AND name = ?")
                     .bind(number)
                     .bind(alias)
                     .run());
  for (const auto& [alias, version] : change.aliases)
    PLIMSOLL_TRY(set_alias(database, number, alias, version));
  return {};
}

using RegisteredByNumber = std::unordered_map<std::int64_t, RegisteredModel>;

Status load_registered_texts(Database& database, const std::vector<std::int64_t>& numbers,
                             RegisteredByNumber& models) {
  Query tags = query_of(database, "SELECT model, name, value FROM registered_tag WHERE model = ?", numbers);
  PLIMSOLL_TRY(for_each_row(tags, [&](const Query& row) {
    if (const auto found = models.find(row.integer(0)); found != models.end())
      found->second.tags.emplace(row.text(1), row.text(2));
  }));
  Query aliases = query_of(database, "SELECT model, name, version FROM model_alias WHERE model = ?", numbers);
  return for_each_row(aliases, [&](const Query& row) {
    if (const auto found = models.find(row.integer(0)); found != models.end())
      found->second.aliases.emplace(row.text(1), row.integer(2));
  });
}

/// The newest version of each stage.
Status load_latest_versions(Database& database, const std::vector<std::int64_t>& numbers,
                            RegisteredByNumber& models) {
  std::vector<std::int64_t> versions, owners;
  {
    Query query = query_of(
        database,
        "SELECT v.number, v.model FROM (SELECT model, stage, max(version) AS newest FROM model_version "
        "WHERE model = ? GROUP BY model, stage) l JOIN model_version v ON v.model = l.model AND v.version = "
        "l.newest",
        numbers);
    PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) {
      versions.push_back(row.integer(0));
      owners.push_back(row.integer(1));
    }));
  }
  Result<std::vector<ModelVersion>> loaded = load_versions(database, versions);
  if (!loaded) return std::unexpected(std::move(loaded).error());
  for (std::size_t i = 0; i < loaded->size(); ++i)
    if (const auto found = models.find(owners[i]); found != models.end())
      found->second.latest.push_back(std::move((*loaded)[i]));
  for (auto& [number, model] : models)
    std::ranges::sort(model.latest, {}, [](const ModelVersion& version) { return version.stage; });
  return {};
}

}  // namespace

Result<std::int64_t> registered_number(Database& database, std::string_view name) {
  return row_number(database.query("SELECT number FROM registered_model WHERE name = ?"), name);
}

Result<std::int64_t> locked_registered(Database& database, std::string_view name) {
  return row_number(database.query("SELECT number FROM registered_model WHERE name = ? FOR UPDATE"), name);
}

Result<std::int64_t> insert_registered(Database& database, const NewRegisteredModel& model) {
  PLIMSOLL_TRY(check_registered_name(model.name));
  PLIMSOLL_TRY(check_description(model.description));
  const Time created = model.created.value_or(now());
  Query query = database.query(
      "INSERT INTO registered_model(name, created, changed, description) VALUES (?, ?, ?, ?) "
      "ON CONFLICT DO NOTHING RETURNING number");
  const Result<bool> row = query.bind(model.name).bind(created).bind(created).bind(model.description).next();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::unexpected(registered_already(model.name));
  const std::int64_t number = query.integer(0);
  PLIMSOLL_TRY(write_registered_tags(database, number, model.tags));
  return number;
}

Status update_registered(Database& database, std::int64_t number, const RegisteredModelChange& change) {
  const Time when = change.changed.value_or(now());
  if (change.name || change.description || change.changed)
    PLIMSOLL_TRY(database.query("UPDATE registered_model SET changed = ? WHERE number = ?")
                     .bind(when)
                     .bind(number)
                     .run());
  if (change.name) PLIMSOLL_TRY(rename(database, number, *change.name, when));
  if (change.description) {
    PLIMSOLL_TRY(check_description(*change.description));
    PLIMSOLL_TRY(database.query("UPDATE registered_model SET description = ? WHERE number = ?")
                     .bind(*change.description)
                     .bind(number)
                     .run());
  }
  if (change.last_version)
    PLIMSOLL_TRY(
        database.query("UPDATE registered_model SET last_version = ? WHERE number = ? AND last_version < ?")
            .bind(*change.last_version)
            .bind(number)
            .bind(*change.last_version)
            .run());
  return update_texts(database, number, change);
}

Status remove_registered(Database& database, std::string_view name) {
  const Result<std::int64_t> number = locked_registered(database, name);
  if (!number) return std::unexpected(number.error());
  return database.query("DELETE FROM registered_model WHERE number = ?").bind(*number).run();
}

Result<std::vector<RegisteredModel>> load_registered(Database& database,
                                                     const std::vector<std::int64_t>& numbers) {
  std::vector<RegisteredModel> out;
  if (numbers.empty()) return out;
  RegisteredByNumber models;
  {
    Query query = query_of(database,
                           "SELECT number, name, created, changed, description, last_version FROM "
                           "registered_model WHERE number = ?",
                           numbers);
    PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) {
      models.emplace(row.integer(0), RegisteredModel{.name = row.text(1),
                                                     .created = row.integer(2),
                                                     .changed = row.integer(3),
                                                     .description = row.text(4),
                                                     .last_version = row.integer(5)});
    }));
  }
  PLIMSOLL_TRY(load_registered_texts(database, numbers, models));
  PLIMSOLL_TRY(load_latest_versions(database, numbers, models));
  for (const std::int64_t number : numbers)
    if (auto found = models.find(number); found != models.end()) out.push_back(std::move(found->second));
  return out;
}

}  // namespace plimsoll::store
