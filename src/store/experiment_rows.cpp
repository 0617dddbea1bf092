#include "store/experiment_rows.hpp"

#include <unordered_map>

#include "base/printable.hpp"
#include "store/mlflow_limits.hpp"
#include "store/selection.hpp"
#include "store/texts.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::store {
namespace {

constexpr Literal kSetExperimentTag =
    "INSERT INTO experiment_tag(experiment, name, value) VALUES (?, ?, ?) "
    "ON CONFLICT(experiment, name) DO UPDATE SET value = excluded.value";

Status check_experiment_name(std::string_view name) {
  if (is_name(name, mlflow_limits::kLongestExperimentName)) return {};
  return fail("the name of an experiment {} has {} bytes; 1 to {} characters are allowed", quote(name),
              name.size(), mlflow_limits::kLongestExperimentName);
}

Error no_such_experiment(std::int64_t id) {
  return Error{fmt::format("there is no experiment {}", id), {}, {}, Error::Kind::not_found};
}

Error name_taken(std::string_view name) {
  return Error{fmt::format("there is an experiment {} already", quote(name)),
               {},
               "Choose another name; a deleted experiment keeps its name until it is purged.",
               Error::Kind::exists_already};
}

Status load_tags(Database& database, const std::vector<std::int64_t>& ids, std::vector<Experiment>& out) {
  std::unordered_map<std::int64_t, Experiment*> by_id;
  for (Experiment& experiment : out) by_id.emplace(experiment.id, &experiment);
  Query query =
      query_of(database, "SELECT experiment, name, value FROM experiment_tag WHERE experiment = ?", ids);
  return for_each_row(query, [&](const Query& row) {
    if (const auto found = by_id.find(row.integer(0)); found != by_id.end())
      found->second->tags.emplace(row.text(1), row.text(2));
  });
}

/// In the order of `ids`; those that are gone are left out.
Result<std::vector<Experiment>> load_experiments(Database& database, const std::vector<std::int64_t>& ids) {
  std::vector<Experiment> out;
  if (ids.empty()) return out;
  std::unordered_map<std::int64_t, Experiment> by_id;
  {
    Query query = query_of(
        database,
        "SELECT id, name, artifact_location, deleted, created, changed FROM experiment WHERE id = ?", ids);
    PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) {
      by_id.emplace(row.integer(0), Experiment{.id = row.integer(0),
                                               .name = row.text(1),
                                               .artifact_location = row.text(2),
                                               .deleted = row.boolean(3),
                                               .created = row.integer(4),
                                               .changed = row.integer(5)});
    }));
  }
  for (const std::int64_t id : ids)
    if (auto found = by_id.find(id); found != by_id.end()) out.push_back(std::move(found->second));
  PLIMSOLL_TRY(load_tags(database, ids, out));
  return out;
}

/// Marks an experiment and its runs.
Status mark_experiment(Database& database, std::int64_t id, bool deleted) {
  const auto mark = static_cast<std::int64_t>(deleted);
  const Time version = now();
  const std::optional<Time> at = deleted ? std::optional(version) : std::nullopt;
  PLIMSOLL_TRY(database.query("UPDATE experiment SET deleted = ? WHERE id = ?").bind(mark).bind(id).run());
  return database
      .query(
          "UPDATE run SET deleted = ?, deleted_at = ?, version = CASE WHEN version < ? THEN ? ELSE "
          "version + 1 END WHERE experiment = ? AND deleted != ?")
      .bind(mark)
      .bind(at)
      .bind(version)
      .bind(version)
      .bind(id)
      .bind(mark)
      .run();
}

Status rename_experiment(Database& database, std::int64_t id, std::string_view name) {
  PLIMSOLL_TRY(check_experiment_name(name));
  const Result<std::optional<std::int64_t>> other = experiment_number(database, name);
  if (!other) return std::unexpected(other.error());
  if (*other && **other != id) return std::unexpected(name_taken(name));
  return database.query("UPDATE experiment SET name = ? WHERE id = ?").bind(name).bind(id).run();
}

}  // namespace

Result<std::optional<std::int64_t>> experiment_number(Database& database, std::string_view name) {
  Query query = database.query("SELECT id FROM experiment WHERE name = ?");
  const Result<bool> row = query.bind(name).next();
  if (!row) return std::unexpected(row.error());
  return *row ? std::optional(query.integer(0)) : std::nullopt;
}

Result<std::int64_t> insert_experiment(Database& database, const NewExperiment& experiment) {
  PLIMSOLL_TRY(check_experiment_name(experiment.name));
  PLIMSOLL_TRY(check_value("experiment", "artifact location", experiment.artifact_location));
  // Number 0 is always there: who makes another holds it, so that two do not take the same number.
  PLIMSOLL_TRY(database.query("SELECT id FROM experiment WHERE id = 0 FOR UPDATE").run());
  const Result<std::optional<std::int64_t>> taken = experiment_number(database, experiment.name);
  if (!taken) return std::unexpected(taken.error());
  if (*taken) return std::unexpected(name_taken(experiment.name));
  std::int64_t id = experiment.id.value_or(0);
  if (!experiment.id) {
    Query query = database.query("SELECT coalesce(max(id), 0) + 1 FROM experiment");
    PLIMSOLL_TRY(query.row());
    id = query.integer(0);
  }
  const Time created = experiment.created.value_or(now());
  Query query = database.query(
      "INSERT INTO experiment(id, name, artifact_location, created, changed) VALUES (?, ?, ?, ?, ?) "
      "ON CONFLICT DO NOTHING RETURNING id");
  const Result<bool> row = query.bind(id)
                               .bind(experiment.name)
                               .bind(experiment.artifact_location)
                               .bind(created)
                               .bind(created)
                               .next();
  if (!row) return std::unexpected(row.error());
  if (!*row)
    return std::unexpected(
        Error{fmt::format("there is an experiment {} already", id), {}, {}, Error::Kind::exists_already});
  PLIMSOLL_TRY(write_texts(database, kSetExperimentTag, id, "tag", experiment.tags));
  return id;
}

Status update_experiment(Database& database, std::int64_t id, const ExperimentChange& change) {
  Query query = database.query("UPDATE experiment SET changed = ? WHERE id = ? RETURNING id");
  const Result<bool> row = query.bind(now()).bind(id).next();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::unexpected(no_such_experiment(id));
  if (change.name) PLIMSOLL_TRY(rename_experiment(database, id, *change.name));
  if (change.artifact_location)
    PLIMSOLL_TRY(database.query("UPDATE experiment SET artifact_location = ? WHERE id = ?")
                     .bind(*change.artifact_location)
                     .bind(id)
                     .run());
  if (change.deleted) PLIMSOLL_TRY(mark_experiment(database, id, *change.deleted));
  PLIMSOLL_TRY(remove_texts(database,
                            "DELETE FROM experiment_tag WHERE experiment = ? AND name = ? RETURNING name", id,
                            "tag", change.tags_removed));
  return write_texts(database, kSetExperimentTag, id, "tag", change.tags);
}

Result<Experiment> load_experiment(Database& database, std::int64_t id) {
  Result<std::vector<Experiment>> found = load_experiments(database, {id});
  if (!found) return std::unexpected(std::move(found).error());
  if (found->empty()) return std::unexpected(no_such_experiment(id));
  return std::move(found->front());
}

Result<std::vector<Experiment>> find_experiments(Database& database, const ExperimentSearch& search) {
  Selection selection(Subject::experiments);
  selection.in_view(search.view);
  PLIMSOLL_TRY(selection.matching(search.filter));
  PLIMSOLL_TRY(selection.ordered_by(search.order_by));
  const Result<std::vector<std::int64_t>> ids =
      numbers_of(selection.page(database, "e.id", search.limit, search.offset));
  if (!ids) return std::unexpected(ids.error());
  return load_experiments(database, *ids);
}

Result<std::int64_t> experiment_for_run(Database& database, std::optional<std::int64_t> id,
                                        std::string_view name) {
  if (!id) {
    const Result<std::optional<std::int64_t>> known = experiment_number(database, name);
    if (!known) return std::unexpected(known.error());
    if (*known) {
      id = *known;
    } else {
      const Result<std::int64_t> made = insert_experiment(database, {.name = std::string(name)});
      // Another may have made it meanwhile.
      if (made || made.error().kind != Error::Kind::exists_already) return made;
      return experiment_for_run(database, id, name);
    }
  }
  Query query = database.query("SELECT deleted, name FROM experiment WHERE id = ?");
  const Result<bool> row = query.bind(*id).next();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::unexpected(no_such_experiment(*id));
  if (query.boolean(0))
    return fail("experiment {} is deleted: it takes no new runs until it is restored", quote(query.text(1)));
  return *id;
}

}  // namespace plimsoll::store
