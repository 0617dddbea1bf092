#include <unordered_map>
#include <utility>

#include "base/printable.hpp"
#include "store/registry_checks.hpp"
#include "store/registry_rows.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::store {
namespace {

constexpr Literal kSetVersionTag =
    "INSERT INTO version_tag(version, name, value) VALUES (?, ?, ?) "
    "ON CONFLICT(version, name) DO UPDATE SET value = excluded.value";

Status write_version_tags(Database& database, std::int64_t number, const Texts& tags) {
  PLIMSOLL_TRY(check_registry_tags(tags));
  for (const auto& [name, value] : tags)
    PLIMSOLL_TRY(database.query(kSetVersionTag).bind(number).bind(name).bind(value).run());
  return {};
}

/// The model's row and the number for a version of it. Who takes one holds the row to the end of the
/// transaction: numbers have no gaps, and one that was undone is given again.
Result<std::pair<std::int64_t, std::int64_t>> take_number(Database& database, const NewModelVersion& version,
                                                          Time created) {
  const Result<std::int64_t> model = locked_registered(database, version.model);
  if (!model) return std::unexpected(model.error());
  Query query = database.query(
      "UPDATE registered_model SET changed = ?, last_version = CASE WHEN ? > last_version THEN ? ELSE "
      "last_version END + ? WHERE number = ? RETURNING last_version");
  const std::int64_t wanted = version.version.value_or(0);
  query.bind(created).bind(wanted).bind(wanted).bind(std::int64_t{version.version ? 0 : 1}).bind(*model);
  PLIMSOLL_TRY(query.row());
  return std::pair(*model, version.version.value_or(query.integer(0)));
}

Status archive_others(Database& database, std::int64_t number, ModelStage stage, Time when) {
  return database
      .query(
          "UPDATE model_version SET stage = 'Archived', changed = ? WHERE stage = ? AND number != ? AND "
          "model = (SELECT model FROM model_version WHERE number = ?)")
      .bind(when)
      .bind(name(stage))
      .bind(number)
      .bind(number)
      .run();
}

Status move_to(Database& database, std::int64_t number, const ModelVersionChange& change, Time when) {
  if (change.archives_others) PLIMSOLL_TRY(archive_others(database, number, *change.stage, when));
  PLIMSOLL_TRY(database.query("UPDATE model_version SET stage = ? WHERE number = ?")
                   .bind(name(*change.stage))
                   .bind(number)
                   .run());
  return database
      .query(
          "UPDATE registered_model SET changed = ? WHERE number = (SELECT model FROM model_version WHERE "
          "number = ?)")
      .bind(when)
      .bind(number)
      .run();
}

using VersionsByNumber = std::unordered_map<std::int64_t, ModelVersion>;

Status load_version_heads(Database& database, const std::vector<std::int64_t>& numbers,
                          VersionsByNumber& versions) {
  Query query = query_of(
      database,
      "SELECT v.number, g.name, v.version, v.created, v.changed, v.description, v.user_name, v.stage, "
      "v.source, v.location, v.run, v.run_link, v.logged_model, v.status, v.status_message FROM "
      "model_version v JOIN registered_model g ON g.number = v.model WHERE v.number = ?",
      numbers);
  return for_each_row(query, [&](const Query& row) -> Status {
    const std::optional<ModelStage> stage = model_stage_named(row.text(7));
    if (!stage) return fail("the store is damaged: a version is in the stage {}", quote(row.text(7)));
    versions.emplace(row.integer(0), ModelVersion{.model = row.text(1),
                                                  .version = row.integer(2),
                                                  .created = row.integer(3),
                                                  .changed = row.integer(4),
                                                  .description = row.text(5),
                                                  .user = row.text(6),
                                                  .stage = *stage,
                                                  .source = row.text(8),
                                                  .location = row.text(9),
                                                  .run = row.text(10),
                                                  .run_link = row.text(11),
                                                  .logged_model = row.text(12),
                                                  .status = row.text(13),
                                                  .status_message = row.text(14)});
    return {};
  });
}

Status load_version_texts(Database& database, const std::vector<std::int64_t>& numbers,
                          VersionsByNumber& versions) {
  Query tags = query_of(database, "SELECT version, name, value FROM version_tag WHERE version = ?", numbers);
  PLIMSOLL_TRY(for_each_row(tags, [&](const Query& row) {
    if (const auto found = versions.find(row.integer(0)); found != versions.end())
      found->second.tags.emplace(row.text(1), row.text(2));
  }));
  Query aliases = query_of(database,
                           "SELECT v.number, a.name FROM model_version v JOIN model_alias a ON a.model = "
                           "v.model AND a.version = v.version WHERE v.number = ? ORDER BY a.name",
                           numbers);
  return for_each_row(aliases, [&](const Query& row) {
    if (const auto found = versions.find(row.integer(0)); found != versions.end())
      found->second.aliases.push_back(row.text(1));
  });
}

}  // namespace

Result<std::int64_t> version_number(Database& database, std::string_view model, std::int64_t version) {
  Query query = database.query(
      "SELECT v.number FROM model_version v JOIN registered_model g ON g.number = v.model WHERE g.name = ? "
      "AND v.version = ?");
  const Result<bool> row = query.bind(model).bind(version).next();
  if (!row) return std::unexpected(row.error());
  if (!*row)
    return std::unexpected(
        Error{fmt::format("there is no version {} of a registered model {}", version, quote(model)),
              {},
              {},
              Error::Kind::not_found});
  return query.integer(0);
}

Result<std::int64_t> insert_version(Database& database, const NewModelVersion& version) {
  PLIMSOLL_TRY(check_version(version));
  const Time created = version.created.value_or(now());
  const auto taken = take_number(database, version, created);
  if (!taken) return std::unexpected(taken.error());
  Query query = database.query(
      "INSERT INTO model_version(model, version, created, changed, description, user_name, stage, source, "
      "location, run, run_link, logged_model, status, status_message) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING number");
  const Result<bool> row = query.bind(taken->first)
                               .bind(taken->second)
                               .bind(created)
                               .bind(version.changed.value_or(created))
                               .bind(version.description)
                               .bind(version.user)
                               .bind(name(version.stage))
                               .bind(version.source)
                               .bind(version.location.empty() ? version.source : version.location)
                               .bind(version.run)
                               .bind(version.run_link)
                               .bind(version.logged_model)
                               .bind(version.status)
                               .bind(version.status_message)
                               .next();
  if (!row) return std::unexpected(row.error());
  if (!*row)
    return std::unexpected(Error{fmt::format("there is a version {} of the registered model {} already",
                                             taken->second, quote(version.model)),
                                 {},
                                 {},
                                 Error::Kind::exists_already});
  const std::int64_t number = query.integer(0);
  PLIMSOLL_TRY(write_version_tags(database, number, version.tags));
  return number;
}

Status update_version(Database& database, std::int64_t number, const ModelVersionChange& change) {
  const Time when = now();
  if (change.description || change.stage)
    PLIMSOLL_TRY(database.query("UPDATE model_version SET changed = ? WHERE number = ?")
                     .bind(when)
                     .bind(number)
                     .run());
  if (change.description) {
    PLIMSOLL_TRY(check_description(*change.description));
    PLIMSOLL_TRY(database.query("UPDATE model_version SET description = ? WHERE number = ?")
                     .bind(*change.description)
                     .bind(number)
                     .run());
  }
  if (change.stage) PLIMSOLL_TRY(move_to(database, number, change, when));
  for (const std::string& tag : change.tags_removed)
    PLIMSOLL_TRY(database.query("DELETE FROM version_tag WHERE version = ? AND name = ?")
                     .bind(number)
                     .bind(tag)
                     .run());
  return write_version_tags(database, number, change.tags);
}

Status remove_version(Database& database, std::string_view model, std::int64_t version) {
  const Result<std::int64_t> owner = locked_registered(database, model);
  if (!owner) return std::unexpected(owner.error());
  const Result<std::int64_t> number = version_number(database, model, version);
  if (!number) return std::unexpected(number.error());
  PLIMSOLL_TRY(database.query("DELETE FROM model_alias WHERE model = ? AND version = ?")
                   .bind(*owner)
                   .bind(version)
                   .run());
  PLIMSOLL_TRY(database.query("UPDATE registered_model SET changed = ? WHERE number = ?")
                   .bind(now())
                   .bind(*owner)
                   .run());
  return database.query("DELETE FROM model_version WHERE number = ?").bind(*number).run();
}

Result<std::vector<ModelVersion>> load_versions(Database& database,
                                                const std::vector<std::int64_t>& numbers) {
  std::vector<ModelVersion> out;
  if (numbers.empty()) return out;
  VersionsByNumber versions;
  PLIMSOLL_TRY(load_version_heads(database, numbers, versions));
  PLIMSOLL_TRY(load_version_texts(database, numbers, versions));
  for (const std::int64_t number : numbers)
    if (auto found = versions.find(number); found != versions.end()) out.push_back(std::move(found->second));
  return out;
}

}  // namespace plimsoll::store
