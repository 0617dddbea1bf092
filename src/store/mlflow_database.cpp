#include <system_error>

#include "store/import_mlflow.hpp"
#include "store/mlflow_registry.hpp"
#include "store/sqlite.hpp"

namespace plimsoll::store {
namespace {

namespace fs = std::filesystem;

std::optional<Time> time_of(const Query& row, int column) {
  if (row.is_null(column)) return {};
  return time_of_mlflow(row.integer(column));
}

Result<std::map<std::string, std::string>> texts_of(Query query) {
  std::map<std::string, std::string> out;
  PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) { out.emplace(row.text(0), row.text(1)); }));
  return out;
}

Result<bool> has_table(SqliteDatabase& database, std::string_view name) {
  Query query = database.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?");
  return query.bind(name).next();
}

/// MLflow's SQLite database, read a run at a time.
class MlflowDatabase {
 public:
  MlflowDatabase(SqliteDatabase& database, fs::path file) : database_(database), file_(std::move(file)) {}

  Result<Transferred> import_into(Store& to, const Progress& progress) {
    const Result<std::vector<Experiment>> experiments = this->experiments();
    if (!experiments) return std::unexpected(experiments.error());
    Transferred counts;
    std::vector<std::int64_t> numbers;  // here
    for (const Experiment& experiment : *experiments) {
      const Result<std::int64_t> id = receive_experiment(to, experiment, counts);
      if (!id) return std::unexpected(id.error());
      const Result<std::vector<Arrival>> runs = runs_of(experiment.id);
      if (!runs) return std::unexpected(runs.error());
      for (const Arrival& listed : *runs) {
        Arrival run = listed;
        PLIMSOLL_TRY(complete(run));
        PLIMSOLL_TRY(receive_run(to, *id, run, counts));
        if (progress) progress(counts);
      }
      numbers.push_back(*id);
    }
    // Afterwards, as a model has metrics of runs in any experiment.
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      PLIMSOLL_TRY(import_models(to, (*experiments)[i].id, numbers[i], counts));
      if ((*experiments)[i].deleted) PLIMSOLL_TRY(to.change_experiment(numbers[i], {.deleted = true}));
    }
    PLIMSOLL_TRY(import_registry_database(database_, to, counts));
    return counts;
  }

 private:
  Result<std::vector<Experiment>> experiments() {
    std::vector<Experiment> out;
    {
      Query query = database_.query(
          "SELECT experiment_id, name, lifecycle_stage, creation_time FROM experiments ORDER BY "
          "experiment_id");
      PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) {
        out.push_back({.id = row.integer(0),
                       .name = row.text(1),
                       .deleted = row.text(2) == "deleted",
                       .created = time_of(row, 3).value_or(1)});
      }));
    }
    for (Experiment& experiment : out) {
      Query query = database_.query("SELECT key, value FROM experiment_tags WHERE experiment_id = ?");
      query.bind(experiment.id);
      Result<std::map<std::string, std::string>> tags = texts_of(std::move(query));
      if (!tags) return std::unexpected(std::move(tags).error());
      experiment.tags = std::move(*tags);
    }
    return out;
  }

  /// Without params, tags and points.
  Result<std::vector<Arrival>> runs_of(std::int64_t experiment) {
    Query query = database_.query(
        "SELECT run_uuid, name, user_id, status, start_time, end_time, lifecycle_stage, artifact_uri FROM "
        "runs "
        "WHERE experiment_id = ? ORDER BY start_time, run_uuid");
    query.bind(experiment);
    std::vector<Arrival> out;
    PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) {
      out.push_back({.run = {.id = row.text(0),
                             .experiment = {},
                             .name = row.text(1),
                             .status = status_named(row.text(3)).value_or(RunStatus::finished),
                             .start = time_of(row, 4).value_or(1),
                             .end = time_of(row, 5),
                             .deleted = row.text(6) == "deleted",
                             .user = row.text(2)},
                     .points = {},
                     .artifacts = local_artifacts(row.text(7))});
    }));
    return out;
  }

  Status complete(Arrival& arrival) {
    const std::string id = arrival.run.id;
    Query params = database_.query("SELECT key, value FROM params WHERE run_uuid = ?");
    params.bind(id);
    Result<std::map<std::string, std::string>> texts = texts_of(std::move(params));
    if (!texts) return std::unexpected(std::move(texts).error());
    arrival.run.params = std::move(*texts);
    Query tags = database_.query("SELECT key, value FROM tags WHERE run_uuid = ?");
    tags.bind(id);
    texts = texts_of(std::move(tags));
    if (!texts) return std::unexpected(std::move(texts).error());
    arrival.run.tags = std::move(*texts);
    if (arrival.run.name.empty() && arrival.run.tags.contains("mlflow.runName"))
      arrival.run.name = arrival.run.tags.at("mlflow.runName");
    PLIMSOLL_TRY(add_inputs(arrival.run));
    arrival.points = [this, id](const PointSink& sink) { return give_points(id, sink); };
    return {};
  }

  Status add_inputs(Run& run) {
    const Result<bool> there = has_table(database_, "datasets");
    if (!there) return std::unexpected(there.error());
    if (!*there) return {};
    std::vector<std::string> ids;
    {
      Query query = database_.query(
          "SELECT i.input_uuid, d.name, d.digest, d.dataset_source_type, d.dataset_source, d.dataset_schema, "
          "d.dataset_profile FROM inputs i JOIN datasets d ON d.dataset_uuid = i.source_id "
          "WHERE i.destination_id = ? AND i.source_type = 'DATASET' ORDER BY i.input_uuid");
      query.bind(run.id);
      PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) {
        ids.push_back(row.text(0));
        run.inputs.push_back(
            {{row.text(1), row.text(2), row.text(3), row.text(4), row.text(5), row.text(6)}});
      }));
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      Query query = database_.query("SELECT name, value FROM input_tags WHERE input_uuid = ?");
      query.bind(ids[i]);
      Result<std::map<std::string, std::string>> tags = texts_of(std::move(query));
      if (!tags) return std::unexpected(std::move(tags).error());
      run.inputs[i].tags = std::move(*tags);
    }
    return add_models(run);
  }

  /// Which logged models it has used and made, as MLflow notes it since version 3.
  Status add_models(Run& run) {
    Query steps = database_.query("SELECT 1 FROM pragma_table_info('inputs') WHERE name = 'step'");
    const Result<bool> there = steps.next();
    if (!there) return std::unexpected(there.error());
    if (!*there) return {};
    Query query = database_.query(
        "SELECT destination_type, destination_id, step FROM inputs WHERE source_id = ? AND source_type IN "
        "('RUN_INPUT', 'RUN_OUTPUT') ORDER BY destination_id");
    query.bind(run.id);
    return for_each_row(query, [&](const Query& row) {
      if (row.text(0) == "MODEL_OUTPUT")
        run.model_outputs.push_back({row.text(1), row.integer(2)});
      else if (row.text(0) == "MODEL_INPUT")
        run.model_inputs.push_back({row.text(1)});
    });
  }

  /// Logged models, which MLflow has since version 3.
  Status import_models(Store& to, std::int64_t experiment, std::int64_t number, Transferred& counts) {
    const Result<bool> there = has_table(database_, "logged_models");
    if (!there) return std::unexpected(there.error());
    if (!*there) return {};
    std::vector<LoggedModel> models;
    std::vector<fs::path> places;
    {
      Query query = database_.query(
          "SELECT model_id, name, creation_timestamp_ms, status, lifecycle_stage, model_type, source_run_id, "
          "artifact_location FROM logged_models WHERE experiment_id = ? ORDER BY creation_timestamp_ms, "
          "model_id");
      query.bind(experiment);
      PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) {
        models.push_back({.id = row.text(0),
                          .name = row.text(1),
                          .created = time_of(row, 2).value_or(1),
                          .status = model_status_numbered(row.integer(3)),
                          .type = row.text(5),
                          .source_run = row.text(6),
                          .deleted = row.text(4) == "deleted"});
        places.push_back(local_artifacts(row.text(7)));
      }));
    }
    for (std::size_t i = 0; i < models.size(); ++i) {
      PLIMSOLL_TRY(complete(models[i]));
      PLIMSOLL_TRY(receive_model(to, number, models[i], places[i], counts));
    }
    return {};
  }

  Status complete(LoggedModel& model) {
    Query tags = database_.query("SELECT tag_key, tag_value FROM logged_model_tags WHERE model_id = ?");
    tags.bind(model.id);
    Result<std::map<std::string, std::string>> texts = texts_of(std::move(tags));
    if (!texts) return std::unexpected(std::move(texts).error());
    model.tags = std::move(*texts);
    Query params =
        database_.query("SELECT param_key, param_value FROM logged_model_params WHERE model_id = ?");
    params.bind(model.id);
    texts = texts_of(std::move(params));
    if (!texts) return std::unexpected(std::move(texts).error());
    model.params = std::move(*texts);
    Query query = database_.query(
        "SELECT l.run_id, l.metric_name, l.metric_timestamp_ms, l.metric_step, l.metric_value, "
        "l.dataset_name, "
        "l.dataset_digest FROM logged_model_metrics l JOIN runs r ON r.run_uuid = l.run_id WHERE l.model_id "
        "= ? "
        "ORDER BY l.metric_step, l.metric_timestamp_ms");
    query.bind(model.id);
    return for_each_row(query, [&](const Query& row) {
      model.metrics.push_back({.run = row.text(0),
                               .metric = row.text(1),
                               .latest = {time_of(row, 2).value_or(0), row.integer(3), row.real(4)},
                               .dataset_name = row.text(5),
                               .dataset_digest = row.text(6)});
    });
  }

  Status give_points(const std::string& run, const PointSink& sink) {
    constexpr std::size_t kAtOnce = 100'000;
    Query query = database_.query(
        "SELECT key, value, timestamp, step, is_nan FROM metrics WHERE run_uuid = ? ORDER BY key, timestamp, "
        "step");
    query.bind(run);
    Batch batch;
    const auto give = [&]() -> Status {
      if (batch.points.empty()) return {};
      PLIMSOLL_TRY(sink(batch));
      batch.points.clear();
      return {};
    };
    const auto take = [&](const Query& row) -> Status {
      const std::string key = row.text(0);
      if (key != batch.metric || batch.points.size() >= kAtOnce) PLIMSOLL_TRY(give());
      batch.metric = key;
      const double value = row.integer(4) != 0 ? std::numeric_limits<double>::quiet_NaN() : row.real(1);
      batch.points.push_back({time_of(row, 2).value_or(0), row.integer(3), value});
      return {};
    };
    PLIMSOLL_TRY(for_each_row(query, take));
    return give();
  }

  /// Only what lies in or below the database's own folder: an address in a stranger's file must not have
  /// other files copied.
  [[nodiscard]] fs::path local_artifacts(const std::string& uri) const {
    constexpr std::string_view kFile = "file://", kProxy = "mlflow-artifacts:/";
    const fs::path folder = file_.parent_path();
    std::error_code problem;
    fs::path path = uri.starts_with(kFile)    ? fs::path(uri.substr(kFile.size()))
                    : uri.starts_with(kProxy) ? folder / "mlartifacts" / uri.substr(kProxy.size())
                                              : fs::path(uri);
    if (uri.empty() || (uri.find("://") != std::string::npos && !uri.starts_with(kFile))) return {};
    if (path.is_relative()) path = folder / path;
    const fs::path real = fs::canonical(path, problem), root = fs::canonical(folder, problem);
    if (problem) return {};
    const fs::path within = real.lexically_relative(root);
    return within.empty() || *within.begin() == ".." ? fs::path() : real;
  }

  SqliteDatabase& database_;
  fs::path file_;
};

}  // namespace

Result<Transferred> import_mlflow_database(const fs::path& file, Store& to, const Progress& progress) {
  std::error_code ignored;
  const fs::path path = fs::absolute(file, ignored);
  Result<std::unique_ptr<SqliteDatabase>> database = SqliteDatabase::open(path, std::chrono::seconds(10));
  if (!database) return std::unexpected(std::move(database).error());
  PLIMSOLL_TRY((*database)->execute("PRAGMA query_only = ON; PRAGMA cell_size_check = ON"));
  // All of one moment, though MLflow may go on writing.
  const Result<Transaction> moment = Transaction::read(**database);
  if (!moment) return std::unexpected(moment.error());
  for (const char* table : {"experiments", "runs", "metrics", "params", "tags", "experiment_tags"}) {
    const Result<bool> there = has_table(**database, table);
    if (!there) return std::unexpected(there.error());
    if (!*there)
      return std::unexpected(Error{fmt::format("this is not a database of MLflow: it has no table {}", table),
                                   path.string(),
                                   "Give the folder mlruns of a file store, or the file mlflow.db."});
  }
  return MlflowDatabase(**database, path).import_into(to, progress);
}

}  // namespace plimsoll::store
