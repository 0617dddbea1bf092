#include "store/model_rows.hpp"

#include <unordered_map>

#include "base/printable.hpp"
#include "store/point_order.hpp"
#include "store/purge.hpp"
#include "store/selection.hpp"
#include "store/texts.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::store {
namespace {

constexpr Literal kSetModelTag =
    "INSERT INTO model_tag(model, name, value) VALUES (?, ?, ?) "
    "ON CONFLICT(model, name) DO UPDATE SET value = excluded.value";
constexpr Literal kSetParam =
    "INSERT INTO model_param(model, name, value) VALUES (?, ?, ?) "
    "ON CONFLICT(model, name) DO UPDATE SET value = excluded.value";

/// "m-" and 32 hexadecimal digits: ids name directories.
Status check_id(std::string_view id) {
  constexpr std::size_t kDigits = 32;
  const bool good = id.starts_with("m-") && id.size() == kDigits + 2 &&
                    id.find_first_not_of("0123456789abcdef", 2) == std::string_view::npos;
  if (good) return {};
  return fail("{} is not the id of a model: m- and {} hexadecimal digits", quote(id), kDigits);
}

using ModelsByNumber = std::unordered_map<std::int64_t, LoggedModel>;

Status load_heads(Database& database, const std::vector<std::int64_t>& numbers, ModelsByNumber& models) {
  Query query = query_of(database,
                         "SELECT number, id, experiment, name, artifact_uri, created, changed, status, type, "
                         "source_run, deleted FROM model WHERE number = ?",
                         numbers);
  return for_each_row(query, [&](const Query& row) -> Status {
    const std::optional<ModelStatus> status = model_status_named(row.text(7));
    if (!status) return fail("the store is damaged: a model has the status {}", quote(row.text(7)));
    models.emplace(row.integer(0), LoggedModel{.id = row.text(1),
                                               .experiment_id = row.integer(2),
                                               .name = row.text(3),
                                               .artifact_uri = row.text(4),
                                               .created = row.integer(5),
                                               .changed = row.integer(6),
                                               .status = *status,
                                               .type = row.text(8),
                                               .source_run = row.text(9),
                                               .deleted = row.boolean(10)});
    return {};
  });
}

Status load_texts(Query query, ModelsByNumber& models, Texts LoggedModel::* texts) {
  return for_each_row(query, [&](const Query& row) {
    if (const auto found = models.find(row.integer(0)); found != models.end())
      (found->second.*texts).emplace(row.text(1), row.text(2));
  });
}

Status load_metrics(Database& database, const std::vector<std::int64_t>& numbers, ModelsByNumber& models) {
  Query query =
      query_of(database,
               "SELECT m.model, r.id, m.name, m.time, m.step, m.value, m.dataset_name, m.dataset_digest "
               "FROM model_metric m JOIN run r ON r.number = m.run WHERE m.model = ? ORDER BY m.name, "
               "m.time, m.dataset_name",
               numbers);
  return for_each_row(query, [&](const Query& row) {
    if (const auto found = models.find(row.integer(0)); found != models.end())
      found->second.metrics.push_back({.run = row.text(1),
                                       .metric = row.text(2),
                                       .latest = {row.integer(3), row.integer(4), row.real(5)},
                                       .dataset_name = row.text(6),
                                       .dataset_digest = row.text(7)});
  });
}

/// In the order of `numbers`.
Result<std::vector<LoggedModel>> load_models(Database& database, const std::vector<std::int64_t>& numbers) {
  std::vector<LoggedModel> out;
  if (numbers.empty()) return out;
  ModelsByNumber models;
  PLIMSOLL_TRY(load_heads(database, numbers, models));
  PLIMSOLL_TRY(
      load_texts(query_of(database, "SELECT model, name, value FROM model_tag WHERE model = ?", numbers),
                 models, &LoggedModel::tags));
  PLIMSOLL_TRY(
      load_texts(query_of(database, "SELECT model, name, value FROM model_param WHERE model = ?", numbers),
                 models, &LoggedModel::params));
  PLIMSOLL_TRY(load_metrics(database, numbers, models));
  for (const std::int64_t number : numbers)
    if (auto found = models.find(number); found != models.end()) out.push_back(std::move(found->second));
  return out;
}

}  // namespace

Result<std::int64_t> model_number(Database& database, std::string_view id) {
  Query query = database.query("SELECT number FROM model WHERE id = ?");
  const Result<bool> row = query.bind(id).next();
  if (!row) return std::unexpected(row.error());
  if (!*row)
    return std::unexpected(
        Error{fmt::format("there is no model {}", quote(id)), {}, {}, Error::Kind::not_found});
  return query.integer(0);
}

Status insert_model(Database& database, const std::string& id, const NewModel& model) {
  PLIMSOLL_TRY(check_id(id));
  PLIMSOLL_TRY(check_value("model", "name", model.name));
  if (model.id) PLIMSOLL_TRY(hold_leftover(database, id));
  const Time created = model.created.value_or(now());
  Query query = database.query(
      "INSERT INTO model(id, experiment, name, artifact_uri, created, changed, status, type, source_run) "
      "SELECT ?, id, ?, ?, ?, ?, ?, ?, ? FROM experiment WHERE id = ? ON CONFLICT DO NOTHING RETURNING "
      "number");
  const Result<bool> row = query.bind(id)
                               .bind(model.name)
                               .bind(model.artifact_uri)
                               .bind(created)
                               .bind(created)
                               .bind(name(model.status))
                               .bind(model.type)
                               .bind(model.source_run)
                               .bind(model.experiment_id)
                               .next();
  if (!row) return std::unexpected(row.error());
  if (!*row) {
    const Result<std::int64_t> taken = model_number(database, id);
    return std::unexpected(taken ? Error{fmt::format("there is a model {} already", quote(id)),
                                         {},
                                         {},
                                         Error::Kind::exists_already}
                                 : Error{fmt::format("there is no experiment {}", model.experiment_id),
                                         {},
                                         {},
                                         Error::Kind::not_found});
  }
  const std::int64_t number = query.integer(0);
  PLIMSOLL_TRY(write_texts(database, kSetModelTag, number, "tag", model.tags));
  return write_texts(database, kSetParam, number, "parameter", model.params);
}

Status update_model(Database& database, std::string_view id, const ModelChange& change) {
  const Result<std::int64_t> number = model_number(database, id);
  if (!number) return std::unexpected(number.error());
  PLIMSOLL_TRY(
      database.query("UPDATE model SET changed = ? WHERE number = ?").bind(now()).bind(*number).run());
  if (change.status)
    PLIMSOLL_TRY(database.query("UPDATE model SET status = ? WHERE number = ?")
                     .bind(name(*change.status))
                     .bind(*number)
                     .run());
  if (change.artifact_uri)
    PLIMSOLL_TRY(database.query("UPDATE model SET artifact_uri = ? WHERE number = ?")
                     .bind(*change.artifact_uri)
                     .bind(*number)
                     .run());
  if (change.deleted)
    PLIMSOLL_TRY(database.query("UPDATE model SET deleted = ? WHERE number = ?")
                     .bind(std::int64_t{*change.deleted})
                     .bind(*number)
                     .run());
  PLIMSOLL_TRY(remove_texts(database, "DELETE FROM model_tag WHERE model = ? AND name = ? RETURNING name",
                            *number, "tag", change.tags_removed));
  PLIMSOLL_TRY(write_texts(database, kSetModelTag, *number, "tag", change.tags));
  return write_texts(database, kSetParam, *number, "parameter", change.params);
}

Result<LoggedModel> load_model(Database& database, std::string_view id) {
  const Result<std::int64_t> number = model_number(database, id);
  if (!number) return std::unexpected(number.error());
  Result<std::vector<LoggedModel>> models = load_models(database, {*number});
  if (!models) return std::unexpected(std::move(models).error());
  return std::move(models->front());
}

Result<std::vector<LoggedModel>> find_models(Database& database, const ModelSearch& search) {
  Selection selection(Subject::models);
  selection.in_view(search.view);
  PLIMSOLL_TRY(selection.in_experiments(search.experiment_ids));
  PLIMSOLL_TRY(selection.matching(search.filter));
  PLIMSOLL_TRY(selection.ordered_by(search.order_by));
  const Result<std::vector<std::int64_t>> numbers =
      numbers_of(selection.page(database, "m.number", search.limit, search.offset));
  if (!numbers) return std::unexpected(numbers.error());
  return load_models(database, *numbers);
}

Status link_metric(Database& database, std::int64_t run, const Batch& batch) {
  const Result<std::int64_t> model = model_number(database, batch.model);
  if (!model) return std::unexpected(model.error());
  PLIMSOLL_TRY(check_value("dataset", "name", batch.dataset_name));
  PLIMSOLL_TRY(check_value("dataset", "digest", batch.dataset_digest));
  Point latest = batch.points.front();
  {
    Query query = database.query(
        "SELECT time, step, value FROM model_metric WHERE model = ? AND name = ? AND run = ? AND "
        "dataset_name = ? AND dataset_digest = ?");
    query.bind(*model).bind(batch.metric).bind(run).bind(batch.dataset_name).bind(batch.dataset_digest);
    PLIMSOLL_TRY(for_each_row(
        query, [&](const Query& row) { latest = {row.integer(0), row.integer(1), row.real(2)}; }));
  }
  latest = latest_of(latest, batch.points);
  return database
      .query(
          "INSERT INTO model_metric(model, run, name, dataset_name, dataset_digest, time, step, value) "
          "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(model, name, run, dataset_name, dataset_digest) "
          "DO UPDATE SET time = excluded.time, step = excluded.step, value = excluded.value")
      .bind(*model)
      .bind(run)
      .bind(batch.metric)
      .bind(batch.dataset_name)
      .bind(batch.dataset_digest)
      .bind(latest.time)
      .bind(latest.step)
      .bind(latest.value)
      .run();
}

}  // namespace plimsoll::store
