#include <algorithm>
#include <limits>
#include <map>

#include "store/transfer.hpp"

namespace plimsoll::store {
namespace {

/// All points of a run's metrics, some at a time.
Status give_points(Store& from, const Run& run, const PointSink& sink) {
  constexpr std::size_t kAtOnce = 250'000;
  for (const auto& [name, metric] : run.metrics) {
    std::string token;
    for (;;) {
      Result<Page> page = from.history_page(run.id, name, token, kAtOnce);
      if (!page) return std::unexpected(std::move(page).error());
      PLIMSOLL_TRY(sink({.run = run.id,
                         .metric = name,
                         .description = metric.description,
                         .points = std::move(page->points)}));
      if (!page->next) break;
      token = *page->next;
    }
  }
  return {};
}

Status copy_run(Store& from, Store& to, std::int64_t experiment, const Run& run, Transferred& counts) {
  const Result<std::vector<File>> files = from.files(run.id);
  if (!files) return std::unexpected(files.error());
  Arrival arrival{.run = run, .points = [&](const PointSink& sink) { return give_points(from, run, sink); }};
  if (!files->empty()) {
    Result<std::filesystem::path> place = from.artifacts(run.id);
    if (!place) return std::unexpected(std::move(place).error());
    arrival.artifacts = std::move(*place);
  }
  return receive_run(to, experiment, arrival, counts);
}

/// Deleting an experiment marks its runs too: those that were brought back one by one are brought back again.
Status mark_deleted(Store& from, Store& to, const Experiment& experiment, std::int64_t id) {
  PLIMSOLL_TRY(to.change_experiment(id, {.deleted = true}));
  const Result<std::vector<Run>> runs =
      from.search({.limit = std::numeric_limits<std::size_t>::max(), .experiment_ids = {experiment.id}});
  if (!runs) return std::unexpected(runs.error());
  for (const Run& run : *runs) PLIMSOLL_TRY(to.restore(run.id));
  return {};
}

Status copy_runs(Store& from, Store& to, const Experiment& experiment, std::int64_t id, Transferred& counts,
                 const Progress& progress) {
  constexpr std::size_t kAtOnce = 100;
  // The oldest first, so that they are numbered as they came.
  for (std::size_t offset = 0;; offset += kAtOnce) {
    const Result<std::vector<Run>> runs = from.search({.order_by = {"start_time ASC", "run_id ASC"},
                                                       .limit = kAtOnce,
                                                       .view = View::all,
                                                       .offset = offset,
                                                       .experiment_ids = {experiment.id}});
    if (!runs) return std::unexpected(runs.error());
    for (const Run& run : *runs) {
      PLIMSOLL_TRY(copy_run(from, to, id, run, counts));
      if (progress) progress(counts);
    }
    if (runs->size() < kAtOnce) return {};
  }
}

Status copy_models(Store& from, Store& to, const Experiment& experiment, std::int64_t id,
                   Transferred& counts) {
  const Result<std::vector<LoggedModel>> models =
      from.search_models({.experiment_ids = {experiment.id},
                          .view = View::all,
                          .limit = std::numeric_limits<std::size_t>::max()});
  if (!models) return std::unexpected(models.error());
  for (const LoggedModel& model : *models) {
    const Result<std::filesystem::path> files = from.model_artifacts(model.id);
    if (!files) return std::unexpected(files.error());
    PLIMSOLL_TRY(receive_model(to, id, model, *files, counts));
  }
  return experiment.deleted ? mark_deleted(from, to, experiment, id) : Status();
}

Status copy_registered(Store& from, Store& to, Transferred& counts) {
  constexpr auto kAll = std::numeric_limits<std::size_t>::max();
  const Result<std::vector<RegisteredModel>> models = from.registry().search({.limit = kAll});
  if (!models) return std::unexpected(models.error());
  const Result<std::vector<ModelVersion>> versions =
      from.registry().search_versions({.order_by = {"name", "version_number"}, .limit = kAll});
  if (!versions) return std::unexpected(versions.error());
  for (const RegisteredModel& model : *models) {
    const auto of_model = std::ranges::equal_range(*versions, model.name, {}, &ModelVersion::model);
    PLIMSOLL_TRY(receive_registered(to, model, of_model, counts));
  }
  return {};
}

}  // namespace

Result<Transferred> copy(Store& from, Store& to, const Progress& progress) {
  const Result<std::vector<Experiment>> experiments =
      from.search_experiments({.order_by = {"creation_time ASC"},
                               .view = View::all,
                               .limit = std::numeric_limits<std::size_t>::max()});
  if (!experiments) return std::unexpected(experiments.error());
  Transferred counts;
  std::map<std::int64_t, std::int64_t> numbers;  // there, by those here
  for (const Experiment& experiment : *experiments) {
    const Result<std::int64_t> id = receive_experiment(to, experiment, counts);
    if (!id) return std::unexpected(id.error());
    numbers.emplace(experiment.id, *id);
    PLIMSOLL_TRY(copy_runs(from, to, experiment, *id, counts, progress));
  }
  // Afterwards, as a model has metrics of runs in any experiment.
  for (const Experiment& experiment : *experiments)
    PLIMSOLL_TRY(copy_models(from, to, experiment, numbers.at(experiment.id), counts));
  PLIMSOLL_TRY(copy_registered(from, to, counts));
  return counts;
}

}  // namespace plimsoll::store
